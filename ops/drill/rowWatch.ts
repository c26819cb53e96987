// Owns watching what the database says of leases and owners while a drill runs: on a connection of its own, past
// every proxy, on the database's clock.
//
// 1. Only changes are kept, and everything there was at first.
// 2. A poll that fails is no change; the next one may see again.

import type { AccountId, CellId } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { messageOf } from "../../protocol/errors.ts";
import { openDatabase, type Database, type SqlRow } from "../../storage/database.ts";
import type { LeaseChange, OwnerChange } from "./record.ts";

export interface RowWatchOptions {
  readonly databaseUrl: string;
  readonly cell: CellId;
  readonly clock: Clock;
  readonly logger: Logger;
}

const EVERY_MS = 100;
const ANSWER_LIMIT_MS = 5_000;
const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at_ms";
const LEASES = `SELECT node, boot, ended_boot, (extract(epoch FROM lease_until) * 1000)::float8 AS until_ms, ${NOW} FROM nodes WHERE cell = $1`;
const OWNERS = `SELECT id, node, boot, epoch, ${NOW} FROM trading_accounts WHERE cell = $1`;

export class RowWatch {
  readonly leases: LeaseChange[] = [];
  readonly owners: OwnerChange[] = [];
  readonly #options: RowWatchOptions;
  readonly #database: Database;
  readonly #lastLease = new Map<string, LeaseChange>();
  readonly #lastOwner = new Map<AccountId, OwnerChange>();
  #timer: Timer | null = null;
  #polling: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: RowWatchOptions) {
    this.#options = options;
    this.#database = openDatabase({ url: options.databaseUrl, applicationName: `lockstep ${options.cell} drill`, maxConnections: 1, connectTimeoutMs: ANSWER_LIMIT_MS, statementTimeoutMs: ANSWER_LIMIT_MS, logger: options.logger });
    this.#next(0);
  }

  /** As it was last seen. */
  leaseOf(node: string): LeaseChange | null {
    return this.#lastLease.get(node) ?? null;
  }

  ownerOf(account: AccountId): OwnerChange | null {
    return this.#lastOwner.get(account) ?? null;
  }

  /** Accounts whose rows name this boot. */
  accountsOf(boot: string): AccountId[] {
    return [...this.#lastOwner.values()].filter((owner) => owner.boot === boot).map(({ account }) => account);
  }

  /** Nothing is kept any more. Calling it twice does nothing more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#polling;
    await this.#database.close();
  }

  #next(afterMs: number): void {
    this.#timer = this.#options.clock.after(afterMs, () => {
      this.#polling = this.#poll().then(() => {
        if (!this.#stopped) this.#next(EVERY_MS);
      });
    });
  }

  async #poll(): Promise<void> {
    const { cell, logger } = this.#options;
    try {
      for (const row of await this.#database.query(LEASES, [cell])) this.#seeLease(leaseOf(row));
      for (const row of await this.#database.query(OWNERS, [cell])) this.#seeOwner(ownerOf(row));
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "the rows cannot be seen now"); // 2
    }
  }

  #seeLease(seen: LeaseChange): void {
    const last = this.#lastLease.get(seen.node);
    if (last?.boot === seen.boot && last.leaseUntilMs === seen.leaseUntilMs && last.endedBoot === seen.endedBoot) return;
    this.#lastLease.set(seen.node, seen);
    this.leases.push(seen); // 1
  }

  #seeOwner(seen: OwnerChange): void {
    const last = this.#lastOwner.get(seen.account);
    if (last?.boot === seen.boot && last.node === seen.node && last.epoch === seen.epoch) return;
    this.#lastOwner.set(seen.account, seen);
    this.owners.push(seen); // 1
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

function leaseOf(row: SqlRow): LeaseChange {
  return { atMs: Number(row["at_ms"]), node: String(row["node"]), boot: String(row["boot"]), leaseUntilMs: Number(row["until_ms"]), endedBoot: textOrNull(row["ended_boot"]) };
}

function ownerOf(row: SqlRow): OwnerChange {
  return { atMs: Number(row["at_ms"]), account: String(row["id"]) as AccountId, node: textOrNull(row["node"]), boot: textOrNull(row["boot"]), epoch: Number(row["epoch"]) };
}
