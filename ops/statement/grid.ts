// Owns rows of cells on a grid of columns: what every file format is taken apart into, and what the
// statement's readers work on.
//
// 1. A cell knows the column it begins at, so that neither a wide cell nor a missing one before it
//    moves anything.

export interface Cell {
  /** The grid column it begins at, from 0. */
  readonly column: number;
  /** Columns it covers. */
  readonly span: number;
  /** Trimmed and without markup; a cell of blanks is empty. */
  readonly text: string;
  readonly title: string;
  readonly bold: boolean;
  /** Nobody who opens the file sees it. */
  readonly hidden: boolean;
}

export interface Row {
  readonly cells: readonly Cell[];
  /** Columns that all its cells cover. */
  readonly width: number;
  /** Where it is in the file, for a person: `line 12`, `row 8`. */
  readonly place: string;
}

/** No statement is wider; a wider cell or a column further right is noise. */
export const MAX_COLUMNS = 64;

/** A title goes across the table; summaries have narrow bold texts too. */
const MIN_TITLE_SPAN = 10;

/** The cell that begins at a column, or null. */
export const cellAt = (row: Row, column: number): Cell | null => row.cells.find((cell) => cell.column === column) ?? null;
/** The text of the cell that begins at a column; empty where none does. */
export const textAt = (row: Row, column: number): string => cellAt(row, column)?.text ?? "";
/** The text of all cells, for a person. */
export const rowText = (row: Row): string => row.cells.map((cell) => cell.text).filter((text) => text !== "").join(" | ");

/** The only cell that has a text, or null. */
export function onlyText(row: Row): Cell | null {
  const [only, second] = row.cells.filter((cell) => cell.text !== "");
  return second === undefined ? (only ?? null) : null;
}

/** Whether a cell that stands alone in its row is a section's title. */
export const isTitle = (only: Cell): boolean => only.bold && only.span >= MIN_TITLE_SPAN;

const MAX_QUOTED = 60;
/** A piece of the file in an error's one line. */
export const quoted = (text: string): string => JSON.stringify(text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED)}...`);
