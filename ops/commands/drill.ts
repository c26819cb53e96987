// Owns `lockstep drill`: its options, its result on the screen or as JSON.

import { join } from "node:path";
import { LockstepError } from "../../protocol/errors.ts";
import { systemClock, systemRandom } from "../clock.ts";
import { newRun } from "../cluster/cluster.ts";
import { runFolder } from "../demo/runFolder.ts";
import { runDrill } from "../drill/drill.ts";
import { judgeAll } from "../drill/judge/judge.ts";
import { DRILL_DEFAULTS, drillPlan, type DrillTexts } from "../drill/options.ts";
import { wholeReport } from "../drill/report.ts";
import { drillStaleWriter, STALE_WRITER } from "../drill/staleWriter.ts";
import { roundText, staleText } from "../drill/text.ts";
import { CLONE_FOLDER, stateFolder } from "../local/stateFolder.ts";
import { ownUser } from "../local/users.ts";
import { openLogger } from "../logging.ts";
import { unlessTold } from "./interrupt.ts";

export interface DrillCommandOptions extends DrillTexts {
  readonly json?: boolean | undefined;
}

/**
 * Exit code 0 when nothing is wrong, 1 when something is, 128 and the signal's number when it was told to end.
 * @throws LockstepError `configuration`: exit code 2
 */
export async function drillCommand(name: string, options: DrillCommandOptions): Promise<number> {
  if (name === STALE_WRITER) return staleWriter(options);
  const plan = drillPlan(name, options);
  const run = newRun();
  const folder = await runFolder(join(await stateFolder(process.env, CLONE_FOLDER, ownUser()), "drill"), run, systemClock.wallMs());
  const logger = openLogger({ level: "info", file: join(folder, "drill.log") });
  return unlessTold(systemClock, "the drill", async (interrupt) => {
    const records = await runDrill({ plan, folder, run, env: process.env, clock: systemClock, random: systemRandom, logger, stream: process.stderr, interrupt });
    const judged = judgeAll(records);
    const whole = wholeReport(judged.map(({ report }) => report));
    process.stdout.write(options.json === true ? `${JSON.stringify(whole)}\n` : `${judged.map(({ record, report }) => roundText(record, report)).join("\n\n")}\n`);
    if (whole.verdict !== "ok") process.stderr.write(`the logs of this run's brokers and nodes are in ${folder}\n`);
    return whole.verdict === "ok" ? 0 : 1;
  });
}

/** The drill of the writers alone: no nodes, so no profile and no rounds to choose. */
async function staleWriter({ json, profile, rounds }: DrillCommandOptions): Promise<number> {
  if (profile !== DRILL_DEFAULTS.profile || rounds !== undefined) throw new LockstepError("configuration", `drill ${STALE_WRITER}: it has no --profile and no --rounds`);
  return unlessTold(systemClock, "the drill", async (interrupt) => {
    const say = (line: string): void => void process.stderr.write(`${line}\n`);
    const report = await drillStaleWriter({ run: newRun(), env: process.env, clock: systemClock, random: systemRandom, logger: openLogger({ level: "error", file: null }), say, interrupt });
    process.stdout.write(json === true ? `${JSON.stringify(report)}\n` : `${staleText(report)}\n`);
    return report.verdict === "ok" ? 0 : 1;
  });
}
