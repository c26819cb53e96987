// Owns the PairStore's twin: the rules of storage/writeRows.ts, one event after the other. It is
// the reference that the one statement of Postgres is compared with.
//
// 1. A batch is all or nothing: it is written into copies that replace the tables at its end.

import { LockstepError } from "../../protocol/errors.ts";
import type { Epoch } from "../../protocol/ids.ts";
import type { AccountStateEvent, OwnerEvent } from "../../protocol/accountState.ts";
import { isLive, pairKey, type Pair } from "../../protocol/pairs.ts";
import type { PairRow, PairStore, WriteResult } from "../../protocol/ports/storage.ts";
import type { AdoptedEvent, PairRowEvent } from "../layers.ts";
import type { AccountRow, MemoryCell } from "./cells.ts";
import { checkRow, checkState } from "./checks.ts";

interface Tables {
  readonly accounts: Map<string, AccountRow>;
  readonly pairs: Map<string, PairRow>;
  readonly states: Map<string, AccountStateEvent>;
}

export function memoryPairStore(cell: MemoryCell): PairStore {
  return {
    async write(events) {
      const { tables, result } = written(cell, events);
      cell.accounts = tables.accounts;
      cell.pairs = tables.pairs;
      cell.states = tables.states;
      return result;
    },
    async isDone({ events }) {
      return events.every((event) => isThere(cell, event));
    },
    async tryOut(events) {
      return written(cell, events).result;
    },
    async reject(event, fault) {
      const text = JSON.stringify(event);
      if (!cell.rejected.has(text)) cell.rejected.set(text, fault);
    },
    async rowsOf(follower) {
      return [...cell.pairs.values()].filter((row) => row.pair.follower === follower).sort((a, b) => order(a.pair, b.pair));
    },
    async projectedEpoch(follower) {
      return cell.accounts.get(follower)?.projectedEpoch ?? (0 as Epoch);
    },
    async counts() {
      return { pairs: cell.pairs.size, rejected: cell.rejected.size };
    },
  };
}

function written(cell: MemoryCell, events: readonly OwnerEvent[]): { readonly tables: Tables; readonly result: WriteResult } {
  const tables: Tables = { accounts: new Map(cell.accounts), pairs: new Map(cell.pairs), states: new Map(cell.states) }; // (1)
  let [written, fenced] = [0, 0];
  for (const event of events) {
    if (event.kind === "adopted") adopt(tables, event);
    else if (event.kind === "account" ? writeState(tables, event) : writeRow(cell, tables, event)) written += 1;
    else fenced += 1;
  }
  return { tables, result: { written, fenced } };
}

function isThere(cell: MemoryCell, event: OwnerEvent): boolean {
  if (event.kind === "account") {
    const state = cell.states.get(event.follower);
    return state !== undefined && !isNewer(state, event.epoch, event.n);
  }
  if (event.kind === "adopted") return (cell.accounts.get(event.follower)?.projectedEpoch ?? Infinity) >= event.epoch;
  const row = cell.pairs.get(pairKey(event.pair));
  return row !== undefined && !isNewer(row, event.epoch, event.n);
}

function adopt(tables: Tables, { follower, epoch }: AdoptedEvent): void {
  const row = tables.accounts.get(follower);
  if (row !== undefined) tables.accounts.set(follower, { ...row, projectedEpoch: Math.max(row.projectedEpoch, epoch) as Epoch });
}

/** True when it went in. */
function writeState({ accounts, states }: Tables, event: AccountStateEvent): boolean {
  const account = accounts.get(event.follower);
  if (account === undefined || event.epoch < account.projectedEpoch || event.epoch > account.epoch) return false;
  checkState(event);
  const old = states.get(event.follower);
  if (old !== undefined && !isNewer(old, event.epoch, event.n)) return false;
  states.set(event.follower, event);
  return true;
}

/** True when the row went in. */
function writeRow(cell: MemoryCell, tables: Tables, { epoch, n, pair }: PairRowEvent): boolean {
  if (pair.status !== "Closed" && !passesFence(cell, tables, pair, epoch)) return false;
  checkRow(cell.links.get(pair.link), pair, epoch, n);
  const old = tables.pairs.get(pairKey(pair));
  const rivals = isLive(pair.status) ? liveRivals(tables, pair) : [];
  for (const rival of rivals) {
    if (rival.epoch < epoch) tables.pairs.set(pairKey(rival.pair), { ...rival, pair: { ...rival.pair, status: "Superseded" } });
  }
  if (old !== undefined && (isFinal(old, epoch) || !isNewer(old, epoch, n))) return false;
  if (rivals.some((rival) => rival.epoch === epoch)) {
    throw new LockstepError("row_fault", `23505: ${pairKey(pair)}: another opening of this trade is live at the same epoch`);
  }
  const outranked = rivals.some((rival) => rival.epoch > epoch);
  tables.pairs.set(pairKey(pair), { epoch, n, pair: outranked ? { ...pair, status: "Superseded" } : pair });
  return true;
}

function passesFence(cell: MemoryCell, tables: Tables, pair: Pair, epoch: Epoch): boolean {
  const follower = tables.accounts.get(cell.links.get(pair.link)?.follower ?? "");
  return follower !== undefined && follower.projectedEpoch <= epoch && epoch <= follower.epoch;
}

/** An ended row, but for another owner's skip where a later one speaks. */
const isFinal = ({ epoch, pair: { status } }: PairRow, later: Epoch): boolean => !isLive(status) && (status !== "Skipped" || epoch >= later);

/** Live rows of the same trade under another opening: at most one. */
function liveRivals(tables: Tables, pair: Pair): readonly PairRow[] {
  return [...tables.pairs.values()].filter(
    (row) => row.pair.link === pair.link && row.pair.masterTicket === pair.masterTicket && row.pair.opening !== pair.opening && isLive(row.pair.status),
  );
}

const isNewer = (old: Pick<PairRow, "epoch" | "n">, epoch: Epoch, n: number): boolean => old.epoch < epoch || (old.epoch === epoch && old.n < n);

function order(a: Pair, b: Pair): number {
  if (a.link !== b.link) return a.link < b.link ? -1 : 1;
  return a.masterTicket - b.masterTicket || a.opening - b.opening;
}
