// Owns the answer to "what kind of file is this?". It only looks; each format's reader takes the
// file apart. A new format is a new variant of `StatementSource` and a line here.

import { LockstepError } from "../../protocol/errors.ts";
import { decodeText } from "./text.ts";

/** A file of a known format, in the form in which that format's reader takes it. */
export type StatementSource = { readonly format: "mt4-html"; readonly html: string };

const EXPECTED = "expected an MT4 HTML statement, found";

/**
 * @param name how the file is called in the error's line
 * @throws LockstepError `bad_statement`: one line that says what was found instead.
 */
export function detectFormat(bytes: Uint8Array, name: string): StatementSource {
  const refuse = (found: string): never => {
    throw new LockstepError("bad_statement", `${name}: ${EXPECTED} ${found}`);
  };
  if (bytes.length === 0) return refuse("an empty file");
  const container = containerOf(bytes);
  if (container !== null) return refuse(container);

  const html = decodeText(bytes, name);
  if (html.trim() === "") return refuse("nothing but blanks");
  if (html.includes("\0")) return refuse("binary data");
  const isHtml = /<(?:!doctype\s+html|html|head|body)\b/i.test(html);
  if (/<table\b/i.test(html)) return { format: "mt4-html", html };
  if (!isHtml) return refuse("Markdown/plain text without a table");
  return refuse(/<\/html\b/i.test(html) ? "HTML without a table" : "an HTML file that is cut before its first table");
}

/** Names the formats that begin with a signature of their own; null for text. */
function containerOf(bytes: Uint8Array): string | null {
  const signature = new TextDecoder("latin1").decode(bytes.subarray(0, 5));
  if (signature.startsWith("PK")) return "a ZIP container (XLSX or an archive)";
  if (signature === "%PDF-") return "a PDF";
  if (signature.startsWith("\xd0\xcf\x11\xe0")) return "an old Office document (XLS or DOC)";
  return null;
}
