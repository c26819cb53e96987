// Owns which accounts this boot of the node holds, each at its epoch and with its slot in the gate.
//
// 1. A slot is one account's for the life of the process: its epochs never open the gate for
//    another's waiting calls.
// 2. An ownership that was given back is over, whatever a list says that was read before.

import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { HeldAccount } from "../../protocol/ports/storage.ts";
import type { SharedGate } from "../executor/sharedGate.ts";

/** `over`: it was given back; `full`: the gate has no slot left for it. */
export type Taken = { readonly kind: "taken"; readonly slot: number } | { readonly kind: "known" | "over" | "full" };

export class HeldAccounts {
  readonly #gate: SharedGate;
  /** In the order in which they were taken. */
  readonly #held = new Map<AccountId, HeldAccount>();
  readonly #slots = new Map<AccountId, number>();
  readonly #givenBack = new Map<AccountId, Epoch>();

  constructor(gate: SharedGate) {
    this.#gate = gate;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Oldest first. */
  get all(): readonly HeldAccount[] {
    return [...this.#held.values()];
  }

  get(account: AccountId): HeldAccount | null {
    return this.#held.get(account) ?? null;
  }

  take(held: HeldAccount): Taken {
    if (this.#held.has(held.account)) return { kind: "known" };
    if ((this.#givenBack.get(held.account) ?? 0) >= held.epoch) return { kind: "over" }; // (2)
    const slot = this.#slots.get(held.account) ?? this.#slots.size; // (1)
    if (slot >= this.#gate.slots) return { kind: "full" };
    this.#slots.set(held.account, slot);
    this.#held.set(held.account, held);
    this.#gate.setEpoch(slot, held.epoch);
    return { kind: "taken", slot };
  }

  /** Nothing passes the gate for it from now on. False: it is not held so. */
  forget({ account, epoch }: HeldAccount): boolean {
    if (this.#held.get(account)?.epoch !== epoch) return false;
    this.#gate.clearSlot(this.#slots.get(account) ?? 0);
    return this.#held.delete(account);
  }

  /** Forgets it, and for good at this epoch. */
  giveBack(held: HeldAccount): void {
    this.forget(held);
    this.#givenBack.set(held.account, held.epoch);
  }
}
