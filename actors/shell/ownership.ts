// Owns under which epoch an actor acts: its orders carry it, its facts are stamped with it.
//
// 1. It only rises: what was sent or told under a lower one keeps that one.

import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { Permit } from "../../protocol/orders.ts";
import type { Subject } from "../../protocol/ports/journal.ts";

export class Ownership {
  readonly account: AccountId;
  #permit: Permit;
  #subject: Subject;

  constructor(account: AccountId, permit: Permit) {
    this.account = account;
    this.#permit = permit;
    this.#subject = { account, epoch: permit.epoch };
  }

  get permit(): Permit {
    return this.#permit;
  }

  get epoch(): Epoch {
    return this.#permit.epoch;
  }

  /** As the journal names it. */
  get subject(): Subject {
    return this.#subject;
  }

  /** It was confirmed at this epoch. False, and nothing is changed: it is at this one already, or at a higher one (1). */
  raise(epoch: Epoch): boolean {
    if (epoch <= this.#permit.epoch) return false;
    this.#permit = { slot: this.#permit.slot, epoch };
    this.#subject = { account: this.account, epoch };
    return true;
  }
}
