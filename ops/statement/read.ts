// Owns the two ways in: a statement from bytes, and from a file.

import { readFile } from "node:fs/promises";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import { detectFile } from "./format.ts";
import { readRows, refuseCut } from "./html.ts";
import type { Statement } from "./model.ts";
import { readMt4Html } from "./mt4Html.ts";
import { beginsLikeMt5 } from "./mt5Layout.ts";
import { readMt5Report } from "./mt5Report.ts";
import { readWorkbook } from "./workbook.ts";

/** Years of trades are a few MiB. */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Reads a statement; pure.
 * @param name how the file is called in errors
 * @throws LockstepError `bad_statement`: one line that says what was found and where.
 */
export function readStatement(bytes: Uint8Array, name: string): Statement {
  if (bytes.length > MAX_BYTES) throw new LockstepError("bad_statement", `${name}: ${bytes.length} bytes, a statement has at most ${MAX_BYTES}`);
  const file = detectFile(bytes, name);
  switch (file.kind) {
    case "html": {
      const rows = readRows(file.html);
      if (!beginsLikeMt5(rows)) return readMt4Html(file.html, rows, name);
      refuseCut(file.html, rows, name);
      return readMt5Report("mt5-html", rows, name);
    }
    case "zip":
      return readMt5Report("mt5-xlsx", readWorkbook(file.bytes, name), name);
  }
}

/** @throws LockstepError `configuration` when the file cannot be read, `bad_statement` when it is no statement. */
export async function loadStatement(file: string): Promise<Statement> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (error) {
    throw new LockstepError("configuration", `${file}: the statement cannot be read (${messageOf(error)})`, error);
  }
  return readStatement(bytes, file);
}
