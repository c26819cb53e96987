// Owns the rows of copied trades on Postgres.
//
// 1. A batch is one transaction: its markers and rows go in together or not at all.
// 2. The result is the same as writing the events one by one (layers.ts), and writing a batch again
//    changes nothing (writeRows.ts). So a lost answer to a COMMIT costs no row: reading back only settles what the
//    batch came to, and saves writing it again.
// 3. A rejected event is kept once, whatever bytes are in it.

import { createHash } from "node:crypto";
import type { CellId, Epoch } from "../protocol/ids.ts";
import { isLockstepError, LockstepError } from "../protocol/errors.ts";
import type { AccountStateEvent, OwnerEvent } from "../protocol/accountState.ts";
import { pairKey, type Pair } from "../protocol/pairs.ts";
import type { PairRow, PairStore, WriteResult } from "../protocol/ports/storage.ts";
import { UnknownCommit } from "../protocol/unknownCommit.ts";
import type { Database, Queryable, SqlRow, Statement } from "./database.ts";
import { layersOf, type PairRowEvent } from "./layers.ts";
import { storableText } from "./storableText.ts";
import { READ_BACK, WRITE_ROWS, WRITE_STATES } from "./writeRows.ts";

const WRITE_MARKERS: Statement = {
  name: "write markers",
  text: `
  UPDATE trading_accounts a SET projected_epoch = GREATEST(a.projected_epoch, m.epoch)
    FROM (SELECT follower, max(epoch) AS epoch FROM jsonb_to_recordset($2::jsonb) AS r(follower text, epoch bigint) GROUP BY follower) m
   WHERE a.cell = $1 AND a.id = m.follower`,
};

const REJECT = `
  INSERT INTO rejected_rows (cell, digest, follower, event, code, text) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (cell, digest) DO NOTHING`;

const ROWS_OF = "SELECT * FROM pairs WHERE cell = $1 AND follower_id = $2 ORDER BY link_id, master_ticket, opening";

const PROJECTED_EPOCH = "SELECT projected_epoch FROM trading_accounts WHERE cell = $1 AND id = $2";

const COUNTS = `
  SELECT (SELECT count(*) FROM pairs WHERE cell = $1) AS pairs, (SELECT count(*) FROM rejected_rows WHERE cell = $1) AS rejected`;

export function postgresPairStore(database: Database, cell: CellId): PairStore {
  return {
    async write(events) {
      const tally = new Tally();
      try {
        await database.transaction((connection) => writeLayers(connection, cell, events, tally));
      } catch (error) {
        throw isLockstepError(error, "commit_unknown") ? new UnknownCommit(error, tally.result(), tally.kept) : error;
      }
      return tally.result();
    },
    async isDone({ events }) {
      const rows = events.flatMap((event) => (event.kind === "pair" ? [rowOf(event)] : []));
      const of = (kind: OwnerEvent["kind"]): string => JSON.stringify(events.filter((event) => event.kind === kind));
      const [answer] = await database.query(READ_BACK, [cell, JSON.stringify(rows), of("adopted"), of("account")]);
      return answer?.["done"] === true;
    },
    async tryOut(events) {
      const tally = new Tally();
      const tried = new LockstepError("stopped", "only tried out");
      const work = async (connection: Queryable): Promise<never> => {
        await writeLayers(connection, cell, events, tally);
        throw tried;
      };
      await database.transaction(work).catch((error: unknown) => {
        if (error !== tried) throw error;
      });
      return tally.result();
    },
    async reject(event, fault) {
      const text = JSON.stringify(event);
      const digest = createHash("sha256").update(text).digest("hex"); // (3)
      await database.query(REJECT, [cell, digest, storableText(event.follower), text, storableText(fault.code), storableText(fault.text)]);
    },
    async rowsOf(follower) {
      return (await database.query(ROWS_OF, [cell, follower])).map(pairRowOf);
    },
    async projectedEpoch(follower) {
      const [row] = await database.query(PROJECTED_EPOCH, [cell, follower]);
      return (row?.["projected_epoch"] ?? 0) as Epoch;
    },
    async counts() {
      const [row] = await database.query(COUNTS, [cell]);
      return { pairs: row?.["pairs"] as number, rejected: row?.["rejected"] as number };
    },
  };
}

/** What a transaction came to, if it is committed. */
class Tally {
  rows = 0;
  written = 0;
  /** What is in the tables then. */
  readonly kept: OwnerEvent[] = [];

  result(): WriteResult {
    return { written: this.written, fenced: this.rows - this.written };
  }
}

async function writeLayers(connection: Queryable, cell: CellId, events: readonly OwnerEvent[], tally: Tally): Promise<void> {
  for (const { markers, rows, states } of layersOf(events)) {
    if (markers.length > 0) await connection.query(WRITE_MARKERS, [cell, JSON.stringify(markers)]);
    tally.kept.push(...markers);
    if (states.length > 0) {
      const written = new Set((await connection.query(WRITE_STATES, [cell, JSON.stringify(states.map(stateRowOf))])).map((row) => row["account"]));
      tally.rows += states.length;
      tally.written += written.size;
      tally.kept.push(...states.filter(({ follower }) => written.has(follower)));
    }
    if (rows.length === 0) continue;
    const [answer] = await connection.query(WRITE_ROWS, [cell, JSON.stringify(rows.map(rowOf))]);
    const keys = answer?.["keys"] as readonly string[] | null;
    const some = keys === null ? null : new Set(keys);
    tally.rows += rows.length;
    tally.written += answer?.["written"] as number;
    tally.kept.push(...(some === null ? rows : rows.filter(({ pair }) => some.has(pairKey(pair)))));
  }
}

const stateRowOf = ({ follower, epoch, n, state: { funds, ...state } }: AccountStateEvent): object => ({ account: follower, epoch, n, ...state, ...funds });
const rowOf = ({ epoch, n, pair }: PairRowEvent): object => ({ ...pair, epoch, n });

export function pairRowOf(row: SqlRow): PairRow {
  const pair: Pair = {
    link: row["link_id"] as Pair["link"],
    masterTicket: row["master_ticket"] as Pair["masterTicket"],
    opening: row["opening"] as number,
    master: row["master_id"] as Pair["master"],
    follower: row["follower_id"] as Pair["follower"],
    status: row["status"] as Pair["status"],
    holds: row["holds"] as Pair["holds"],
    symbol: row["symbol"] as Pair["symbol"],
    digits: row["digits"] as number,
    side: row["side"] as Pair["side"],
    followerTicket: row["follower_ticket"] as Pair["followerTicket"],
    initialVolume: row["initial_volume"] as Pair["volume"],
    volume: row["volume"] as Pair["volume"],
    masterInitialVolume: row["master_initial_volume"] as Pair["volume"],
    masterVolume: row["master_volume"] as Pair["volume"],
    openPrice: row["open_price"] as Pair["openPrice"],
    stopLoss: row["stop_loss"] as Pair["stopLoss"],
    takeProfit: row["take_profit"] as Pair["takeProfit"],
    reason: row["reason"] as Pair["reason"],
    detail: row["detail"] as Pair["detail"],
    changedAtMs: row["changed_at_ms"] as Pair["changedAtMs"],
  };
  return { epoch: row["epoch"] as PairRow["epoch"], n: row["n"] as number, pair };
}
