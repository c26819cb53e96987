// Owns the way from HTML to rows of cells on a grid of columns.
//
// 1. Rows come in the order of the text, whatever the nesting: statements leave tags open, and
//    some totals stand in cells outside any row.
// 2. A cell knows the column it begins at, so that a `colspan` before it moves nothing.

import { HTMLElement, NodeType, parse } from "node-html-parser";
import type { Node } from "node-html-parser";

export interface Cell {
  /** The grid column it begins at, from 0. */
  readonly column: number;
  /** Columns it covers. */
  readonly span: number;
  /** Trimmed, entities decoded; a `&nbsp;` cell is empty. */
  readonly text: string;
  readonly title: string;
  readonly bold: boolean;
}

export interface Row {
  readonly cells: readonly Cell[];
  /** Columns that all its cells cover. */
  readonly width: number;
  /** Where it begins in the text, counted from 1. */
  readonly line: number;
}

/** No statement has wider cells; a larger `colspan` is noise. */
const MAX_SPAN = 64;

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
    const span = asked >= 1 && asked <= MAX_SPAN ? asked : 1;
    const cell: Cell = { column, span, text: text.trim(), title: (element.getAttribute("title") ?? "").trim(), bold };
    column += span; // Invariant 2.
    return cell;
  });
  return { cells, width: column, line: draft.line };
}

/** The cell that begins at a column, or null. */
export const cellAt = (row: Row, column: number): Cell | null => row.cells.find((cell) => cell.column === column) ?? null;
/** The text of the cell that begins at a column; empty where none does. */
export const textAt = (row: Row, column: number): string => cellAt(row, column)?.text ?? "";
/** The text of all cells, for a person. */
export const rowText = (row: Row): string => row.cells.map((cell) => cell.text).filter((text) => text !== "").join(" | ");

const MAX_QUOTED = 60;
/** A piece of the file in an error's one line. */
export const quoted = (text: string): string => JSON.stringify(text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED)}...`);
