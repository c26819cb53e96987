// Owns what an account's session is told without asking: changes and quotes, in the turn in which
// they happen, unless a quirk holds them back or a fault swallows them.
//
// 1. Changes keep their order: while one is held, all after it are held too.
// 2. What is held is for the session that was there when it happened, and for no later one.
// 3. What is held is bounded: when full it is told, early as that is.

import type { AccountId } from "../../protocol/ids.ts";
import type { AccountChange, Quote } from "../../protocol/trades.ts";
import type { Connection } from "./connection.ts";
import type { BrokerLog } from "./log.ts";

const MAX_HELD = 10_000;

interface Held {
  readonly connection: Connection;
  readonly change: AccountChange;
}

export class Pushes {
  readonly #sessions: ReadonlyMap<AccountId, Connection>;
  readonly #log: BrokerLog;
  /** How many ask that changes be held. */
  readonly #holds = new Map<AccountId, number>();
  readonly #held = new Map<AccountId, Held[]>();
  /** How many changes are still to be swallowed. */
  readonly #missing = new Map<AccountId, number>();

  constructor(sessions: ReadonlyMap<AccountId, Connection>, log: BrokerLog) {
    this.#sessions = sessions;
    this.#log = log;
  }

  changed(account: AccountId, changes: readonly AccountChange[]): void {
    const connection = this.#sessions.get(account);
    if (connection === undefined) return;
    for (const change of changes) {
      if (this.#isMissed(account)) this.#log.append({ kind: "missed", account, change: change.kind });
      else this.#tell(account, { connection, change });
    }
  }

  quoted(account: AccountId, quotes: readonly Quote[]): void {
    this.#sessions.get(account)?.send({ t: "quotes", quotes });
  }

  /** Swallows the next `count` changes that a session would have been told. */
  miss(account: AccountId, count: number): void {
    this.#missing.set(account, (this.#missing.get(account) ?? 0) + count);
  }

  /** Holds the account's changes back until the returned function was called. */
  hold(account: AccountId): () => void {
    this.#holds.set(account, (this.#holds.get(account) ?? 0) + 1);
    return () => {
      const left = (this.#holds.get(account) ?? 1) - 1;
      this.#holds.set(account, left);
      if (left === 0) this.#flush(account);
    };
  }

  #tell(account: AccountId, one: Held): void {
    if ((this.#holds.get(account) ?? 0) === 0) return one.connection.send({ t: "change", change: one.change });
    const held = this.#held.get(account) ?? [];
    this.#held.set(account, held);
    held.push(one); // 1
    if (held.length >= MAX_HELD) this.#flush(account); // 3
  }

  #flush(account: AccountId): void {
    for (const { connection, change } of this.#held.get(account) ?? []) connection.send({ t: "change", change }); // 2
    this.#held.delete(account);
  }

  #isMissed(account: AccountId): boolean {
    const left = this.#missing.get(account) ?? 0;
    if (left > 0) this.#missing.set(account, left - 1);
    return left > 0;
  }
}
