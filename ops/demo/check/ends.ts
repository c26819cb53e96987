// Owns the rules about the ends of copies: a copy ends with its master's trade, by its own stop or
// target, by its broker's act or its owner's hand, and not otherwise.

import { priceText } from "../../../protocol/units.ts";
import type { Copy } from "./cases.ts";
import { beginOf, endOf, type Caused, type Close, type Trade } from "./history.ts";
import { authorOf } from "./outcomes.ts";
import { exitPrice } from "./prices.ts";
import { refusalOf } from "./refusals.ts";
import { levelsText, timeText, tradeText } from "./wording.ts";

function leftOpen({ master, lives }: Copy): string[] {
  const end = endOf(master);
  if (end === null) return [];
  return lives.filter((life) => endOf(life) === null).map((life) => `${tradeText(master)}: copy ${tradeText(life)} still stands`);
}

function closedLate(copy: Copy): string[] {
  const { master, lives, patience } = copy;
  const masterEnd = endOf(master);
  if (masterEnd === null) return [];
  return lives.flatMap((life) => {
    const end = endOf(life);
    const dueMs = patience.dueMs(Math.max(masterEnd.atMs, beginOf(life).atMs));
    if (end === null || end.atMs <= dueMs || marketWasClosed(copy, life, dueMs)) return [];
    return [`${tradeText(master)}: copy ${tradeText(life)} ended ${Math.round(end.atMs - masterEnd.atMs)} ms later, expected at most ${Math.round(dueMs - masterEnd.atMs)} ms`];
  });
}

/** Whether it was asked to end in time and could not, for the market's hours. */
function marketWasClosed({ follower, requests }: Copy, life: Trade, dueMs: number): boolean {
  return requests.some((request) => request.target === life && request.atMs <= dueMs && refusalOf(request, follower.platform) === "market_closed");
}

function closedEarly({ follower, master, lives }: Copy): string[] {
  const byRequest = (end: Caused | null): number | null => (end !== null && authorOf(follower.history, end) === "copier" ? end.causeN : null);
  return lives.flatMap((life) => {
    const positionN = byRequest(life.position?.end ?? null);
    if (positionN !== null && stood(endOf(master), positionN)) return [`${tradeText(master)}: copy ${tradeText(life)} was closed although the master's stood`];
    const pendingN = life.pending?.end?.how === "removed" ? byRequest(life.pending.end) : null;
    if (pendingN !== null && stood(master.pending?.end ?? endOf(master), pendingN)) return [`${tradeText(master)}: copy ${tradeText(life)} was cancelled although the master's stood`];
    return [];
  });
}

/** Whether the master's trade had not ended when entry `n` was made. */
const stood = (end: Caused | null, n: number): boolean => end === null || end.n > n;

function stopNotReached({ follower, master, symbol, lives }: Copy): string[] {
  return lives.flatMap((life) => {
    const end = life.position?.end ?? null;
    if (symbol === null || life.position === null || end === null || end.reason === "manual" || end.reason === "stop_out") return [];
    const quote = end.causeN === null ? null : follower.quotes.at(symbol, end.causeN);
    const price = quote === null ? null : exitPrice(life.position.side, quote);
    if (price !== null && isReached(life, end, price)) return [];
    const seen = price === null ? "no quote" : priceText(price, life.digits);
    return [`${tradeText(master)}: copy ${tradeText(life)} was closed as ${end.reason} at ${timeText(end.atMs)} by ${seen}, with ${levelsText(end.levels, life.digits)}`];
  });
}

function isReached({ position }: Trade, { reason, levels }: Close, price: number): boolean {
  const isBuy = position?.side === "buy";
  if (reason === "stop_loss") return levels.stopLoss !== null && (isBuy ? price <= levels.stopLoss : price >= levels.stopLoss);
  return levels.takeProfit !== null && (isBuy ? price >= levels.takeProfit : price <= levels.takeProfit);
}

export const endRules = { "left-open": leftOpen, "closed-late": closedLate, "closed-early": closedEarly, "stop-not-reached": stopNotReached } as const;
