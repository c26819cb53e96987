// Owns the twins' tables: what Postgres holds for all cells, in memory, on an injected clock.
//
// 1. A call does all its work in the turn it is made in, as one statement does: calls of two nodes
//    interleave between calls only, and whoever comes second loses.

import type { Account, Link } from "../../protocol/accounts.ts";
import type { AccountStateEvent } from "../../protocol/accountState.ts";
import type { BootId, CellId, Epoch, NodeId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { NodeReport, PairRow } from "../../protocol/ports/storage.ts";
import type { Storage } from "../storage.ts";
import { memoryDirectory } from "./directory.ts";
import { memoryOverview } from "./overview.ts";
import { memoryPairStore } from "./pairStore.ts";
import { memoryRegistry } from "./registry.ts";
import { memoryUptime } from "./uptime.ts";

export interface NodeRow {
  readonly boot: BootId;
  /** These are on the database's clock. */
  readonly leaseUntilMs: number;
  readonly startedAtMs: number;
  readonly liveSinceMs: number;
  readonly endedBoot: BootId | null;
  readonly report: NodeReport;
}

export interface AccountRow {
  readonly account: Account;
  readonly owner: { readonly node: NodeId; readonly boot: BootId } | null;
  readonly epoch: Epoch;
  readonly projectedEpoch: Epoch;
  /** Its broker's reason why nobody should log in for now. */
  readonly parked: string | null;
  /** Not free before this moment of the database's clock: when it was put in, given back, or enabled or unparked again. */
  readonly freedAtMs: number;
  /** On the database's clock: until then an order of a former owner may still be executed; null where nobody ever had it. */
  readonly settleUntilMs: number | null;
}

/** The server of the moment. */
export class MemoryServer {
  readonly #clock: Clock;
  #aheadMs = 0;
  #timeline = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The injected clock's monotonic time, and as much ahead of it as fail-overs made it. */
  nowMs(): number {
    return this.#clock.monotonicMs() + this.#aheadMs;
  }

  get timeline(): number {
    return this.#timeline;
  }

  /** Another server goes on with the same tables, its clock ahead by so much. */
  failOver(jumpMs: number): void {
    this.#aheadMs += jumpMs;
    this.#timeline += 1;
  }
}

/** One cell's tables. Rows are never changed, only replaced. */
export interface MemoryCell {
  readonly name: CellId;
  readonly clock: Clock;
  /** What all of the cell's tables stand on. */
  readonly server: MemoryServer;
  /** Of the log; null until the first node asks. */
  partitions: number | null;
  /** Of accounts and links. */
  version: number;
  readonly nodes: Map<string, NodeRow>;
  accounts: Map<string, AccountRow>;
  links: Map<string, Link>;
  /** By `pairKey`. */
  pairs: Map<string, PairRow>;
  /** What owners said last of accounts. */
  states: Map<string, AccountStateEvent>;
  /** Rejected events by their JSON text. */
  readonly rejected: Map<string, { readonly code: string; readonly text: string }>;
  /** By node, then by the start of the minute. */
  readonly uptime: Map<string, Map<number, string>>;
}

/** A database that lives as long as this object: the embedded stand-in for tests and simulations. */
export class MemoryDatabase {
  readonly server: MemoryServer;
  readonly #clock: Clock;
  readonly #cells = new Map<CellId, MemoryCell>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.server = new MemoryServer(clock);
  }

  storage(cell: CellId): Storage {
    const tables = this.#tables(cell);
    return {
      registry: memoryRegistry(tables),
      directory: memoryDirectory(tables),
      pairs: memoryPairStore(tables),
      overview: memoryOverview(tables),
      uptime: memoryUptime(tables),
      close: () => Promise.resolve(),
    };
  }

  #tables(cell: CellId): MemoryCell {
    const tables = this.#cells.get(cell) ?? {
      name: cell,
      clock: this.#clock,
      server: this.server,
      partitions: null,
      version: 0,
      nodes: new Map(),
      accounts: new Map(),
      links: new Map(),
      pairs: new Map(),
      states: new Map(),
      rejected: new Map(),
      uptime: new Map(),
    };
    this.#cells.set(cell, tables);
    return tables;
  }
}
