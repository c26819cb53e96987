// Owns what a follower's actor is made with and the messages it takes.

import type { Account, Link } from "../../protocol/accounts.ts";
import type { AccountId, Ticket } from "../../protocol/ids.ts";
import type { Execution, Order } from "../../protocol/orders.ts";
import type { Pair } from "../../protocol/pairs.ts";
import type { BrokerSession, SessionEvent } from "../../protocol/ports/broker.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { Gate } from "../../protocol/ports/gate.ts";
import type { Journal } from "../../protocol/ports/journal.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { PairRow, PairStore } from "../../protocol/ports/storage.ts";
import type { MasterVersion, Tick } from "../../protocol/ticks.ts";
import type { WallMs } from "../../protocol/units.ts";
import type { ClockReading } from "../core/masterFold.ts";
import type { Counter } from "./counter.ts";
import type { EventSink } from "./eventSink.ts";
import type { LiveTarget } from "../core/decide.ts";
import type { Copy, LinkCopies } from "./linkCopies.ts";
import type { CloseByHand } from "./manualClose.ts";
import type { Ownership } from "./ownership.ts";
import type { SnapshotMessage } from "./reconciler.ts";

export interface FollowerOptions {
  readonly account: Account;
  readonly ownership: Ownership;
  /** Since when nobody else sends orders for it, monotonic. */
  readonly sinceMs: number;
  /** Monotonic: until then what was sent before that may be executed. */
  readonly settledAtMs: number;
  readonly links: readonly Link[];
  /** The rows known of this follower; the broker is the record, they are a memory. */
  readonly rows: readonly PairRow[];
  readonly pairs: Pick<PairStore, "projectedEpoch" | "rowsOf">;
  readonly session: BrokerSession;
  readonly gate: Gate;
  readonly events: EventSink;
  /** Of the events of this ownership. */
  readonly numbers: Counter;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly journal: Journal;
  readonly limits: FollowerLimits;
  readonly onFailure: (error: unknown) => void;
  /** The broker refused the login: the session tries no more. */
  readonly onLoginRefused: (reason: string) => void;
}

export interface FollowerLimits {
  /** Orders of one follower under way at once. */
  readonly parallelism: number;
  readonly mailboxCapacity: number;
  /** How long after a call an unknown order may still be executed. */
  readonly settleMs: number;
  readonly reconcileEveryMs: number;
}

/** When a tick came in, for own time: our wall clock at the master's callback, monotonic clock at the reader. */
export interface TickTimes {
  readonly callbackAtMs: number;
  readonly readAtWallMs: number;
  readonly readAtMs: number;
}

/** The end of an order that belongs to no trade's row. */
export interface LooseAnswered {
  readonly kind: "loose_answered";
  readonly order: Order;
  readonly execution: Execution;
}

export interface Answered {
  readonly kind: "answered";
  readonly state: LinkCopies;
  readonly copy: Copy;
  readonly order: Order;
  /** The pair when the order was sent. */
  readonly sent: Pair;
  readonly execution: Execution;
  readonly handedAtMs: number;
  readonly times: TickTimes | null;
}

export type FollowerMessage =
  /** `readAtMs`: monotonic clock at the reader of the log. */
  | { readonly kind: "tick"; readonly tick: Tick; readonly readAtMs: number; readonly readAtWallMs: WallMs }
  /** `version`: the last tick that the targets contain; those up to it which still wait in the mailbox are done. `heardAtMs`: of the last live record, monotonic. */
  | { readonly kind: "book"; readonly master: AccountId; readonly targets: ReadonlyMap<Ticket, LiveTarget>; readonly version: MasterVersion; readonly clock: ClockReading | null; readonly heardAtMs: number | null }
  /** A sign of life without news. */
  | { readonly kind: "alive"; readonly master: AccountId; readonly clock: ClockReading }
  /** A hole in the master's ticks: nothing of it is known until the next book. */
  | { readonly kind: "master_unsynced"; readonly master: AccountId }
  | { readonly kind: "session"; readonly event: SessionEvent }
  | Answered
  | LooseAnswered
  | SnapshotMessage
  | CloseByHand
  | { readonly kind: "retry"; readonly state: LinkCopies; readonly copy: Copy }
  /** Levels waited for the market. */
  | { readonly kind: "market"; readonly state: LinkCopies; readonly copy: Copy }
  /** The ownership was confirmed after a fence, at a higher epoch. */
  | { readonly kind: "lift" }
  /** All rows, once what the former owners said is among them. */
  | { readonly kind: "rows"; readonly rows: readonly PairRow[] }
  /** All links of this follower as they are configured now. */
  | { readonly kind: "links"; readonly links: readonly Link[] };
