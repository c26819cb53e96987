// Owns the port for numbers that are watched: counters and own time. Feeding it is never on the
// path of an order; labels are few and never an account.

/** Own time of one order that a tick caused, in milliseconds. */
export interface OwnTime {
  /** Broker's callback to the reader of the log. */
  readonly signalMs: number;
  /** Reader to the hand-over to the broker session. */
  readonly decideMs: number;
  /** Hand-over to the call. */
  readonly laneMs: number;
}

export type CounterName =
  | "ticks_stale"
  | "ticks_gap"
  | "ticks_unreadable"
  | "orders_dropped"
  | "orders_unknown"
  | "orders_refused"
  | "copies_missing"
  | "reconcile_runs"
  | "reconcile_drift"
  | "events_waiting_full"
  | "mailbox_full"
  | "actor_restarts"
  | "rows_written"
  | "rows_fenced"
  | "rows_rejected"
  | "lease_trips";

export interface Metrics {
  count(name: CounterName, by?: number): void;
  ownTime(sample: OwnTime): void;
}
