// Owns `lockstep demo`: its options, its progress, its result on the screen or as JSON.

import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LockstepError } from "../../protocol/errors.ts";
import { systemClock, systemRandom } from "../clock.ts";
import { MAX_FOLLOWERS } from "../demo/cast.ts";
import { demoPoolThreads, runDemo, type Progress } from "../demo/demo.ts";
import { demoText } from "../demo/report.ts";
import type { Speed } from "../demo/pace.ts";
import { launch } from "../launch.ts";
import { openLogger } from "../logging.ts";
import { CLONE_FOLDER, stateFolder } from "../local/stateFolder.ts";
import { ownUser } from "../local/users.ts";
import { loadStatement } from "../statement/read.ts";

export interface DemoCommandOptions {
  readonly statement?: string | undefined;
  readonly followers: string;
  readonly speed?: string | undefined;
  readonly chaos?: boolean | undefined;
  readonly seed: string;
  readonly kafka?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export const BUNDLED_STATEMENT = fileURLToPath(new URL("../demo/statement.htm", import.meta.url));
const LINE_EVERY_MS = 3_000;
const LONGEST_LOG_BYTES = 10_000_000;

/**
 * Exit code 0 when the checker finds nothing, 1 when it does, 128 and the signal's number when it was told to end.
 * @throws LockstepError `configuration`, `bad_statement`: exit code 2
 */
export async function demoCommand(options: DemoCommandOptions, args: readonly string[]): Promise<number> {
  const followers = wholeNumber("--followers", options.followers, 1, MAX_FOLLOWERS);
  const speed = speedOf(options.speed);
  const seed = wholeNumber("--seed", options.seed, 0, 0xffff_ffff);
  const chaosSeed = options.chaos === true ? seed : null;
  const statement = await loadStatement(options.statement ?? BUNDLED_STATEMENT);
  const launched = await launch(args, demoPoolThreads(followers), systemClock);
  if (launched.kind === "ran") return launched.exitCode;

  const { ending } = launched;
  const folder = join(await stateFolder(process.env, CLONE_FOLDER, ownUser()), "demo");
  await shorten(join(folder, "lockstep.log"));
  const logger = openLogger({ level: "info", file: join(folder, "lockstep.log") });
  const show = progressOn(process.stderr);
  try {
    const report = await runDemo({ statement, followers, speed, chaosSeed, log: options.kafka === true ? "kafka" : "memory", folder: join(folder, "runs"), env: process.env, clock: systemClock, random: systemRandom, logger, onProgress: show.progress, interrupt: ending.signal });
    show.end();
    process.stdout.write(options.json === true ? `${JSON.stringify(report)}\n` : `${demoText(report)}\n`);
    if (report.verdict !== "ok") process.stderr.write(`the brokers' logs of this run are in the newest folder of ${join(folder, "runs")}\n`);
    return report.verdict === "ok" ? 0 : 1;
  } catch (error) {
    const exitCode = ending.exitCode();
    if (exitCode === null) throw error;
    show.end();
    process.stderr.write("lockstep: told to end before the demo was over\n");
    return exitCode;
  } finally {
    ending.done();
  }
}

/** Runs share one log file; it begins anew when it has grown long. */
async function shorten(file: string): Promise<void> {
  const size = await stat(file).then((found) => found.size, () => 0);
  if (size > LONGEST_LOG_BYTES) await rm(file, { force: true });
}

function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) throw new LockstepError("configuration", `${option}: expected a whole number from ${min} to ${max}, got ${JSON.stringify(text)}`);
  return value;
}

function speedOf(text: string | undefined): Speed {
  if (text === undefined) return "default";
  if (text === "max") return "max";
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new LockstepError("configuration", `--speed: expected "max" or a number above 0 (seconds of the statement in one second), got ${JSON.stringify(text)}`);
  return value;
}

/** One changing line on a terminal, a line every few seconds elsewhere. */
function progressOn(stream: NodeJS.WriteStream): { readonly progress: (progress: Progress) => void; readonly end: () => void } {
  let lastMs = Number.NEGATIVE_INFINITY;
  let lastPhase = "";
  return {
    progress({ phase, played, scenes }) {
      const text = phase === "playing" ? `playing ${played}/${scenes}` : phase;
      if (stream.isTTY) return void stream.write(`\r\u001b[K${text}`);
      const nowMs = systemClock.monotonicMs();
      if (phase === lastPhase && nowMs - lastMs < LINE_EVERY_MS) return;
      lastMs = nowMs;
      lastPhase = phase;
      stream.write(`${text}\n`);
    },
    end: () => void (stream.isTTY && stream.write("\r\u001b[K")),
  };
}
