// Owns the verdict on what was copied: each master's troupe by the demo's checker, and who sent its orders,
// from the brokers' own logs.

import type { PairStore } from "../../protocol/ports/storage.ts";
import { readBrokerLog } from "../demo/brokerLogFile.ts";
import type { Cast } from "../demo/cast.ts";
import { checkDemo, type Violation } from "../demo/check/checkDemo.ts";
import { ownerViolations } from "../demo/check/owners.ts";
import type { Statement } from "../statement/model.ts";
import { CALL_MS, SETTLE_MS } from "./fleet.ts";

/** How long a copy may take to follow before the checker calls it missing: as in the demo. */
const GRACE_MS = 1_500;
/** An answer takes 130 ms here, and what was said to the log a moment more. */
const HANDOVER_MS = 500;

export interface Troupe {
  readonly cast: Cast;
  readonly logFile: string;
}

export interface CopyVerdict {
  readonly violations: readonly Violation[];
  readonly orders: number;
}

export async function verdictOn(statement: Statement, troupes: readonly Troupe[], pairs: PairStore): Promise<CopyVerdict> {
  const { rejected } = await pairs.counts();
  const violations: Violation[] = rejected === 0 ? [] : [{ rule: "rows-rejected", follower: null, detail: `the database refused ${rejected} pair events` }];
  let orders = 0;
  for (const { cast, logFile } of troupes) {
    const log = await readBrokerLog(logFile);
    const rows = (await Promise.all(cast.followers.map(({ broker }) => pairs.rowsOf(broker.account)))).flat();
    const check = checkDemo({ statement, cast, log, rows, rejected: 0, graceMs: GRACE_MS, settleMs: SETTLE_MS, callTimeoutMs: CALL_MS, handoverMs: HANDOVER_MS });
    violations.push(...check.violations, ...ownerViolations(log));
    orders += log.filter((entry) => entry.kind === "request" && entry.by.kind === "connection").length;
  }
  return { violations, orders };
}
