// Owns the way from a sheet's XML to rows of cells: texts that stand elsewhere, texts in the cell,
// numbers as a terminal or a spreadsheet writes them.
//
// 1. A hidden column is a column like any other: hiding it moved nothing.

import { MAX_COLUMNS, quoted } from "./grid.ts";
import type { Cell, Row } from "./grid.ts";
import { attribute } from "./xml.ts";
import type { Handlers } from "./xml.ts";

/** Excel holds no longer ones either. */
const MAX_CELL_CHARACTERS = 32_767;

/** Collects the texts that cells refer to by number. */
export function sharedStrings(strings: string[]): Handlers {
  let current: string | null = null;
  const texts = textCollector((text) => (current = (current ?? "") + text));
  return {
    open(tag) {
      if (tag.local === "si") current = "";
      texts.open(tag);
    },
    text: texts.text,
    close(tag) {
      texts.close(tag);
      if (tag.local !== "si") return;
      strings.push(current ?? "");
      current = null;
    },
  };
}

/** Passes on what stands in `t` elements, but for the guide to their pronunciation (`rPh`). */
function textCollector(take: (text: string) => void): Required<Handlers> {
  let isText = false;
  let isGuide = false;
  return {
    open({ local }) {
      if (local === "rPh") isGuide = true;
      if (local === "t") isText = !isGuide;
    },
    text(text) {
      if (isText) take(text);
    },
    close({ local }) {
      if (local === "rPh") isGuide = false;
      if (local === "t") isText = false;
    },
  };
}

/** Collects the rows of a sheet. */
export function sheetRows(strings: readonly string[], rows: Row[]): Handlers {
  let rowNumber = 0;
  let column = -1;
  let type = "n";
  let value = "";
  let isValue = false;
  let cells: Cell[] = [];
  const add = (text: string): void => {
    value += text;
    if (value.length > MAX_CELL_CHARACTERS) throw new Error(`a cell of more than ${MAX_CELL_CHARACTERS} characters`);
  };
  const inline = textCollector(add);
  return {
    open(tag) {
      inline.open(tag);
      if (tag.local === "row") {
        rowNumber = Number(attribute(tag, "r") ?? rowNumber + 1);
        column = -1;
        cells = [];
      } else if (tag.local === "c") {
        column = columnOf(attribute(tag, "r")) ?? column + 1;
        type = attribute(tag, "t") ?? "n";
        value = "";
      } else if (tag.local === "v") isValue = true;
    },
    text(text) {
      if (isValue) add(text);
      else inline.text(text);
    },
    close(tag) {
      inline.close(tag);
      if (tag.local === "v") isValue = false;
      else if (tag.local === "c") {
        const text = cellText(type, value, strings).trim();
        if (text !== "" && column < MAX_COLUMNS) cells.push({ column, span: 1, text, title: "", bold: false, hidden: false }); // Invariant 1.
      } else if (tag.local === "row" && cells.length > 0) {
        rows.push({ cells, width: Math.max(...cells.map((cell) => cell.column)) + 1, place: `row ${rowNumber}` });
      }
    },
  };
}

/** `AB12` is column 27, counted from 0. */
function columnOf(reference: string | undefined): number | null {
  const letters = /^([A-Z]{1,3})\d+$/.exec(reference ?? "")?.[1];
  return letters === undefined ? null : [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function cellText(type: string, value: string, strings: readonly string[]): string {
  if (type === "n") return numberText(value.trim());
  if (type !== "s") return value;
  const text = strings[Number(value)];
  if (text === undefined) throw new Error(`a cell with text ${quoted(value)}, and there are ${strings.length}`);
  return text;
}

/** Digits of a double that say what was typed; the rest is noise of its binary form. */
const TRUE_DIGITS = 15;

/** What a numeric cell shows: terminals write plain decimals, spreadsheets the nearest double (1.1408600000000001, 1E-05). */
function numberText(value: string): string {
  if (/^-?\d*\.?\d*$/.test(value) && (!value.includes(".") || value.replace(/\D/g, "").length <= TRUE_DIGITS)) return value;
  const number = Number(value);
  if (!Number.isFinite(number) || Math.abs(number) >= 1e15) return value;
  const text = number.toPrecision(TRUE_DIGITS);
  return (text.includes("e") ? number.toFixed(TRUE_DIGITS) : text).replace(/\.?0+$/, "");
}
