// Owns `lockstep node`: a tiny parent that resolves the settings, and its child that is the node.
//
// 1. The parent loads nothing that only the child needs.

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { bootId } from "../../protocol/ids.ts";
import { systemClock, systemRandom } from "../clock.ts";
import { settingsOf, type SettingOptions } from "../config/nodeOptions.ts";
import { resolveConfig } from "../config/resolve.ts";
import { COMMAND, isLaunched, listenForEnd } from "../launch.ts";
import { openLogger } from "../logging.ts";
import { runParent } from "../nodeProcess/parent.ts";

/** What is under way may end, and be said to the log; then the child ends whatever is left. */
const LONGEST_END_MS = 40_000;

/**
 * Exit code 0 after a clean stop, 2 for configuration, 128 and the signal's number when it was told twice, else 1.
 * @throws LockstepError `configuration`: exit code 2, one line for each fault
 */
export async function nodeCommand(options: SettingOptions): Promise<number> {
  if (isLaunched()) return child();
  const resolved = resolveConfig({ options: settingsOf(options), file: options.config, env: process.env, hostName: hostname() });
  return runParent({
    resolved,
    boot: bootId(randomUUID()),
    program: { module: COMMAND, args: ["node"] },
    env: process.env,
    clock: systemClock,
    logger: openLogger({ level: resolved.config.logLevel, file: null }),
    say,
  });
}

async function child(): Promise<number> {
  const ending = listenForEnd(systemClock, LONGEST_END_MS);
  const { runChild } = await import("../nodeProcess/child.ts"); // (1)
  const { openKafkaLog } = await import("../nodeProcess/openLog.ts");
  const exitCode = await runChild({ ending, openLog: openKafkaLog, env: process.env, clock: systemClock, random: systemRandom, out: (line) => void process.stdout.write(`${line}\n`), say });
  // Whatever the node still has open, it has ended.
  process.exit(exitCode);
}

const say = (line: string): void => void process.stderr.write(`lockstep: ${line}\n`);
