// Owns the rules about the openings of copies: one for each trade, the right one, in time, at a
// price that the link allows.

import { lotsText, priceText } from "../../../protocol/units.ts";
import type { Copy, FollowerCase } from "./cases.ts";
import { beginOf, endOf, sideOf, wasFilled, type Trade } from "./history.ts";
import { authorOf } from "./outcomes.ts";
import { isWithin } from "./patience.ts";
import { pointsAgainst, rescaled } from "./prices.ts";
import { askedVolumeOf, openingRequestOf, possibleOpenings } from "./sizes.ts";
import { timeText, tradeText } from "./wording.ts";

/** Whether it began and ended while nobody could hear of it, or before a copier that had heard of it, and was not yet to have acted, was no more. */
export function isUnheard({ follower, master, openingPatience }: Copy): boolean {
  const { atMs: fromMs } = beginOf(master);
  const toMs = endOf(master)?.atMs ?? Infinity;
  const isForgotten = (sinceMs: number): boolean => follower.outages.some((outage) => toMs <= outage.toMs && outage.fromMs < openingPatience.dueMs(sinceMs));
  // A pending order that the link does not copy is undecided until it ends: what is to be heard is its end.
  const heardFromMs = isUndecided(follower, master) ? toMs : fromMs;
  return toMs < Infinity && (isForgotten(fromMs) || isForgotten(heardFromMs) || isWithin(follower.unheard, { fromMs: heardFromMs, toMs }));
}

const isUndecided = ({ link }: FollowerCase, { pending, position }: Trade): boolean => !link.settings.copyPendings && pending !== null && position === null;

/** Whether the master holds it for longer than it takes to copy it, or still. */
const isHeld = ({ position }: Trade, { openingPatience }: Copy): boolean => position !== null && (position.end === null || position.end.atMs > openingPatience.dueMs(position.opened.atMs));

/** A copy that its owner or its broker ended is not made again. */
const isFinal = ({ follower }: Copy, { pending, position }: Trade): boolean => position !== null || (pending?.end?.how === "removed" && authorOf(follower.history, pending.end) !== "copier");

function missing(copy: Copy): string[] {
  const { follower, master, lives, rows } = copy;
  // A pending order that is not copied as such is to be copied when it fills; while it stands nothing is decided.
  if (isUndecided(follower, master) && endOf(master) === null) return [];
  if (rows.some(({ status, reason }) => status === "Skipped" && !(reason === "pendings_off" && wasFilled(master)))) return [];
  if (lives.some((life) => isFinal(copy, life))) return [];
  if (lives.length === 0) return isUnheard(copy) ? [] : [`${tradeText(master)}: neither a copy nor a row that says why not`];
  return isHeld(master, copy) ? [`${tradeText(master)}: it was filled, its copy ${lives.map(tradeText).join("; ")} was not`] : [];
}

/**
 * A new life is right only where all before it were pendings that the copier took back unfilled, and it is no pending again.
 * Nothing excuses another: an order of unknown outcome is looked for at the broker, and not sent again on hope.
 */
function duplicate(copy: Copy): string[] {
  const { master, lives } = copy;
  return lives.flatMap((life, index) => {
    const begin = beginOf(life);
    const isRight = (before: Trade): boolean => {
      const end = endOf(before);
      return !isHandRemoved(copy, before) && before.position === null && end !== null && end.n < begin.n && life.pending === null;
    };
    const rival = lives.slice(0, index).find((before) => !isRight(before));
    return rival === undefined ? [] : [`${tradeText(master)}: copied again as ${tradeText(life)}, after ${tradeText(rival)}`];
  });
}

const isHandRemoved = ({ follower }: Copy, { pending }: Trade): boolean => pending?.end?.how === "removed" && authorOf(follower.history, pending.end) === "hand";

function wrongSymbol({ master, symbol, lives }: Copy): string[] {
  const wrong = lives.filter((life) => life.symbol !== symbol?.symbol);
  return wrong.map((life) => `${tradeText(master)}: copied as ${tradeText(life)}, expected ${symbol?.symbol ?? "no copy: the account has no such symbol"}`);
}

function wrongSide({ master, lives }: Copy): string[] {
  return lives.filter((life) => sideOf(life) !== sideOf(master)).map((life) => `${tradeText(master)}: copied as ${tradeText(life)}`);
}

function wrongVolume(copy: Copy): string[] {
  const { master, lives } = copy;
  if (copy.symbol === null) return [];
  return lives.flatMap((life) => {
    const volumes = new Set(possibleOpenings(copy, beginOf(life).n).map(({ volume }) => volume));
    const volume = askedVolumeOf(copy, life);
    if (volumes.has(volume)) return [];
    const expected = volumes.size === 0 ? "no copy" : [...volumes].map(lotsText).join(" or ");
    return [`${tradeText(master)}: copied as ${tradeText(life)} with ${lotsText(volume)}, expected ${expected}`];
  });
}

/** When it was asked for: a pending's fill is nobody's request, and an order that its broker executed late was asked for in time. */
const askedFor = (copy: Copy, life: Trade): { readonly n: number; readonly atMs: number } => openingRequestOf(copy, life) ?? beginOf(life);

function openedAfterEnd(copy: Copy): string[] {
  const end = endOf(copy.master);
  if (end === null) return [];
  const late = copy.lives.filter((life) => askedFor(copy, life).atMs > copy.openingPatience.dueMs(end.atMs));
  return late.map((life) => `${tradeText(copy.master)}: copied as ${tradeText(life)}, asked for after its end`);
}

/** However it was kept from it: what is older than the limit stays without a copy. */
function openedTooOld(copy: Copy): string[] {
  const { follower, master, lives, patience } = copy;
  const openedAtMs = master.position?.opened.atMs;
  if (openedAtMs === undefined) return [];
  const { ageLimitMs, lateOpenMs } = follower.link.settings;
  const limitMs = Math.max(ageLimitMs, lateOpenMs);
  const old = lives.filter((life) => life.pending === null && askedFor(copy, life).atMs > openedAtMs + limitMs + patience.graceMs);
  return old.map((life) => `${tradeText(master)}: copied as ${tradeText(life)}, expected an opening within ${limitMs} ms`);
}

function slippage({ follower, master, symbol, lives }: Copy): string[] {
  const { position: held } = master;
  if (held === null) return [];
  const limit = follower.link.settings.slippagePoints;
  return lives.flatMap((life) => {
    // The price of another symbol tells nothing.
    if (life.position === null || life.pending !== null || life.symbol !== symbol?.symbol) return [];
    const wanted = rescaled(held.openPrice, master.digits, life.digits);
    const against = pointsAgainst(held.side, wanted, life.position.openPrice);
    if (against <= limit) return [];
    const price = priceText(life.position.openPrice, life.digits);
    return [`${tradeText(master)}: copied as ${tradeText(life)} at ${price} on ${timeText(life.position.opened.atMs)}, ${against} points worse than ${priceText(wanted, life.digits)}, limit ${limit}`];
  });
}

export const openingRules = {
  missing,
  duplicate,
  "wrong-symbol": wrongSymbol,
  "wrong-side": wrongSide,
  "wrong-volume": wrongVolume,
  "opened-after-end": openedAfterEnd,
  "opened-too-old": openedTooOld,
  slippage,
} as const;
