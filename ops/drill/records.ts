// Owns what a drill's end leaves to be judged: everything that was seen, read once all is at rest, as one record for
// each round.
//
// 1. Rows and records are read before the nodes are told to end, and the rows are watched no longer: how they leave
//    is no part of the drill.

import { join } from "node:path";
import type { LeaseProfile } from "../../actors/core/leaseProfile.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { TimelineEntry } from "../../protocol/timeline.ts";
import { SETTLE_MS } from "../cluster/fleet.ts";
import { unlessInterrupted } from "../cluster/interrupt.ts";
import { readBrokerLog } from "../demo/brokerLogFile.ts";
import type { Violation } from "../demo/check/checkDemo.ts";
import { CLOCK_OFFSET_MS } from "../demo/stage.ts";
import { limitsOf } from "../nodeLimits.ts";
import { byTime } from "../timeline/entries.ts";
import { readTimelineLog } from "../timeline/fromLogs.ts";
import type { Round } from "./drills.ts";
import type { DrillPlan } from "./options.ts";
import type { DrillRecord, DrillTroupe, Expectations, StruckNode } from "./record.ts";
import { readSaid } from "./said.ts";
import { callMsOf, type Scene } from "./scene.ts";
import { turnEntries } from "./turns.ts";

/** What is known of one round when it is over. */
export interface SeenRound {
  readonly round: Round;
  readonly struck: readonly StruckNode[];
  readonly fromMs: number;
  readonly faultAtMs: number;
  readonly healAtMs: number | null;
  readonly endAtMs: number;
}

export interface RecordsOptions {
  readonly plan: DrillPlan;
  readonly scene: Scene;
  /** Where the nodes' logs are. */
  readonly folder: string;
  readonly rounds: readonly SeenRound[];
  /** What the drill itself did. */
  readonly told: readonly TimelineEntry[];
  /** What was wrong with the cluster at rest, and with the drill. */
  readonly wrong: readonly Violation[];
  /** When it was at rest. */
  readonly endAtMs: number;
  readonly clock: Clock;
  readonly interrupt: AbortSignal;
}

/** Ends nodes and brokers. @throws LockstepError `unreachable`, `stopped` */
export async function recordsOf({ plan, scene, folder, rounds, told, wrong, endAtMs, clock, interrupt }: RecordsOptions): Promise<DrillRecord[]> {
  const { storage, log, cell } = scene.ground;
  await scene.rows.stop(); // 1
  const { rejected } = await storage.pairs.counts();
  const refused: readonly Violation[] = rejected === 0 ? [] : [{ rule: "rows-rejected", follower: null, detail: `the database refused ${rejected} pair events` }];
  const said = await unlessInterrupted(interrupt, readSaid(log, cell, clock));
  const rows = await Promise.all(scene.troupes.map(async ({ cast }) => (await Promise.all(cast.followers.map(({ broker }) => storage.pairs.rowsOf(broker.account)))).flat()));
  await unlessInterrupted(interrupt, scene.fleet.drainAll());
  await scene.stage.close();
  const troupes = await Promise.all(scene.troupes.map(async ({ cast, logFile }, index): Promise<DrillTroupe> => ({ cast, log: await readBrokerLog(logFile), rows: rows[index] ?? [] })));
  const names = [...new Set(scene.fleet.runs.map(({ name }) => name))];
  const byNodes = await Promise.all(names.map((name) => readTimelineLog(join(folder, `${name}.log`))));
  const atBrokers = troupes.map((troupe) => turnEntries(troupe.log, CLOCK_OFFSET_MS));
  const shared = {
    drill: plan.name,
    profile: plan.profile,
    lease: limitsOf(plan.profile).lease,
    settleMs: SETTLE_MS,
    callMs: callMsOf(plan.profile),
    clockOffsetMs: CLOCK_OFFSET_MS,
    rounds: rounds.length,
    troupes,
    leases: scene.rows.leases,
    owners: scene.rows.owners,
    said,
    timeline: byTime([...byNodes.flat(), ...atBrokers.flat(), ...told]),
  };
  return rounds.map(({ round, ...seen }, index): DrillRecord => {
    const isLast = index === rounds.length - 1;
    return { ...shared, ...seen, round: index + 1, expects: expectationsOf(round, shared.lease), endAtMs: isLast ? endAtMs : seen.endAtMs, atEnd: isLast ? [...scene.fleet.violations, ...wrong, ...refused] : [] };
  });
}

const expectationsOf = ({ expects }: Round, { claimPollMs }: LeaseProfile): Expectations => ({ ...expects, longestGapMs: expects.longestGapMs === null ? null : expects.longestGapMs + claimPollMs });
