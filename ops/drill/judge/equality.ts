// Owns what the whole run came to: at its end every follower equals its master or has a recorded, justified skip, by the
// demo's checker; and who sent the orders, by the same.
//
// 1. It is judged once, of the last record: only that one has the end.
// 2. The checker excuses what came in an absence (absences.ts), and nothing else than in a cluster without faults.

import { checkDemo, type Violation } from "../../demo/check/checkDemo.ts";
import { ownerViolations } from "../../demo/check/owners.ts";
import { absencesOf } from "./absences.ts";
import { GRACE_MS, HANDOVER_MS, type Evidence } from "./evidence.ts";

export function equalityViolations(evidence: Evidence): Violation[] {
  const { record } = evidence;
  if (record.round < record.rounds) return []; // 1
  const copied = evidence.troupes.flatMap((one) => {
    const { cast, log, rows } = one.troupe;
    const absences = absencesOf(evidence, one); // 2
    const check = checkDemo({ statement: null, cast, log, rows, rejected: 0, graceMs: GRACE_MS, settleMs: record.settleMs, callTimeoutMs: record.callMs, absences, handoverMs: HANDOVER_MS });
    return [...check.violations, ...ownerViolations(log)];
  });
  return [...record.atEnd, ...copied];
}
