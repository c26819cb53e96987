// Owns the way from an XLSX file to rows of cells: those of its first sheet.

import { messageOf } from "../../protocol/errors.ts";
import { openArchive } from "./archive.ts";
import type { Archive } from "./archive.ts";
import { noStatement } from "./format.ts";
import { quoted } from "./grid.ts";
import type { Row } from "./grid.ts";
import { sharedStrings, sheetRows } from "./sheet.ts";
import { attribute, parseXml } from "./xml.ts";
import type { Handlers } from "./xml.ts";

const WORKBOOK = "xl/workbook.xml";
const RELATIONS = "xl/_rels/workbook.xml.rels";

/**
 * All rows of the first sheet that hold anything.
 * @param name how the file is called in errors
 * @throws LockstepError `bad_statement`: no workbook, or one that is damaged.
 */
export function readWorkbook(bytes: Uint8Array, name: string): Row[] {
  const archive = openArchive(bytes, name);
  const workbook = archive.text(WORKBOOK);
  if (workbook === null) throw noStatement(name, `a ZIP container without a workbook; ${contents(archive)}`);
  const parse = (part: string, xml: string, handlers: Handlers): void => {
    try {
      parseXml(xml, handlers);
    } catch (error) {
      throw noStatement(name, `a workbook whose part ${quoted(part)} is damaged (${messageOf(error).replace(/\s+/g, " ")})`, error);
    }
  };
  const partOf = relations(archive, parse);
  const sheetId = firstSheet(workbook, parse);
  const sheet = partOf((id) => id === sheetId);
  const sheetXml = sheet === null ? null : archive.text(sheet);
  if (sheet === null || sheetXml === null) throw noStatement(name, "a workbook without a sheet");
  const stringsPart = partOf((_, type) => type.endsWith("/sharedStrings"));
  const stringsXml = stringsPart === null ? null : archive.text(stringsPart);
  const strings: string[] = [];
  if (stringsPart !== null && stringsXml !== null) parse(stringsPart, stringsXml, sharedStrings(strings));
  const rows: Row[] = [];
  parse(sheet, sheetXml, sheetRows(strings, rows));
  return rows;
}

function contents({ names: [first, ...others] }: Archive): string {
  if (first === undefined) return "it is empty";
  return `it holds ${quoted(first)}${others.length === 0 ? "" : ` and ${others.length} more`}`;
}

type Parse = (part: string, xml: string, handlers: Handlers) => void;

function firstSheet(workbook: string, parse: Parse): string | null {
  let id: string | null = null;
  parse(WORKBOOK, workbook, {
    open(tag) {
      if (tag.local === "sheet") id ??= attribute(tag, "id", true) ?? null;
    },
  });
  return id;
}

/** Finds the part that a relation of the workbook leads to. */
function relations(archive: Archive, parse: Parse): (is: (id: string, type: string) => boolean) => string | null {
  const all: { readonly id: string; readonly type: string; readonly target: string }[] = [];
  parse(RELATIONS, archive.text(RELATIONS) ?? "<none/>", {
    open(tag) {
      if (tag.local === "Relationship") all.push({ id: attribute(tag, "Id") ?? "", type: attribute(tag, "Type") ?? "", target: attribute(tag, "Target") ?? "" });
    },
  });
  return (is) => {
    const target = all.find(({ id, type }) => is(id, type))?.target;
    if (target === undefined) return null;
    return target.startsWith("/") ? target.slice(1) : `xl/${target}`;
  };
}
