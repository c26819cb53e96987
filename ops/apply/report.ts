// Owns how the difference that a file makes is told: one object for programs, lines for people, both
// in the words of the file.

import type { Sizing } from "../../protocol/accounts.ts";
import type { DirectoryDifference } from "../../protocol/ports/storage.ts";
import { sizingWords } from "./settings.ts";
import type { Fault } from "./yamlValue.ts";

/** The object that `--json` prints; sizings as the file has them. */
export function inFileWords(difference: DirectoryDifference): DirectoryDifference {
  return { ...difference, changed: difference.changed.map(({ path, from, to }) => ({ path, from: words(path, from), to: words(path, to) })) };
}

const words = (path: string, value: unknown): unknown => (path.endsWith("/sizing") && value !== null ? sizingWords(value as Sizing) : value);

/** A file that could not be read is refused as a whole, in the same object. */
export function refusedFile(file: string, faults: readonly Fault[]): DirectoryDifference {
  return { added: [], changed: [], removed: [], refused: faults.map((fault) => ({ path: fault.path, why: faultLine(file, fault) })) };
}

export const faultLine = (file: string, { line, text }: Fault): string => `${file}:${line}: ${text}`;

/** One line for each entry; what a removal means is said where it is not plain. */
export function differenceLines({ added, changed, removed, refused }: DirectoryDifference): readonly string[] {
  const lines = [
    ...added.map((path) => `added    ${path}`),
    ...changed.map(({ path, from, to }) => `changed  ${path}: ${shown(from)} -> ${shown(to)}`),
    ...removed.map((path) => `removed  ${path}${path.startsWith("links/") ? ": close-only, its open copies are followed to their end" : ""}`),
    ...refused.map(({ path, why }) => `refused  ${path}: ${why}`),
  ];
  return lines.length === 0 ? ["nothing changes"] : lines;
}

/** Values of a file: texts, numbers, yes or no, and a sizing's parts. */
function shown(value: unknown): string {
  if (value === null) return "nothing";
  if (typeof value === "string") return value === "" ? '""' : value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return Object.entries(value as object).map(([key, part]) => `${key} ${String(part)}`).join(", ");
}
