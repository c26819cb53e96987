// Owns the way from a ZIP archive to the text of its parts, against hostile archives too.
//
// 1. Nothing is unpacked before its size is known to fit, and never more than the archive says.
// 2. A part whose checksum is wrong is refused.

import AdmZip from "adm-zip";
import { messageOf } from "../../protocol/errors.ts";
import { noStatement } from "./format.ts";
import { quoted } from "./grid.ts";
import { decodeXml } from "./text.ts";

/** Of all parts that are read. A row takes about 1 KiB in UTF-16, so these are the trades of many years. */
const MAX_UNPACKED_BYTES = 128 * 1024 * 1024;

export interface Archive {
  readonly names: readonly string[];
  /**
   * The text of an XML part, or null when there is none of this name.
   * @throws LockstepError `bad_statement`: it is damaged or too large.
   */
  readonly text: (part: string) => string | null;
}

/** @throws LockstepError `bad_statement` */
export function openArchive(bytes: Uint8Array, name: string): Archive {
  const damaged = (what: string, error: unknown): Error => noStatement(name, `${what} that is cut or damaged (${messageOf(error).replace(/\s+/g, " ")})`, error);
  let zip: AdmZip;
  let names: string[];
  try {
    zip = new AdmZip(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    names = zip.getEntries().map(({ entryName }) => entryName);
  } catch (error) {
    throw damaged("a ZIP container", error);
  }
  let left = MAX_UNPACKED_BYTES;
  return {
    names,
    text(part) {
      const entry = zip.getEntry(part);
      if (entry === null) return null;
      left -= entry.header.size;
      if (left < 0) throw noStatement(name, `a ZIP container that unpacks to more than ${MAX_UNPACKED_BYTES} bytes`); // Invariant 1.
      try {
        return decodeXml(entry.getData()); // Invariant 2.
      } catch (error) {
        throw damaged(`a ZIP container with a part ${quoted(part)}`, error);
      }
    },
  };
}
