// Owns the comparison of what a renewal's list gives to this node with what the node thought it held.
//
// 1. The list is compared with what was held when the renewal was sent. What changed since is left for
//    the next one: a claim's or take's answer that was handled meanwhile may be newer than the list, or older.
// 2. An account that is missing is lost. One listed at another epoch is still ours: only the answer to a
//    take is lost, or still on its way.
// 3. An account that is listed and not known is one whose claim was never answered.

import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { HeldAccount } from "../../protocol/ports/storage.ts";

export interface Compared {
  /** As they are held here. */
  readonly lost: readonly HeldAccount[];
  /** As they are listed. */
  readonly moved: readonly HeldAccount[];
  /** As they are listed. */
  readonly unknown: readonly HeldAccount[];
}

export function compareOwned(heldThen: readonly HeldAccount[], heldNow: readonly HeldAccount[], listed: readonly HeldAccount[]): Compared {
  const [now, mine] = [epochs(heldNow), epochs(listed)];
  const unchanged = heldThen.filter(({ account, epoch }) => now.get(account) === epoch); // (1)
  return {
    lost: unchanged.filter(({ account }) => !mine.has(account)),
    moved: unchanged.flatMap(({ account, epoch }) => {
      const at = mine.get(account) ?? epoch;
      return at === epoch ? [] : [{ account, epoch: at }];
    }),
    unknown: listed.filter(({ account }) => !now.has(account)),
  };
}

const epochs = (accounts: readonly HeldAccount[]): ReadonlyMap<AccountId, Epoch> => new Map(accounts.map(({ account, epoch }) => [account, epoch]));
