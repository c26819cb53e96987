// Owns who had an account when, by its rows as they were polled.
//
// 1. An epoch is one tenure. What a poll did not see is not there: an epoch of less than a poll's pause has sent
//    nothing, since a session takes longer.
// 2. A tenure is seen up to a poll's pause after it began: whoever asks who had the account at a moment may be told
//    of the one before, and never of one that was yet to come.

import type { AccountId } from "../../../protocol/ids.ts";
import type { OwnerChange } from "../record.ts";
import { isSame, type Owner } from "./leases.ts";

export interface Tenure {
  /** Null: the row named nobody. */
  readonly owner: Owner | null;
  readonly epoch: number;
  /** When it was seen first, and when something else was. */
  readonly fromMs: number;
  readonly untilMs: number;
}

export class Tenures {
  readonly #of = new Map<AccountId, Tenure[]>();

  constructor(changes: readonly OwnerChange[]) {
    for (const { account, node, boot, epoch, atMs: fromMs } of [...changes].sort((a, b) => a.atMs - b.atMs)) {
      const owner = node === null || boot === null ? null : { node, boot };
      const all = this.#of.get(account) ?? [];
      this.#of.set(account, all);
      const last = all.at(-1);
      if (last !== undefined && last.epoch === epoch && isSame(last.owner, owner)) continue;
      if (last !== undefined) all[all.length - 1] = { ...last, untilMs: fromMs };
      all.push({ owner, epoch, fromMs, untilMs: Infinity });
    }
  }

  /** In order. */
  of(account: AccountId): readonly Tenure[] {
    return this.#of.get(account) ?? [];
  }

  /** As it was seen at that moment; null before anything was seen. */
  at(account: AccountId, atMs: number): Tenure | null {
    return this.of(account).findLast(({ fromMs }) => fromMs <= atMs) ?? null;
  }

  /** The tenure of an epoch, owned. */
  ofEpoch(account: AccountId, epoch: number): (Tenure & { readonly owner: Owner }) | null {
    return this.of(account).find((tenure): tenure is Tenure & { readonly owner: Owner } => tenure.epoch === epoch && tenure.owner !== null) ?? null;
  }

  /** The first acquisition that was seen after that moment, by whomever. */
  acquiredAfter(account: AccountId, atMs: number): (Tenure & { readonly owner: Owner }) | null {
    return this.of(account).find((tenure): tenure is Tenure & { readonly owner: Owner } => tenure.fromMs > atMs && tenure.owner !== null) ?? null;
  }
}
