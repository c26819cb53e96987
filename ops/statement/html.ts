// Owns the way from HTML to rows of cells, and the answer to "is the page cut?".
//
// 1. Rows come in the order of the text, whatever the nesting: statements leave tags open, and
//    some totals stand in cells outside any row.

import { HTMLElement, NodeType, parse } from "node-html-parser";
import type { Node } from "node-html-parser";
import { LockstepError } from "../../protocol/errors.ts";
import { isTitle, MAX_COLUMNS, onlyText, quoted, rowText } from "./grid.ts";
import type { Cell, Row } from "./grid.ts";

interface Draft {
  /** The row's own element; null for cells outside any row. */
  readonly element: Node | null;
  readonly line: number;
  readonly cells: { readonly element: HTMLElement; text: string; bold: boolean }[];
}

/** All table rows of a page (invariant 1). */
export function readRows(html: string): Row[] {
  const drafts: Draft[] = [];
  let current: Draft | null = null;
  const lineOf = lineCounter(html);
  for (const { node, row } of nodes(html)) {
    if (node.nodeType === NodeType.TEXT_NODE) {
      const cell = current?.cells.at(-1);
      if (cell !== undefined) cell.text += node.text;
      continue;
    }
    if (!(node instanceof HTMLElement)) continue;
    switch (node.rawTagName) {
      case "tr":
        current = { element: node, line: lineOf(node.range[0]), cells: [] };
        drafts.push(current);
        break;
      case "td":
      case "th":
        if (current === null || current.element !== row) {
          current = { element: row, line: lineOf(node.range[0]), cells: [] };
          drafts.push(current);
        }
        current.cells.push({ element: node, text: "", bold: false });
        break;
      case "b":
      case "strong": {
        const cell = current?.cells.at(-1);
        if (cell !== undefined) cell.bold = true;
        break;
      }
      default:
    }
  }
  return drafts.filter((draft) => draft.cells.length > 0).map(placed);
}

interface Placed {
  readonly node: Node;
  /** The row element that it lies in. */
  readonly row: Node | null;
}

/** Every node in the order of the text. Not recursive: a hostile file may nest deeply. */
function* nodes(html: string): Generator<Placed> {
  const page = parse(html, { lowerCaseTagName: true, parseNoneClosedTags: true });
  const waiting: Placed[] = page.childNodes.toReversed().map((node) => ({ node, row: null }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next;
    const { node, row } = next;
    const inside = node instanceof HTMLElement && node.rawTagName === "tr" ? node : row;
    for (const child of node.childNodes.toReversed()) waiting.push({ node: child, row: inside });
  }
}

/** Tells the line of offsets that only rise: one pass over the text for all of them. */
function lineCounter(text: string): (offset: number) => number {
  let line = 1;
  let counted = 0;
  return (offset) => {
    for (; counted < offset; counted++) if (text[counted] === "\n") line++;
    return line;
  };
}

function placed(draft: Draft): Row {
  let column = 0;
  const cells = draft.cells.map(({ element, text, bold }): Cell => {
    const asked = Number.parseInt(element.getAttribute("colspan") ?? "1", 10);
    const span = asked >= 1 && asked <= MAX_COLUMNS ? asked : 1;
    const cell: Cell = { column, span, text: text.trim(), title: (element.getAttribute("title") ?? "").trim(), bold, hidden: isHidden(element) };
    column += span;
    return cell;
  });
  return { cells, width: column, place: `line ${draft.line}` };
}

function isHidden(element: HTMLElement): boolean {
  const classes = (element.getAttribute("class") ?? "").toLowerCase().split(/\s+/);
  return classes.includes("hidden") || /display\s*:\s*none/i.test(element.getAttribute("style") ?? "");
}

/** Terminals end every page with `</table>` and `</html>`; a part of one that was mailed on may have no page around it. */
export function isCut(html: string): boolean {
  const count = (pattern: RegExp): number => html.match(pattern)?.length ?? 0;
  const pageIsOpen = /<html\b/i.test(html) && !/<\/(?:html|body)\s*>/i.test(html);
  return pageIsOpen || count(/<table\b/gi) > count(/<\/table\s*>/gi);
}

/** @throws LockstepError `bad_statement` when the page is cut, naming the place. */
export function refuseCut(html: string, rows: readonly Row[], name: string): void {
  if (!isCut(html)) return;
  const title = rows.flatMap((row) => onlyText(row) ?? []).findLast(isTitle);
  const last = rows.at(-1);
  const section = title === undefined ? "" : ` in the section ${quoted(title.text)}`;
  const place = last === undefined ? "" : `, ${last.place}; the last table row is ${quoted(rowText(last))}`;
  throw new LockstepError("bad_statement", `${name}: the statement is cut${section}${place}`);
}
