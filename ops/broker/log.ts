// Owns the form of the broker's log: everything that was asked of it and everything it did. A
// checker reads this file and the log, and needs nothing else of the broker.
//
// In a file it is JSON lines, one entry each, in the order of `n`. Volumes are units of 1e-8 lots;
// prices are points, 10^-digits of the symbol, and stand beside the digits they are in. Times are
// milliseconds since 1970 on the broker's own clock.
//
// 1. `n` rises by one from 1: a hole is a damaged log.
// 2. `request` comes before what it causes, and that before its `answer`; but what a fault makes
//    happen later may come after the answer, and a `late` entry after that says what became of it.
//    The deals of a quote come after the `quote`.
// 3. Every position and pending is given whole, as it stands after the entry. Folding `deal`,
//    `modified`, `grown`, `reticketed` and `pending` of one account gives all that is open on it.
// 4. Passwords are never in it.

import type { AccountId, Epoch, Ticket } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { AccountChange, ClosedPosition, PendingOrder, Platform, Position, RemovedPending } from "../../protocol/trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../protocol/units.ts";
import type { BrokerSymbol } from "./accounts.ts";
import type { Fault } from "./faults.ts";
import type { Quirks } from "./quirks.ts";

/** One trade event of an account. `position.symbol` and `.digits` are the account's own. */
export type TradeEvent =
  | { readonly kind: "deal"; readonly deal: "opened"; readonly position: Position }
  /**
   * `closed.reason`: `manual` when asked for, else the stop or target that a quote hit, or `stop_out`, the broker's own act.
   * The comment is the one in the history.
   */
  | { readonly kind: "deal"; readonly deal: "closed"; readonly closed: ClosedPosition }
  /**
   * `closed.position.volume` is the part, `rest` what lives on. MT4: the part keeps the old ticket, `rest` has a new one,
   * and their comments are `to #NEW` and `from #OLD`. MT5: both have the position's ticket and comment. One that the server
   * made by itself is `manual` too, as on the platforms; its `causeN` is null.
   */
  | { readonly kind: "deal"; readonly deal: "part_closed"; readonly closed: ClosedPosition; readonly rest: Position }
  /** Stop or target of a position are other than before. */
  | { readonly kind: "modified"; readonly before: Position; readonly position: Position }
  /**
   * MT5: `volume` more of a part-filled order, at `price`; `position` has it already. Where that is all of it, the position
   * had been closed meanwhile and stands again under its ticket.
   */
  | { readonly kind: "grown"; readonly position: Position; readonly volume: VolumeUnits; readonly price: Points }
  /** MT5: server work gave the position another ticket; `identifier` and all else are as `before`. */
  | { readonly kind: "reticketed"; readonly before: Position; readonly position: Position }
  | { readonly kind: "pending"; readonly step: "placed"; readonly pending: PendingOrder }
  /** Price, stop or target of a pending are other than before. */
  | { readonly kind: "pending"; readonly step: "changed"; readonly before: PendingOrder; readonly pending: PendingOrder }
  | { readonly kind: "pending"; readonly step: "removed"; readonly removed: RemovedPending }
  /** `pending` is gone, `position` stands in its place under the same ticket. There is no `deal` beside it. */
  | { readonly kind: "pending"; readonly step: "filled"; readonly pending: PendingOrder; readonly position: Position };

/** Who asked: the person at the terminal, or request `id` on a connection. Connections are numbered from 1 as they come. */
export type RequestSource = { readonly kind: "trader" } | { readonly kind: "connection"; readonly connection: number; readonly id: number };

export type BrokerLogFact =
  /** Written once an account, before anything else: how it trades, and which instrument each symbol takes its price from. */
  | {
      readonly kind: "account";
      readonly account: AccountId;
      readonly login: number;
      readonly platform: Platform;
      readonly company: string;
      readonly symbols: readonly BrokerSymbol[];
    }
  /**
   * Somebody tried to log in. `account` is null where nobody has that login; `client` is how the client named itself, null
   * where it did not; `refused` is null when it was let in.
   */
  | {
      readonly kind: "login";
      readonly account: AccountId | null;
      readonly connection: number;
      readonly login: number;
      readonly channel: "session" | "call";
      readonly client: string | null;
      readonly refused: string | null;
    }
  /** A connection ended. `account` is null when it never logged in. */
  | { readonly kind: "disconnect"; readonly account: AccountId | null; readonly connection: number; readonly cause: string }
  /**
   * An order arrived. `digits` are its symbol's on this account, null where it has no such symbol. The order is as it was sent.
   * `epoch` is the ownership under which its sender sent it, null where it did not say.
   */
  | { readonly kind: "request"; readonly account: AccountId; readonly by: RequestSource; readonly epoch: Epoch | null; readonly order: Order; readonly digits: number | null }
  /**
   * The end of a request: `requestN` is the `n` of its entry, `atMs` the moment of sending. `notSent` says why the asker never
   * got it, null when it was sent. `code` is the platform's own, null when the order had not been looked at by then.
   */
  | {
      readonly kind: "answer";
      readonly account: AccountId;
      readonly requestN: number;
      readonly code: number | null;
      readonly text: string;
      readonly ticket: Ticket | null;
      readonly volume: VolumeUnits;
      readonly price: Points | null;
      readonly notSent: string | null;
    }
  /**
   * What became of request `requestN`, or of the rest of one that was filled in part, later than its arrival. `code` and what
   * follows are what an answer would have said; nobody is told. What it did stands before it, with the request as `causeN`.
   */
  | {
      readonly kind: "late";
      readonly account: AccountId;
      readonly requestN: number;
      readonly code: number;
      readonly text: string;
      readonly ticket: Ticket | null;
      readonly volume: VolumeUnits;
      readonly price: Points | null;
    }
  /**
   * `causeN`: the `n` of the `request` or `quote` that caused it, null when the broker did it by itself: an expired pending,
   * the server's own part-close, a stop-out, a new ticket.
   */
  | (TradeEvent & { readonly account: AccountId; readonly causeN: number | null })
  /** The price of an instrument from now on, for all accounts, in points of the instrument's `digits`. */
  | { readonly kind: "quote"; readonly account: null; readonly instrument: string; readonly bid: Points; readonly ask: Points; readonly digits: number }
  /** A fault took hold: on the request `requestN`, or on the account's connections (null). A `heal` by the clock is here too. */
  | { readonly kind: "fault"; readonly account: AccountId; readonly fault: Fault; readonly requestN: number | null }
  /** A change that the trade entry before it brought about was not told to the account's session: fault `miss_changes`. */
  | { readonly kind: "missed"; readonly account: AccountId; readonly change: AccountChange["kind"] }
  /** The account's standing quirks from now on, all of them. Before the first such entry it has none. */
  | { readonly kind: "quirks"; readonly account: AccountId; readonly quirks: Quirks };

export type BrokerLogEntry = { readonly n: number; readonly atMs: BrokerMs } & BrokerLogFact;

/** Where entries go. The two of this broker are in logSinks.ts. */
export interface BrokerLogSink {
  /** Called in the order of `n`. May buffer, up to a bound of its own. */
  write(entry: BrokerLogEntry): void;
  /** Everything written so far is where it belongs when it returns. */
  flush(): void;
  /** Flushes; nothing may be written afterwards. */
  close(): void;
}

/** Numbers and dates the facts, and hands them to every sink. */
export class BrokerLog {
  readonly #sinks: readonly BrokerLogSink[];
  readonly #nowMs: () => BrokerMs;
  #last = 0;

  constructor(sinks: readonly BrokerLogSink[], nowMs: () => BrokerMs) {
    this.#sinks = sinks;
    this.#nowMs = nowMs;
  }

  /** Returns the entry's `n`. */
  append(fact: BrokerLogFact): number {
    this.#last += 1; // 1
    const entry: BrokerLogEntry = { n: this.#last, atMs: this.#nowMs(), ...fact };
    for (const sink of this.#sinks) sink.write(entry);
    return entry.n;
  }

  flush(): void {
    for (const sink of this.#sinks) sink.flush();
  }

  close(): void {
    for (const sink of this.#sinks) sink.close();
  }
}
