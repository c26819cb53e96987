// Owns the way from bytes to text. A page: byte order mark, then the charset the page names, then
// UTF-8, and what is not UTF-8 either is Western European. XML in a workbook: UTF-16 or UTF-8.

import { TextDecoder } from "node:util";
import { LockstepError, messageOf } from "../../protocol/errors.ts";

const META_CHARSET = /<meta\b[^>]{0,200}?charset\s*=\s*["']?\s*([a-z0-9_:.-]+)/i;
/** Browsers look this far for the charset too. */
const META_WITHIN_BYTES = 1024;

/**
 * The text of an HTML or plain text file, without its byte order mark.
 * @throws LockstepError `bad_statement` when the page names a charset that does not exist.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  const marked = charsetOfMark(bytes);
  if (marked !== null) return new TextDecoder(marked).decode(bytes);

  const head = new TextDecoder("latin1").decode(bytes.subarray(0, META_WITHIN_BYTES));
  const named = META_CHARSET.exec(head)?.[1];
  // A page whose ASCII could be read cannot be in UTF-16, whatever it says (the HTML standard's own rule).
  if (named !== undefined && !/^utf-?16/i.test(named)) return decoderOf(named, name).decode(bytes);

  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/**
 * The text of an XML part, without its byte order mark.
 * @throws TypeError when the bytes are not of the charset that they begin in.
 */
export const decodeXml = (bytes: Uint8Array): string => new TextDecoder(charsetOfMark(bytes) ?? "utf-8", { fatal: true }).decode(bytes);

function charsetOfMark(bytes: Uint8Array): string | null {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  // No mark, but every page or XML part begins with an ASCII character.
  if (first === 0x3c && second === 0x00) return "utf-16le";
  if (first === 0x00 && second === 0x3c) return "utf-16be";
  return null;
}

function decoderOf(charset: string, name: string): TextDecoder {
  try {
    return new TextDecoder(charset);
  } catch (error) {
    throw new LockstepError("bad_statement", `${name}: the page says its charset is ${JSON.stringify(charset)}, which is not known (${messageOf(error)})`, error);
  }
}
