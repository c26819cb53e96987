// Owns which accounts this boot of the node holds, each at its epoch and with its slot in the gate.
//
// 1. A slot is one holding's: none is given twice in the life of the process, so that nothing that still waits for a call
//    under one that has ended finds the gate open. Its place in the gate's memory goes to the next holding (SharedGate 6).
// 2. An ownership that was given back is over, whatever a list says that was read before.
// 3. The slot holds an epoch only while that is confirmed: nothing but the answer to a claim or a take
//    confirms. What is held and not confirmed passes no gate, whatever the fence is at.

import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { HeldAccount } from "../../protocol/ports/storage.ts";
import type { SharedGate } from "../executor/sharedGate.ts";

/** One ownership, as long as it lasts: its epoch rises each time it is confirmed. */
export interface Holding {
  readonly account: AccountId;
  readonly slot: number;
  readonly epoch: Epoch;
  readonly confirmed: boolean;
}

/** `known`: it is held already; `full`: every place of the gate is taken. */
export type Taken = { readonly kind: "taken"; readonly slot: number } | { readonly kind: "known" | "full" };

interface Entry extends Holding {
  epoch: Epoch;
  confirmed: boolean;
}

interface GivenBack {
  readonly epoch: Epoch;
  /** Monotonic: until then an order of ours may be executed. */
  readonly unsettledUntilMs: number;
}

export class HeldAccounts {
  readonly #gate: SharedGate;
  /** In the order in which they were taken. */
  readonly #held = new Map<AccountId, Entry>();
  /** The next slots of the places that were used before, and of the first that was not. */
  readonly #freeSlots: number[] = [];
  #unusedSlot = 0;
  readonly #givenBack = new Map<AccountId, GivenBack>();

  constructor(gate: SharedGate) {
    this.#gate = gate;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Oldest first, as they are now. */
  get all(): readonly HeldAccount[] {
    return [...this.#held.values()].map(({ account, epoch }) => ({ account, epoch }));
  }

  /** Oldest first. */
  get holdings(): readonly Holding[] {
    return [...this.#held.values()];
  }

  get(account: AccountId): Holding | null {
    return this.#held.get(account) ?? null;
  }

  /** A claim's or take's answer for an account that was not held. */
  take({ account, epoch }: HeldAccount): Taken {
    if (this.#held.has(account)) return { kind: "known" };
    const slot = this.#nextSlot();
    if (slot === null) return { kind: "full" };
    this.#held.set(account, { account, slot, epoch, confirmed: true });
    this.#gate.setEpoch(slot, epoch);
    return { kind: "taken", slot };
  }

  /** A take's answer for one that is held: it goes on at the new epoch. False: it is held no more. */
  confirm({ account, epoch }: HeldAccount): boolean {
    const entry = this.#held.get(account);
    if (entry === undefined) return false;
    entry.epoch = epoch;
    entry.confirmed = true;
    this.#gate.setEpoch(entry.slot, epoch);
    return true;
  }

  /** It is at this epoch, and that is not confirmed (3). */
  unconfirm({ account, epoch }: HeldAccount): void {
    const entry = this.#held.get(account);
    if (entry === undefined) return;
    this.#gate.clearSlot(entry.slot);
    entry.epoch = epoch;
    entry.confirmed = false;
  }

  /** The lease under which they were confirmed may have ended meanwhile. */
  unconfirmAll(): void {
    for (const held of this.all) this.unconfirm(held);
  }

  /** Nothing passes the gate for it from now on. */
  forget(account: AccountId): void {
    const entry = this.#held.get(account);
    if (entry === undefined) return;
    this.#gate.clearSlot(entry.slot);
    this.#freeSlots.push(entry.slot + this.#gate.places); // (1)
    this.#held.delete(account);
  }

  /** Forgets it, and for good at this epoch. */
  giveBack({ account, epoch }: HeldAccount, unsettledUntilMs: number): void {
    this.forget(account);
    this.#givenBack.set(account, { epoch, unsettledUntilMs });
  }

  /** Invariant 2. */
  isOver({ account, epoch }: HeldAccount): boolean {
    return (this.#givenBack.get(account)?.epoch ?? 0) >= epoch;
  }

  /** For how long an order may still be executed that was sent under an ownership that was given back. */
  unsettledMs(account: AccountId, nowMs: number): number {
    return Math.max(0, (this.#givenBack.get(account)?.unsettledUntilMs ?? 0) - nowMs);
  }

  #nextSlot(): number | null {
    const free = this.#freeSlots.pop();
    if (free !== undefined) return free;
    return this.#unusedSlot < this.#gate.places ? this.#unusedSlot++ : null;
  }
}
