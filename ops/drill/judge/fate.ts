// Owns the rules about what became of accounts: `unowned`, and what a drill expects of those that were struck:
// `not-moved`, `not-own`.

import type { AccountId } from "../../../protocol/ids.ts";
import type { Violation } from "../../demo/check/checkDemo.ts";
import { notJudged, violation, whenText, type Evidence } from "./evidence.ts";
import { isSame, ownerText } from "./leases.ts";
import { accountsOf } from "./ownership.ts";
import { struckAccounts } from "./struck.ts";
import type { Tenure } from "./tenures.ts";

export function fateViolations(evidence: Evidence): Violation[] {
  return [...accountsOf(evidence).flatMap((account) => unowned(evidence, account)), ...ofStruck(evidence)];
}

/** Somebody with a live lease has it when the record ends. */
function unowned({ record, tenures, leases }: Evidence, account: AccountId): Violation[] {
  const { endAtMs } = record;
  const last = tenures.at(account, endAtMs);
  if (last === null) return [notJudged("unowned", "its row was never seen", account)];
  if (last.owner === null) return [violation("unowned", account, "its row names nobody at the end")];
  if (leases.windowAt(last.owner, endAtMs) !== null) return [];
  const window = leases.windowsOf(last.owner).at(-1);
  const lease = window === undefined ? "has no lease" : `has had none since ${whenText(record, window.untilMs)}`;
  return [violation("unowned", account, `its row names ${ownerText(last.owner)} at the end, which ${lease}`)];
}

function ofStruck(evidence: Evidence): Violation[] {
  const { record, tenures } = evidence;
  if (record.expects.accounts === "any") return [];
  const held = [...struckAccounts(evidence)].flatMap((account) => {
    const tenure = tenures.at(account, record.faultAtMs);
    return tenure === null ? [] : [{ account, tenure }];
  });
  if (held.length === 0) return [notJudged(record.expects.accounts === "move" ? "not-moved" : "not-own", "nothing that was struck had an account")];
  return held.flatMap(({ account, tenure }) => {
    const later = tenures.of(account).filter(({ fromMs }) => fromMs > record.faultAtMs && fromMs < record.endAtMs);
    return record.expects.accounts === "move" ? notMoved(account, tenure, later) : notOwn(evidence, account, tenure, later);
  });
}

function notMoved(account: AccountId, held: Tenure, later: readonly Tenure[]): Violation[] {
  if (later.some(({ owner, epoch }) => owner !== null && !isSame(owner, held.owner) && epoch > held.epoch)) return [];
  return [violation("not-moved", account, `it was ${held.owner === null ? "nobody" : ownerText(held.owner)}'s when the fault came, and nobody else's afterwards`)];
}

function notOwn({ record }: Evidence, account: AccountId, held: Tenure, later: readonly Tenure[]): Violation[] {
  const other = later.find(({ owner }) => !isSame(owner, held.owner));
  if (other === undefined) return [];
  return [violation("not-own", account, `it was ${held.owner === null ? "nobody" : ownerText(held.owner)}'s, and ${other.owner === null ? "nobody" : ownerText(other.owner)}'s ${whenText(record, other.fromMs)}`)];
}
