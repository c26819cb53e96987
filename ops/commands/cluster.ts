// Owns `lockstep cluster`: its options, its picture, its result on the screen or as JSON.

import { join } from "node:path";
import { systemClock } from "../clock.ts";
import { newRun, runCluster } from "../cluster/cluster.ts";
import { clusterPlan, type ClusterTexts } from "../cluster/options.ts";
import { clusterText } from "../cluster/report.ts";
import { runFolder } from "../demo/runFolder.ts";
import { CLONE_FOLDER, stateFolder } from "../local/stateFolder.ts";
import { ownUser } from "../local/users.ts";
import { openLogger } from "../logging.ts";
import { loadStatement } from "../statement/read.ts";
import { BUNDLED_STATEMENT } from "./demo.ts";
import { unlessTold } from "./interrupt.ts";

export interface ClusterCommandOptions extends ClusterTexts {
  readonly statement?: string | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Exit code 0 when nothing is wrong, 1 when something is, 128 and the signal's number when it was told to end.
 * @throws LockstepError `configuration`, `bad_statement`: exit code 2
 */
export async function clusterCommand(options: ClusterCommandOptions): Promise<number> {
  const plan = clusterPlan(options);
  const statement = await loadStatement(options.statement ?? BUNDLED_STATEMENT);
  const run = newRun();
  const folder = await runFolder(join(await stateFolder(process.env, CLONE_FOLDER, ownUser()), "cluster"), run, systemClock.wallMs());
  const logger = openLogger({ level: "info", file: join(folder, "cluster.log") });
  return unlessTold(systemClock, "the cluster's story", async (interrupt) => {
    const report = await runCluster({ plan, statement, folder, run, env: process.env, clock: systemClock, logger, stream: process.stderr, interrupt });
    process.stdout.write(options.json === true ? `${JSON.stringify(report)}\n` : `${clusterText(report)}\n`);
    if (report.verdict !== "ok") process.stderr.write(`the logs of this run's brokers and nodes are in ${folder}\n`);
    return report.verdict === "ok" ? 0 : 1;
  });
}
