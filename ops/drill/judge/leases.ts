// Owns when each boot of a node had a live lease, by the rows that were polled.
//
// 1. A row says more than when it was seen: a renewal was at `lease_until - ttl`, an end for good is where the
//    row of an ended boot says that its lease ended. So what a row says is exact, however late it was seen.
// 2. A renewal that no poll saw can only make a lease look shorter, and only if the next one came after the
//    lease before it had run out: then they are two windows, as they are where it truly lapsed.

import type { LeaseChange } from "../record.ts";

export interface Owner {
  readonly node: string;
  readonly boot: string;
}

export interface Renewal {
  readonly atMs: number;
  readonly untilMs: number;
}

/** As long as the lease was live without a break. */
export interface LeaseWindow {
  readonly fromMs: number;
  readonly untilMs: number;
  /** It was ended for good; else it ran out, or is live. */
  readonly isEnded: boolean;
}

export const ownerText = ({ node, boot }: Owner): string => `${node}/${boot}`;
export const isSame = (a: Owner | null, b: Owner | null): boolean => a?.node === b?.node && a?.boot === b?.boot;

const CLOCK_STEP_MS = 1;

export class Leases {
  readonly #renewals = new Map<string, Renewal[]>();
  readonly #endedMs = new Map<string, number>();
  readonly #windows = new Map<string, readonly LeaseWindow[]>();

  constructor(changes: readonly LeaseChange[], ttlMs: number) {
    for (const change of [...changes].sort((a, b) => a.atMs - b.atMs)) {
      const { boot, endedBoot, leaseUntilMs: untilMs } = change;
      const name = ownerText(change);
      if (endedBoot === boot) {
        if (!this.#endedMs.has(name)) this.#endedMs.set(name, untilMs); // 1
        continue;
      }
      const renewals = this.#renewals.get(name) ?? [];
      if (renewals.at(-1)?.untilMs !== untilMs) renewals.push({ atMs: untilMs - ttlMs, untilMs }); // 1
      this.#renewals.set(name, renewals);
    }
  }

  /** In order. */
  renewalsOf(owner: Owner): readonly Renewal[] {
    return this.#renewals.get(ownerText(owner)) ?? [];
  }

  /** When its lease was ended for good; null: it was not. */
  endOf(owner: Owner): number | null {
    return this.#endedMs.get(ownerText(owner)) ?? null;
  }

  /** In order. */
  windowsOf(owner: Owner): readonly LeaseWindow[] {
    const name = ownerText(owner);
    const known = this.#windows.get(name) ?? this.#fold(owner);
    this.#windows.set(name, known);
    return known;
  }

  #fold(owner: Owner): LeaseWindow[] {
    const windows: LeaseWindow[] = [];
    for (const { atMs, untilMs } of this.renewalsOf(owner)) {
      const last = windows.at(-1);
      if (last === undefined || atMs > last.untilMs + CLOCK_STEP_MS) windows.push({ fromMs: atMs, untilMs, isEnded: false }); // 2
      else windows[windows.length - 1] = { ...last, untilMs };
    }
    const endedMs = this.endOf(owner);
    const last = windows.at(-1);
    if (endedMs !== null && last !== undefined) windows[windows.length - 1] = { ...last, untilMs: endedMs, isEnded: true };
    return windows;
  }

  /** The window in which this moment lies; null where the lease was not live then. */
  windowAt(owner: Owner, atMs: number): LeaseWindow | null {
    return this.windowsOf(owner).find(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs) ?? null;
  }
}
