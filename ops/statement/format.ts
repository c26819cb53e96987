// Owns the answer to "what kind of file is this?". It only looks at how the file begins; what is in
// it, each format's reader finds out.

import { LockstepError } from "../../protocol/errors.ts";
import { decodeText } from "./text.ts";

/** A file of a kind that a statement comes in. */
export type StatementFile = { readonly kind: "html"; readonly html: string } | { readonly kind: "zip"; readonly bytes: Uint8Array };

/** What a file is refused with that is no statement: one line. */
export const noStatement = (name: string, found: string, cause?: unknown): LockstepError =>
  new LockstepError("bad_statement", `${name}: expected an MT4 statement or an MT5 report, found ${found}`, cause);

/**
 * @param name how the file is called in the error's line
 * @throws LockstepError `bad_statement`: one line that says what was found instead.
 */
export function detectFile(bytes: Uint8Array, name: string): StatementFile {
  if (bytes.length === 0) throw noStatement(name, "an empty file");
  const signature = new TextDecoder("latin1").decode(bytes.subarray(0, 5));
  if (signature.startsWith("PK")) return { kind: "zip", bytes };
  if (signature === "%PDF-") throw noStatement(name, "a PDF");
  if (signature.startsWith("\xd0\xcf\x11\xe0")) throw noStatement(name, "an old or encrypted Office document (XLS, DOC)");

  const html = decodeText(bytes, name);
  if (html.trim() === "") throw noStatement(name, "nothing but blanks");
  if (html.includes("\0")) throw noStatement(name, "binary data");
  if (/<table\b/i.test(html)) return { kind: "html", html };
  if (!/<(?:!doctype\s+html|html|head|body)\b/i.test(html)) throw noStatement(name, "Markdown/plain text without a table");
  throw noStatement(name, /<\/html\b/i.test(html) ? "HTML without a table" : "an HTML file that is cut before its first table");
}
