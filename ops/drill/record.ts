// Owns what a drill has seen of one fault: everything the judge goes by, and nothing it amounts to.
//
// 1. It was seen from outside: the brokers' logs, the rows, Kafka's records, the nodes' own log lines.
// 2. All times are milliseconds since 1970 of this machine's wall clock, on which the database and the nodes
//    are too; the brokers' own clock is that plus `clockOffsetMs`.
// 3. A drill of several faults gives one record for each. They share the logs, rows and timeline of the whole
//    run; what is a record's own lies from `fromMs` up to `endAtMs`, and only the last has the end.

import type { LeaseProfile } from "../../actors/core/leaseProfile.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import type { PairRow } from "../../protocol/ports/storage.ts";
import type { TimelineEntry } from "../../protocol/timeline.ts";
import type { BrokerLogEntry } from "../broker/log.ts";
import type { Cast } from "../demo/cast.ts";
import type { Violation } from "../demo/check/checkDemo.ts";
import type { ProfileName } from "../nodeLimits.ts";

/** What must hold of a fault besides what must hold always. */
export interface Expectations {
  /** What becomes of the accounts of those that were struck: others have them, they keep them, or nothing is promised. */
  readonly accounts: "move" | "stay" | "any";
  /** Those that were struck go on copying until their deadline: an order in every second, the last within 1 s of it, none after it. */
  readonly copiesUntilDeadline: boolean;
  /** From when on a boot that was struck sends no order again; null: it may go on. A boot that comes back lifts at a raised epoch. */
  readonly silentFrom: "fault" | "heal" | null;
  /** There is a gap to be measured, from the fault to the first orders for something new: it is at most the arithmetic one and a second. */
  readonly gap: boolean;
  /** The longest gap that is allowed besides, whatever the arithmetic is; null: any. In a drill's row: beyond the claim poll. */
  readonly longestGapMs: number | null;
  /** How old the oldest event may be that the log lacks because of the fault; null: not judged. */
  readonly lostOldestMs: number | null;
}

/** One process of the cluster: a boot that was struck. */
export interface StruckNode {
  readonly node: string;
  /** Null: it had none in the rows. */
  readonly boot: string | null;
}

/** How a node's lease was written in its row. */
export interface LeaseChange {
  /** When it was seen, by the database's clock. */
  readonly atMs: number;
  readonly node: string;
  readonly boot: string;
  readonly leaseUntilMs: number;
  /** The boot whose lease was ended for good. */
  readonly endedBoot: string | null;
}

/** Whom an account's row named. */
export interface OwnerChange {
  readonly atMs: number;
  readonly account: AccountId;
  readonly node: string | null;
  readonly boot: string | null;
  readonly epoch: number;
}

/** One master with its followers, at a broker server of their own. */
export interface DrillTroupe {
  readonly cast: Cast;
  /** Whole, by the broker's clock. */
  readonly log: readonly BrokerLogEntry[];
  /** Of all its followers, at the end. */
  readonly rows: readonly PairRow[];
}

/** What an owner said in `pair-events`, in the order of its partition. */
export interface SaidEvent {
  /** When the producer made the record, or the log took it: milliseconds by Kafka's record. */
  readonly atMs: number;
  readonly event: PairEvent;
}

export interface DrillRecord {
  readonly drill: string;
  readonly profile: ProfileName;
  readonly lease: LeaseProfile;
  readonly settleMs: number;
  /** How long a node waits for a broker's answer. */
  readonly callMs: number;
  readonly clockOffsetMs: number;
  /** From 1. */
  readonly round: number;
  readonly rounds: number;
  readonly expects: Expectations;
  /** Invariant 3. */
  readonly fromMs: number;
  readonly faultAtMs: number;
  readonly healAtMs: number | null;
  readonly endAtMs: number;
  readonly struck: readonly StruckNode[];
  readonly troupes: readonly DrillTroupe[];
  /** Polled every 100 ms on a connection of the drill's own; only changes, and everything there was at the start. */
  readonly leases: readonly LeaseChange[];
  readonly owners: readonly OwnerChange[];
  readonly said: readonly SaidEvent[];
  /** What the nodes told, merged with the drill's own `fault` and `heal`; by time. */
  readonly timeline: readonly TimelineEntry[];
  /** What was wrong with the cluster when all was at rest, and nodes that ended otherwise than was meant. Of the last round. */
  readonly atEnd: readonly Violation[];
}
