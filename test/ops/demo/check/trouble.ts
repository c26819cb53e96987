// Owns the one trade of the tests of what goes wrong around a copier, and how sessions come and go.

import assert from "node:assert/strict";
import type { AccountId, Ticket } from "../../../../protocol/ids.ts";
import type { Order } from "../../../../protocol/orders.ts";
import type { Pair } from "../../../../protocol/pairs.ts";
import type { PairRow } from "../../../../protocol/ports/storage.ts";
import { closed, F1, statementOf, type Played } from "./script.ts";
import { brokenRules, EUR, lots, points, SETTLE_MS, type Theatre } from "./theatre.ts";

export const SIMPLE = statementOf({ positions: [closed(401, EUR, "0.40", { side: "buy", openPrice: points(108_500), closePrice: points(108_500) })] });

export function down({ theatre, copier }: Played, account: AccountId): void {
  theatre.disconnect(account);
  copier.deaf.add(account);
}

export function up(played: Played, account: AccountId): void {
  const { theatre, copier } = played;
  theatre.connect(account);
  copier.deaf.delete(account);
  const { master, followers } = theatre.cast;
  copier.catchUp(account === master.account ? followers.map(({ broker }) => broker.account) : [account]);
}

/** Its session seems well, but nothing is done. */
export function idle({ copier }: Played, account: AccountId): void {
  copier.deaf.add(account);
}

export const rowOf = ({ theatre }: Played, account: AccountId): Pair | undefined => theatre.rows().find(({ pair }) => pair.follower === account)?.pair;
export const copyOf = ({ theatre }: Played, account: AccountId) => [...theatre.broker.positions(account).values()][0] ?? assert.fail();

export const open = ({ theatre }: Played): Ticket => theatre.open(401, EUR, "buy", "0.40");
export const end = (theatre: Theatre, ticket: Ticket, restMs = SETTLE_MS * 3): void => {
  theatre.close(ticket);
  theatre.pass(restMs);
};

export const assertRight = ({ theatre }: Played, more: Parameters<Theatre["report"]>[0] = {}): void => assert.deepEqual(theatre.report(more).violations, []);
export const assertBroken = ({ theatre }: Played, rules: readonly string[], more: Parameters<Theatre["report"]>[0] = {}): void => assert.deepEqual(brokenRules(theatre.report(more)), [...rules].sort());

/** `change` is made to f1's row. */
export function withRow({ theatre }: Played, change: Partial<Pair>): { readonly rows: PairRow[] } {
  return { rows: theatre.rows().map((row) => (row.pair.follower === F1 ? { ...row, pair: { ...row.pair, ...change } } : row)) };
}

export const openOrder = (ticket: Ticket): Order => ({ kind: "open", symbol: "eurusd.r" as never, side: "buy", volume: lots("0.40"), priceLimit: null, stopLoss: null, takeProfit: null, magic: 7000 as never, comment: `mc${ticket}` });
