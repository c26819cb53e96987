// Owns `lockstep postmortem`: what happened to a follower and why, from the replay topic alone.
//
// 1. It changes nothing and needs no node, no broker and no database: those may be what is down.

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { LockstepError } from "../../protocol/errors.ts";
import { accountId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { resolveSettings } from "../config/resolve.ts";
import { settingsOf, type SettingOptions } from "../config/nodeOptions.ts";
import type { KeyName } from "../config/keys.ts";
import type { Environment } from "../credentials.ts";
import { NO_KAFKA, runningBrokers } from "../kafka/running.ts";
import { openKafkaLog, type OpenLog } from "../nodeProcess/openLog.ts";
import { serverEnvironment } from "../nodeProcess/servers.ts";
import { readReplay, type ReplayFound } from "../timeline/fromReplay.ts";
import { momentOf } from "../timeline/moment.ts";
import { timelineLines } from "../timeline/render.ts";

export type PostmortemCommandOptions = SettingOptions & { readonly follower: string; readonly from: string; readonly to: string; readonly json?: boolean | undefined };

export interface PostmortemCommandIo {
  readonly out: { write(text: string): unknown };
  readonly err: { write(text: string): unknown };
  readonly env: Environment;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly openLog?: OpenLog;
}

const POSTMORTEM_KEYS = ["cell", "kafkaBrokers", "stateDir"] as const satisfies readonly KeyName[];
/** Of what is asked: nothing is sent that trades. */
const MARGIN_MS = 15_000;

/**
 * Exit code 0 when something was told of the follower, 1 when nothing was.
 * @throws LockstepError `configuration`, `invalid_value`: exit code 2; `unreachable`
 */
export async function postmortemCommand(options: PostmortemCommandOptions, io: PostmortemCommandIo): Promise<number> {
  const { out, err, env, logger, clock, openLog = openKafkaLog } = io;
  const follower = accountId(options.follower);
  const nowMs = clock.wallMs();
  const [fromMs, toMs] = [momentOf("--from", options.from, nowMs), momentOf("--to", options.to, nowMs)];
  if (fromMs > toMs) throw new LockstepError("configuration", `--from: expected a time before --to, got ${options.from} and ${options.to}`);
  const config = { databaseUrl: null, ...resolveSettings({ options: settingsOf(options), file: options.config, env, hostName: hostname() }, POSTMORTEM_KEYS) };
  const brokers = config.kafkaBrokers ?? (await runningBrokers(serverEnvironment(config, env), clock));
  if (brokers === null) throw new LockstepError("configuration", `kafkaBrokers: ${NO_KAFKA}`);
  const log = openLog({ brokers, clientId: `lockstep ${config.cell} postmortem`, replication: 1, marginMs: MARGIN_MS, clock, logger });
  try {
    const found = await readReplay({ log, cell: config.cell, follower, fromMs, toMs, id: randomUUID(), clock });
    const { entries, ...rest } = found;
    const isTold = entries.some(({ account }) => account === follower);
    if (options.json === true) out.write(`${JSON.stringify({ follower, fromMs, toMs, ...rest, timeline: entries })}\n`);
    else if (isTold) out.write([head(follower, found), ...timelineLines(entries, { kind: "wall" }), ""].join("\n"));
    for (const note of notes(found, isTold, `${follower} between ${time(fromMs)} and ${time(toMs)}`)) err.write(`lockstep: ${note}\n`);
    return isTold ? 0 : 1;
  } finally {
    await log.close();
  }
}

const time = (atMs: number): string => new Date(atMs).toISOString();

function head(follower: string, { entries, nodes, masters }: ReplayFound): string {
  return `follower ${follower}: ${entries.length} entries; held by ${nodes.join(", ")}; ${masters.length === 0 ? "no master was named" : `copies ${masters.join(", ")}`}`;
}

function notes({ unknownVersions, unreadable, cut }: ReplayFound, isTold: boolean, what: string): string[] {
  return [
    isTold ? null : `nothing was told of ${what}`,
    unknownVersions === 0 ? null : `${unknownVersions} records are of a release that this one cannot read`,
    unreadable === 0 ? null : `${unreadable} records are none of ours`,
    cut ? "there is more than is shown here: choose a shorter window" : null,
  ].filter((note) => note !== null);
}
