// Owns `lockstep apply FILE`: accounts and links from a YAML file, put whole or not at all.
//
// 1. Whatever is wrong with the file is told at once, each with its line; nothing is written then.
// 2. Whatever the database refuses is named; nothing is written then either. Both are faults of the
//    configuration.

import { statSync, readFileSync } from "node:fs";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import { cellId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { DirectoryDifference } from "../../protocol/ports/storage.ts";
import { openStorage } from "../../storage/storage.ts";
import { differenceLines, faultLine, inFileWords, refusedFile } from "../apply/report.ts";
import { readWanted } from "../apply/wanted.ts";
import type { Environment } from "../credentials.ts";
import { Ends } from "../ends.ts";
import { resolveDatabase } from "../postgres/resolve.ts";

export interface ApplyCommandOptions {
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly cell?: string;
}

export interface ApplyCommandIo {
  readonly out: { write(text: string): unknown };
  readonly err: { write(text: string): unknown };
  readonly env: Environment;
  readonly logger: Logger;
  readonly clock: Clock;
}

const APPLIED = 0;
const REFUSED = 2;
const DEFAULT_CELL = "main";
const LONGEST_BYTES = 16_000_000;
/** Another one that is being applied is waited for so long. */
const STATEMENT_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Prints what the file changes, as lines or as one JSON object; returns the exit code.
 * @throws LockstepError `configuration` (no such file, no such database), `database_busy`, `database_fault`
 */
export async function applyCommand(file: string, options: ApplyCommandOptions, io: ApplyCommandIo): Promise<number> {
  const cell = cellId(options.cell ?? io.env["LOCKSTEP_CELL"] ?? DEFAULT_CELL);
  const read = readWanted(textOf(file));
  if (read.kind === "faults") {
    if (options.json === true) io.out.write(`${JSON.stringify(refusedFile(file, read.faults))}\n`);
    io.err.write(read.faults.map((fault) => `${faultLine(file, fault)}\n`).join("")); // (1)
    return REFUSED;
  }
  const dryRun = options.dryRun === true;
  const ends = new Ends();
  try {
    const database = await resolveDatabase(io);
    ends.add(() => database.stop());
    const storage = await openStorage({ url: database.url, cell, logger: io.logger, maxConnections: 1, connectTimeoutMs: CONNECT_TIMEOUT_MS, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    ends.add(() => storage.close());
    const difference = inFileWords(await storage.directory.apply(read.wanted, { dryRun }));
    tell(difference, dryRun, options.json === true, io);
    return difference.refused.length === 0 ? APPLIED : REFUSED; // (2)
  } finally {
    const failures = await ends.run();
    if (failures.length > 0) io.logger.error({ failures: failures.map(messageOf) }, "not everything ended cleanly");
  }
}

function tell(difference: DirectoryDifference, dryRun: boolean, json: boolean, { out, err }: ApplyCommandIo): void {
  out.write(json ? `${JSON.stringify(difference)}\n` : `${differenceLines(difference).join("\n")}\n`);
  if (difference.refused.length > 0) err.write("lockstep: refused, nothing was written\n");
  else if (dryRun) err.write("dry run: nothing was written\n");
}

/** @throws LockstepError `configuration` */
function textOf(file: string): string {
  try {
    const { size } = statSync(file);
    if (size > LONGEST_BYTES) throw new LockstepError("configuration", `${file}: expected at most ${LONGEST_BYTES} bytes, got ${size}`);
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof LockstepError) throw error;
    throw new LockstepError("configuration", `${file}: expected a readable file, got ${messageOf(error)}`, error);
  }
}
