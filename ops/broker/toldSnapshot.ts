// Owns what a client is told of an account: the truth, or what platforms say in its place while they
// load, or when they lie.
//
// 1. The past is kept only while somebody is lied to with it, and is bounded in age and number.

import { unreachable } from "../../protocol/errors.ts";
import type { AccountSnapshot, PendingOrder, Position } from "../../protocol/trades.ts";
import type { BrokerMs } from "../../protocol/units.ts";

interface Lasting {
  /** From each login on, for the snapshots asked for on that connection; null for all, while the quirk stands. */
  readonly forMs: number | null;
}

export type SnapshotQuirk =
  /** `synced` false and nothing in it: the broker still loads. */
  | ({ readonly kind: "unsynced" } & Lasting)
  /** A lie: `synced` true and nothing in it. */
  | ({ readonly kind: "empty" } & Lasting)
  /** A lie: `synced` true, taken now, as it was `ageMs` ago; never older than the quirk. */
  | ({ readonly kind: "stale"; readonly ageMs: number } & Lasting);

/** `sinceLoginMs`: how long the asking connection is logged in. `past`: kept since a stale quirk stands. */
export function toldSnapshot(truth: AccountSnapshot, quirk: SnapshotQuirk | null, sinceLoginMs: number, past: Past | null): AccountSnapshot {
  if (quirk === null || (quirk.forMs !== null && sinceLoginMs >= quirk.forMs)) return truth;
  switch (quirk.kind) {
    case "unsynced":
      return { ...nothingOf(truth), synced: false };
    case "empty":
      return nothingOf(truth);
    case "stale":
      return past === null ? truth : asItWas(truth, past, (truth.takenAtMs - quirk.ageMs) as BrokerMs);
    default:
      return unreachable(quirk);
  }
}

const nothingOf = ({ account, takenAtMs, synced }: AccountSnapshot): AccountSnapshot => ({ account, takenAtMs, synced, positions: [], pendings: [], closed: [], removed: [] });

function asItWas(truth: AccountSnapshot, past: Past, atMs: BrokerMs): AccountSnapshot {
  const { sinceMs, positions, pendings } = past.at(atMs);
  const untilMs = Math.max(atMs, sinceMs);
  return {
    ...truth,
    positions,
    pendings,
    closed: truth.closed.filter(({ closeTimeMs }) => closeTimeMs <= untilMs),
    removed: truth.removed.filter(({ removedTimeMs }) => removedTimeMs <= untilMs),
  };
}

/** What stood from `sinceMs` on, until something changed. */
interface Standing {
  readonly sinceMs: BrokerMs;
  readonly positions: readonly Position[];
  readonly pendings: readonly PendingOrder[];
}

const MAX_KEPT = 10_000;

export class Past {
  readonly #ageMs: number;
  readonly #kept: Standing[];

  /** Can tell of any moment of the last `ageMs`, and of none before `first`. */
  constructor(ageMs: number, first: Standing) {
    this.#ageMs = ageMs;
    this.#kept = [first];
  }

  keep(standing: Standing): void {
    this.#kept.push(standing);
    const oldest = this.#kept.findLastIndex(({ sinceMs }) => sinceMs <= standing.sinceMs - this.#ageMs);
    this.#kept.splice(0, Math.max(oldest, this.#kept.length - MAX_KEPT, 0)); // 1
  }

  at(atMs: BrokerMs): Standing {
    const found = this.#kept.findLast(({ sinceMs }) => sinceMs <= atMs) ?? this.#kept[0];
    if (found === undefined) throw new Error("nothing was kept");
    return found;
  }
}
