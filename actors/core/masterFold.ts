// Owns how a reader of the log follows one master: which ticks are folded, when a hole stops it,
// and when a book puts it right again.
//
// 1. A tick below the highest epoch seen is a zombie's, one at or below the folded seq a repeat.
// 2. After a hole nothing is handed on until a book at or above the highest (epoch, seq) known to
//    lie in the hole arrives; what lay in the hole is for reconcile, never traded as new.
// 3. Ticks behind the hole wait in a bounded buffer; when the book closes the hole they are new.
// 4. A book from before the reader's start may lack ticks that were written after it and that nobody
//    reads any more: it is believed once a live record follows it without a hole.

import type { Epoch, Seq, Ticket } from "../../protocol/ids.ts";
import { compareVersions, type Book, type MasterPending, type MasterPosition, type Tick } from "../../protocol/ticks.ts";
import { unreachable } from "../../protocol/errors.ts";
import type { BrokerMs } from "../../protocol/units.ts";

export interface MasterFold {
  readonly epoch: Epoch;
  /** The last folded seq. */
  readonly seq: Seq;
  /** False until a book has been taken, and while there is a hole. */
  readonly synced: boolean;
  /** The least delayed reading of the master broker's clock; null until a record came live. */
  readonly clock: ClockReading | null;
  /** When the last live record came that was not a zombie's, monotonic: much later than the least delayed reading as a rule. */
  readonly heardAtMs: number | null;
  /** By master ticket. */
  readonly positions: Map<Ticket, MasterPosition>;
  readonly pendings: Map<Ticket, MasterPending>;
  /** While not synced: ticks that wait for a book, in order. */
  readonly waiting: readonly Tick[];
}

/** A broker's clock as a record carried it, and our monotonic clock when the record was read. */
export interface ClockReading {
  readonly brokerMs: BrokerMs;
  readonly atMs: number;
}

export const MAX_WAITING = 1_000;

export const newFold = (): MasterFold => ({
  epoch: 0 as Epoch,
  seq: 0 as Seq,
  synced: false,
  clock: null,
  heardAtMs: null,
  positions: new Map(),
  pendings: new Map(),
  waiting: [],
});

export interface FoldStep {
  readonly fold: MasterFold;
  /** New ticks for the followers, in order. */
  readonly fresh: readonly Tick[];
  /** The fold was replaced by a book: every follower has to reconcile before it takes `fresh`. */
  readonly replaced: boolean;
  /** `stale` and `repeated` were dropped; `gap` means that this record showed a hole. */
  readonly verdict: "folded" | "waiting" | "stale" | "repeated" | "gap";
}

/** Folds one tick. Maps of the fold are changed in place: a fold has one owner. */
export function foldTick(before: MasterFold, tick: Tick, readAtMs: number): FoldStep {
  const step = (next: MasterFold, verdict: FoldStep["verdict"], fresh: readonly Tick[] = []): FoldStep => ({ fold: next, verdict, fresh, replaced: false });
  if (tick.epoch < highestEpoch(before)) return step(withClock(before, tick.brokerNowMs, readAtMs), "stale");
  const fold = heard(before, tick.brokerNowMs, readAtMs);
  if (tick.epoch === fold.epoch && fold.synced) {
    const alive = tick.body.kind === "alive";
    if (tick.seq <= fold.seq) return step(fold, alive && tick.seq === fold.seq ? "folded" : "repeated");
    if (tick.seq === fold.seq + 1 && !alive) return step(apply(fold, tick), "folded", [tick]);
    return step({ ...fold, synced: false, waiting: [tick] }, "gap");
  }
  if (tick.epoch > fold.epoch && fold.synced) return step({ ...fold, synced: false, waiting: [tick] }, "gap");
  if (tick.epoch === fold.epoch && fold.epoch > 0 && fold.waiting.length === 0) {
    if (tick.seq < fold.seq || (tick.seq === fold.seq && tick.body.kind !== "alive")) return step(fold, "repeated");
    if (follows(fold, tick)) return { fold: { ...apply(fold, tick), synced: true }, fresh: tick.body.kind === "alive" ? [] : [tick], replaced: true, verdict: "folded" }; // 4
  }
  return step({ ...fold, waiting: [...fold.waiting, tick].slice(-MAX_WAITING) }, "waiting");
}

/**
 * Takes a book. While synced, one of the same epoch only confirms, and one that is ahead of the
 * ticks is left to them (`ahead`: the caller offers it again with `force` when the ticks do not come).
 * @param readAtMs monotonic; null for a book from before the reader's start (invariant 4), which also says nothing about the clock now
 */
export function foldBook(before: MasterFold, book: Book, readAtMs: number | null, force = false): FoldStep & { readonly ahead: boolean } {
  const fold = readAtMs === null || book.epoch < highestEpoch(before) ? before : heard(before, book.brokerNowMs, readAtMs);
  const keep = { fold, fresh: [], replaced: false, ahead: false } as const;
  const order = compareVersions(book, fold);
  if (order < 0 || (fold.synced && order === 0) || book.epoch < highestEpoch(fold)) return { ...keep, verdict: "stale" };
  if (fold.synced && book.epoch === fold.epoch && !force) return { ...keep, verdict: "waiting", ahead: true };
  // Waiting ticks the book contains are done; the rest must follow it without a hole.
  const behind = fold.waiting.filter((tick) => compareVersions(tick, book) > 0);
  let next: MasterFold = {
    ...fold,
    epoch: book.epoch,
    seq: book.seq,
    synced: true,
    positions: new Map(book.positions.map((position) => [position.masterTicket, position])),
    pendings: new Map(book.pendings.map((pending) => [pending.masterTicket, pending])),
    waiting: [],
  };
  const fresh: Tick[] = [];
  for (const [index, tick] of behind.entries()) {
    if (tick.epoch === next.epoch && tick.seq <= next.seq) continue;
    if (!follows(next, tick)) {
      // Invariant 2: a second hole behind the book; wait for the next one.
      return { fold: { ...next, synced: false, waiting: behind.slice(index) }, fresh: [], replaced: false, verdict: "gap", ahead: false };
    }
    next = apply(next, tick);
    fresh.push(tick);
  }
  if (readAtMs === null && fresh.length === 0) return { ...keep, fold: { ...next, synced: false }, verdict: "waiting" }; // 4
  return { fold: next, fresh, replaced: true, verdict: "folded", ahead: false };
}

/** Whether nothing can lie between the fold and this tick. */
const follows = (fold: MasterFold, { epoch, seq, body }: Tick): boolean => epoch === fold.epoch && seq === (body.kind === "alive" ? fold.seq : fold.seq + 1);

/** Invariant 1. Waiting ticks come with rising epochs: an older one is stale by then. */
const highestEpoch = (fold: MasterFold): Epoch => fold.waiting.at(-1)?.epoch ?? fold.epoch;

/** A live record of whoever owns the master. */
const heard = (fold: MasterFold, brokerMs: BrokerMs, atMs: number): MasterFold => ({ ...withClock(fold, brokerMs, atMs), heardAtMs: atMs });

/** A record that came late reads the clock too low: the highest reading, carried forward, is the best. */
function withClock(fold: MasterFold, brokerMs: BrokerMs, atMs: number): MasterFold {
  const better = fold.clock === null || brokerMs - atMs > fold.clock.brokerMs - fold.clock.atMs;
  return better ? { ...fold, clock: { brokerMs, atMs } } : fold;
}

function apply(fold: MasterFold, tick: Tick): MasterFold {
  const { body } = tick;
  switch (body.kind) {
    case "opened":
    case "part_closed":
    case "modified":
      fold.positions.set(body.position.masterTicket, body.position);
      break;
    case "pending_filled":
      fold.pendings.delete(body.position.masterTicket);
      fold.positions.set(body.position.masterTicket, body.position);
      break;
    case "closed":
      fold.positions.delete(body.masterTicket);
      break;
    case "pending_placed":
    case "pending_changed":
      fold.pendings.set(body.pending.masterTicket, body.pending);
      break;
    case "pending_cancelled":
      fold.pendings.delete(body.masterTicket);
      break;
    case "alive":
      break;
    default:
      unreachable(body);
  }
  return { ...fold, seq: tick.seq };
}
