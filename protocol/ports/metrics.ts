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

/** Everything that is counted, with what it means. */
export const COUNTERS = {
  ticks_stale: "ticks of a lower epoch, or seen before",
  ticks_gap: "holes in a master's ticks",
  ticks_fenced: "ticks that were not said because the lease was not proven",
  ticks_unreadable: "ticks and books that cannot be read",
  orders_dropped: "orders dropped before the call",
  orders_unknown: "orders whose outcome is not known",
  orders_refused: "orders that a broker refused",
  copies_missing: "copies found neither open nor in the history",
  reconcile_runs: "plans made",
  reconcile_drift: "routine plans that were not empty",
  barriers_late: "takeovers that went on without all that the former owners said",
  events_waiting_full: "pair events that found the buffer full",
  events_refused: "pair events that the log refuses for their own sake",
  events_gap: "times that retention took pair events before a writer read them",
  mailbox_full: "messages that found a mailbox full",
  actor_restarts: "actors that failed",
  rows_written: "pair events that became rows",
  rows_fenced: "pair events that the owner's fence or a newer version kept out",
  rows_rejected: "pair events kept aside for their own sake",
  batches_retried: "times that rows were kept because the database did not take them then",
  batches_refused: "times that rows were kept because the database refuses them for no row's sake",
  commits_unknown: "commits whose answer was lost, settled by reading back",
  replay_dropped: "entries of the timeline that the replay topic does not have",
  lease_trips: "times that the fence closed",
  wall_clock_jumps: "times that the wall clock and the monotonic clock of this machine went apart",
  database_clock_jumps: "times that the database's clock or timeline was another one",
} as const;

export type CounterName = keyof typeof COUNTERS;

export interface Metrics {
  count(name: CounterName, by?: number): void;
  ownTime(sample: OwnTime): void;
  /** How old facts were when their rows were committed, in milliseconds: since their owner heard of them. */
  factsWritten(agesMs: readonly number[]): void;
}
