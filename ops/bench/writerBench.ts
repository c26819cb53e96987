// Owns the writer's bench: whole writer beside bare insert, clean and with bad rows, and its memory.
//
// 1. What is compared runs in turns, so that both meet the same machine.
// 2. Nothing of it is left: rows, topics, groups.

import { LockstepError, messageOf } from "../../protocol/errors.ts";
import { cellId } from "../../protocol/ids.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { topicSpecs } from "../../protocol/topics.ts";
import { forgetCell } from "../../storage/oldCells.ts";
import { openStorage } from "../../storage/storage.ts";
import { openGround } from "../cluster/ground.ts";
import type { Environment } from "../credentials.ts";
import { Ends } from "../ends.ts";
import { DEFAULT_NODE_LIMITS } from "../nodeLimits.ts";
import { bareInsert } from "./bareInsert.ts";
import { ACCOUNTS, LINKS } from "./writerEvents.ts";
import { produce, writeAll, type RoundOptions } from "./writerRound.ts";

export interface WriterBenchReport {
  readonly rowsPerSecond: { readonly writer: number; readonly bare: number; readonly oneIn10000Bad: number; readonly onePercentBad: number };
  readonly ratio: { readonly clean: number; readonly oneIn10000Bad: number; readonly onePercentBad: number };
  readonly rssMiB: readonly number[];
}

export interface WriterBenchOptions {
  /** Clean rows that go through the writer; the others are shares of them. */
  readonly rows: number;
  readonly run: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly say: (line: string) => void;
}

const CELLS = "lockstep-bench-";
const PARTITIONS = 8;
const SAMPLES = 20;
/** Of the clean rows, those that are compared: so many rounds of a sample each. */
const COMPARED = 4;
const CLEAN_LEAST = 0.4;
const BAD_LEAST = 0.3;
/** How much the last third's memory may lie above the middle third's. */
const FLAT = 1.2;

/** What was measured beside one another. */
interface Measured {
  readonly writer: number;
  readonly bare: number;
}

/** @throws LockstepError `configuration`, `unreachable`, `database_busy`, `database_fault` */
export async function benchWriter(options: WriterBenchOptions): Promise<WriterBenchReport> {
  const ends = new Ends();
  try {
    return await measure(options, ends);
  } finally {
    const failures = await ends.run(); // 2
    if (failures.length > 0) options.logger.error({ failures: failures.map(messageOf) }, "the bench did not end cleanly");
  }
}

/** What is promised and does not hold. */
export function writerBenchFaults({ ratio, rssMiB }: WriterBenchReport): string[] {
  const third = Math.floor(rssMiB.length / 3);
  const middle = median(rssMiB.slice(third, 2 * third));
  const last = median(rssMiB.slice(-third));
  return [
    ratio.clean >= CLEAN_LEAST ? null : `clean: ${ratio.clean} of the bare insert, expected at least ${CLEAN_LEAST}`,
    ratio.oneIn10000Bad >= BAD_LEAST ? null : `one bad row in 10,000: ${ratio.oneIn10000Bad} of the bare insert, expected at least ${BAD_LEAST}`,
    last <= middle * FLAT ? null : `memory grows: ${middle} MiB in the middle, ${last} MiB at the end`,
  ].filter((fault) => fault !== null);
}

async function measure({ rows, run, env, clock, random, logger, say }: WriterBenchOptions, ends: Ends): Promise<WriterBenchReport> {
  const ground = await openGround({ cells: CELLS, run, keepsRows: false, partitions: PARTITIONS, env, clock, logger }, ends);
  await ground.storage.directory.put(ACCOUNTS, LINKS);
  await ground.log.ensureTopics(topicSpecs(ground.cell, PARTITIONS));
  const bareCell = cellId(`${ground.cell}-bare`);
  const connections = { url: ground.databaseUrl, logger, maxConnections: 2, connectTimeoutMs: 5_000, statementTimeoutMs: 60_000, cell: bareCell };
  ends.add(() => forgetCell(connections));
  const beside = await openStorage(connections);
  ends.add(() => beside.close());
  await beside.directory.put(ACCOUNTS, LINKS);

  const round: RoundOptions = { cell: ground.cell, partitions: PARTITIONS, log: ground.log, pairs: ground.storage.pairs, clock, random, logger };
  const rssMiB: number[] = [];
  const sample = (): void => void rssMiB.push(Math.round(process.memoryUsage.rss() / 2 ** 20));
  const share = Math.ceil(rows / SAMPLES);
  let from = 0;
  const compare = async (what: string, count: number, badEvery: number | null, rounds: number, onRound: () => void = () => undefined): Promise<Measured> => {
    let [writerMs, bareMs] = [0, 0];
    for (let done = 0; done < rounds; done++) {
      await produce(round, { from, count, badEvery });
      writerMs += await writeAll(round, count, () => Promise.resolve(), count, onRound);
      bareMs += await bareInsert(ground.databaseUrl, bareCell, from, count, DEFAULT_NODE_LIMITS.writerRows, clock);
      from += count;
      say(`${what}: ${count * (done + 1)} rows, writer ${perSecond(count * (done + 1), writerMs)} rows/s, bare ${perSecond(count * (done + 1), bareMs)} rows/s`);
    }
    return { writer: perSecond(count * rounds, writerMs), bare: perSecond(count * rounds, bareMs) };
  };

  const clean = await compare("clean", share, null, COMPARED, sample);
  const oneIn10000Bad = await compare("one bad row in 10,000", share, 10_000, 2);
  const onePercentBad = await compare("one bad row in 100", Math.ceil(share / 5), 100, 1);
  const rest = share * (SAMPLES - COMPARED);
  const more = { from, count: rest, badEvery: null };
  const restMs = await writeAll(round, rest, () => produce(round, more), share, sample);
  say(`memory: ${rest} more rows, written while they were said: ${perSecond(rest, restMs)} rows/s`);
  const expected = from + rest;
  const { pairs, rejected } = await ground.storage.pairs.counts();
  if (pairs + rejected !== expected) throw new LockstepError("database_fault", `${expected} events came to ${pairs} rows and ${rejected} kept aside`);
  return {
    rowsPerSecond: { writer: clean.writer, bare: clean.bare, oneIn10000Bad: oneIn10000Bad.writer, onePercentBad: onePercentBad.writer },
    ratio: { clean: ratio(clean), oneIn10000Bad: ratio(oneIn10000Bad), onePercentBad: ratio(onePercentBad) },
    rssMiB,
  };
}

const perSecond = (rows: number, ms: number): number => Math.round(rows / (ms / 1_000));
const ratio = ({ writer, bare }: Measured): number => Math.round((writer / bare) * 1_000) / 1_000;
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
