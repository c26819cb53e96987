// Owns `lockstep bench`: its options, its numbers on the screen or as JSON.

import { LockstepError } from "../../protocol/errors.ts";
import { benchWriter, writerBenchFaults } from "../bench/writerBench.ts";
import { systemClock, systemRandom } from "../clock.ts";
import { newRun } from "../cluster/cluster.ts";
import { openLogger } from "../logging.ts";

export interface BenchCommandOptions {
  readonly rows: string;
  readonly json?: boolean | undefined;
}

const NAMES = ["writer"];
const FEWEST_ROWS = 200;
const MOST_ROWS = 100_000_000;

/** Exit code 0 when the promised ratios hold, else 1. @throws LockstepError `configuration`: exit code 2 */
export async function benchCommand(name: string, options: BenchCommandOptions): Promise<number> {
  if (!NAMES.includes(name)) throw new LockstepError("configuration", `bench: expected one of ${NAMES.join(", ")}, got ${JSON.stringify(name)}`);
  const rows = /^\d{1,9}$/.test(options.rows) ? Number(options.rows) : 0;
  if (rows < FEWEST_ROWS || rows > MOST_ROWS) throw new LockstepError("configuration", `--rows: expected a whole number from ${FEWEST_ROWS} to ${MOST_ROWS}, got ${JSON.stringify(options.rows)}`);
  const logger = openLogger({ level: "fatal", file: null }); // bad rows are meant
  const report = await benchWriter({ rows, run: newRun(), env: process.env, clock: systemClock, random: systemRandom, logger, say: (line) => process.stderr.write(`${line}\n`) });
  const { rowsPerSecond, ratio, rssMiB } = report;
  const text = [
    `clean                  ${rowsPerSecond.writer} rows/s, ${ratio.clean} of a bare insert's ${rowsPerSecond.bare}`,
    `one bad row in 10,000  ${rowsPerSecond.oneIn10000Bad} rows/s, ${ratio.oneIn10000Bad}`,
    `one bad row in 100     ${rowsPerSecond.onePercentBad} rows/s, ${ratio.onePercentBad}`,
    `memory                 ${rssMiB.join(" ")} MiB`,
  ];
  process.stdout.write(options.json === true ? `${JSON.stringify(report)}\n` : `${text.join("\n")}\n`);
  const faults = writerBenchFaults(report);
  for (const fault of faults) process.stderr.write(`bench writer: ${fault}\n`);
  return faults.length === 0 ? 0 : 1;
}
