// Owns where the statement fixtures lie and how the tests find a trade in one.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Statement } from "../../../ops/statement/model.ts";
import { readStatement } from "../../../ops/statement/read.ts";

const FOLDER = new URL("./fixtures/", import.meta.url);
const ROOT = new URL("../../../", import.meta.url);

export const fixtureBytes = (file: string): Uint8Array => readFileSync(new URL(file, FOLDER));
export const readFixture = (file: string): Statement => readStatement(fixtureBytes(file), file);

export const demoFile = fileURLToPath(new URL("ops/demo/statement.htm", ROOT));
/** Real statements, next to the repository where somebody has them. */
export const realFolder = join(fileURLToPath(ROOT), "..", "shared", "data");

/** The one row of a list with this ticket. */
export function byTicket<T extends { readonly ticket: number }>(list: readonly T[], ticket: number): T {
  const found = list.find((each) => each.ticket === ticket);
  if (found === undefined) throw new Error(`no ticket ${ticket}`);
  return found;
}
