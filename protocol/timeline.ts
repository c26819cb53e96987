// Owns the timeline: what happened, to whom, in what order, and what each decision rested on. Nodes
// write it to the replay topic; drills, postmortems and simulator traces read the same type.
//
// 1. An entry says what was known when it was decided: nobody has to guess it afterwards.
// 2. Nothing that trades ever reads one.
// 3. A new event is a new name; a name keeps its meaning for ever, since old records are read by new code.

import type { AccountId, BootId, Epoch, NodeId } from "./ids.ts";
import type { WallMs } from "./units.ts";

/** Everything that is told, with what it means. */
export const TIMELINE_EVENTS = {
  // The lease of a node.
  renewed: "the lease was renewed",
  renew_failed: "a renewal was not answered, or refused",
  fenced: "the gate was closed: the lease cannot be proven",
  lease_end: "the lease itself has run out while the gate was closed",
  confirmed: "the account is still this node's, at a raised epoch",
  lifted: "the gate was opened",
  clock_jumped: "the database's clock or timeline is another one",
  // The ownership of an account.
  claimed: "the account came to this node, at a raised epoch",
  forgotten: "the account is another node's, or nobody's: its session is closed at once",
  released: "the account was given back",
  given_up: "the account cannot be served here: it is left to others for a while",
  // A follower's way into trading.
  marker: "the log has acknowledged this ownership's marker",
  session_open: "the broker session is connected and synced",
  session_lost: "the broker session is gone",
  barrier: "what the former owners said is in the database",
  barrier_late: "the barrier did not pass in time: the broker is the record",
  settled: "what the former owner sent can no longer be executed",
  plan: "a reconcile was planned",
  // A master, as a node reads it.
  gap: "a hole in the master's ticks: nothing of it is concluded before a book closes it",
  stale: "a tick of a lower epoch was not obeyed",
  refolded: "a book put right what was known of the master",
  // Decisions about one trade.
  tick: "a master's tick was read, and what was decided on it",
  dropped: "work was dropped at the gate",
  order: "an order was handed over",
  answer: "an order's outcome",
  pair: "a pair changed",
  asked: "a person asked for a position's close, and what came of it",
  // A master, as its owner tells of it.
  book: "a book was said",
  said: "a tick was said",
  // What is seen from outside by a drill.
  fault: "the drill struck",
  heal: "the drill healed it",
  first_order: "the first order of a new owner reached the broker",
  last_order: "the last order of the old owner reached the broker",
} as const;

export type TimelineEvent = keyof typeof TIMELINE_EVENTS;

/** Those of single trades: many. All others tell of the life of a node or an account, and are few. */
export const TRADE_EVENTS: ReadonlySet<TimelineEvent> = new Set<TimelineEvent>(["tick", "order", "answer", "pair", "book", "said", "stale"]);

/** Flat, so that one line can show it. */
export type TimelineDetail = Readonly<Record<string, string | number | boolean | null>>;

export interface TimelineEntry {
  /** The wall clock of who says it, fractions kept. */
  readonly atMs: WallMs;
  /** Null: seen from outside, by nobody's node. */
  readonly node: NodeId | null;
  readonly boot: BootId | null;
  /** Null: of the whole node. */
  readonly account: AccountId | null;
  /** The account's, of which this is told; null where there is none. */
  readonly epoch: Epoch | null;
  readonly event: TimelineEvent;
  readonly detail: TimelineDetail;
}
