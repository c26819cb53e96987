// Owns the rules about trades that were not copied: the reason that Lockstep gives is recomputed
// from the log, and is never believed.

import type { Pair } from "../../../protocol/pairs.ts";
import { SKIP_REASONS, type SkipReason } from "../../../protocol/reasons.ts";
import { lotsText } from "../../../protocol/units.ts";
import type { Copy } from "./cases.ts";
import { endOf, initialVolumeOf, wasFilled, type Request } from "./history.ts";
import { looksTagged } from "./names.ts";
import { entryPrice, pointsAgainst, rescaled } from "./prices.ts";
import type { Moment } from "./periods.ts";
import { isBorneOut, refusalOf } from "./refusals.ts";
import { sizeOf } from "./sizing.ts";
import { tradeText } from "./wording.ts";

/** Why a reason is not true, or null when it is. */
type Doubt = (copy: Copy) => string | null;

const doubt = (isTrue: boolean, text: string): string | null => (isTrue ? null : text);

const symbolUnknown: Doubt = ({ symbol }) => doubt(symbol === null, `the account has ${symbol?.symbol ?? ""}`);

/** What was closed of it while it could be opened is not opened any more: then what was left is judged, as it is where it is copied late. */
const volumeRefused =
  (kind: "below" | "above"): Doubt =>
  ({ follower, master, symbol, openingPatience }) => {
    if (symbol === null) return "the account has no such symbol";
    const { position } = master;
    const left = position === null ? [] : position.volumes.filter(({ atMs }) => atMs < openingPatience.dueMs(position.opened.atMs)).map(({ value }) => value);
    const sizes = [initialVolumeOf(master), ...left].map((volume) => sizeOf(volume, follower.link.settings, symbol));
    const [size] = sizes;
    return doubt(sizes.some((each) => each.kind === kind), size?.kind === "volume" ? `its volume would be ${lotsText(size.volume)}` : `its volume is ${size?.kind} the follower's range`);
  };

/**
 * Some quote while it could be opened, or until it was found, was further against the follower than the link allows. The news of
 * its end takes its time.
 */
const priceMoved: Doubt = ({ follower, master, symbol, openingPatience }) => {
  const { position } = master;
  if (position === null || symbol === null) return "there was no price to be copied at";
  const { slippagePoints, ageLimitMs } = follower.link.settings;
  const { atMs: fromMs } = position.opened;
  const foundMs = Math.max(fromMs + ageLimitMs, openingPatience.dueMs(fromMs));
  const span = { fromMs, toMs: Math.min(foundMs, openingPatience.dueMs(position.end?.atMs ?? Infinity)) };
  const wanted = rescaled(position.openPrice, master.digits, symbol.digits);
  const worst = follower.quotes.inForce(symbol, span).reduce((most, quote) => Math.max(most, pointsAgainst(position.side, wanted, entryPrice(position.side, quote))), -Infinity);
  return doubt(worst > slippagePoints, `the price was at most ${worst} points worse, limit ${slippagePoints}`);
};

/** When it could first be copied: a pending order that is not copied as such, when it fills. */
const copyableFrom = ({ follower, master: { pending, position } }: Copy): Moment | null => (follower.link.settings.copyPendings ? (pending?.placed ?? position?.opened ?? null) : (position?.opened ?? null));

const goneBeforeCopy: Doubt = (copy) => {
  const { master, openingPatience } = copy;
  const end = endOf(master);
  const from = copyableFrom(copy);
  if (end === null || from === null) return "it still stands, or was never to be copied";
  return doubt(end.atMs < openingPatience.dueMs(from.atMs), `it stood for ${Math.round(end.atMs - from.atMs)} ms`);
};

/** It was kept from being opened until it was too old. */
const tooOld: Doubt = ({ follower, master: { position }, openingPatience }) => {
  if (position === null) return "it was never opened";
  const { atMs } = position.opened;
  const actedMs = openingPatience.dueMs(atMs) - atMs;
  return doubt(openingPatience.wasKept(atMs) && actedMs > follower.link.settings.lateOpenMs, `it could be opened within ${Math.round(actedMs)} ms`);
};

/** An order is dropped only where something was in the way. */
const dropped: Doubt = (copy) => {
  const from = copyableFrom(copy);
  return from !== null && copy.openingPatience.wasKept(from.atMs) ? goneBeforeCopy(copy) : "nothing was in the way";
};

const pendingsOff: Doubt = ({ follower, master }) => doubt(master.pending !== null && !follower.link.settings.copyPendings, "it is no pending order, or the link copies them");

const ownTag: Doubt = ({ master }) => doubt(looksTagged(master.comment), `its comment ${JSON.stringify(master.comment)} is no tag`);

const refused: Doubt = ({ follower, symbol, requests }) => {
  const last = requests.findLast(({ order }) => order.kind === "open" || order.kind === "place");
  if (last === undefined) return "it was never asked for";
  if (symbol === null) return "the account has no such symbol: it had not to be asked for";
  const cause = refusalOf(last, follower.platform);
  if (cause === null) return `entry ${last.n}, the last that asked for it, was not refused`;
  if (couldBePlain(last, cause)) return `entry ${last.n} was refused for its stops alone: it could be opened without them`;
  return doubt(isBorneOut(last, follower.platform, symbol, follower.quotes), `nothing in the log bears out the refusal of entry ${last.n} (${last.answer?.code} ${last.answer?.text})`);
};

const couldBePlain = ({ order }: Request, cause: ReturnType<typeof refusalOf>): boolean => order.kind === "open" && cause === "stops";

/** In a demo nothing is switched off, and every symbol has a price: such a reason is itself the fault. */
const never: Doubt = () => "that cannot happen here";

const DOUBTS: Readonly<Record<SkipReason, Doubt>> = {
  symbol_unknown: symbolUnknown,
  volume_below_minimum: volumeRefused("below"),
  volume_above_maximum: volumeRefused("above"),
  price_moved: priceMoved,
  late_open_price_moved: priceMoved,
  gone_before_copy: goneBeforeCopy,
  pendings_off: pendingsOff,
  own_tag: ownTag,
  refused,
  no_quote: never,
  too_old: tooOld,
  link_off: never,
  dropped,
  no_chain: never,
};

const isSkipReason = (reason: string | null): reason is SkipReason => reason !== null && Object.hasOwn(SKIP_REASONS, reason);

export const skipsOf = ({ rows }: Pick<Copy, "rows">): Pair[] => rows.filter(({ status }) => status === "Skipped");

function unjustifiedSkip(copy: Copy): string[] {
  return skipsOf(copy).flatMap(({ reason }) => {
    const text = isSkipReason(reason) ? DOUBTS[reason](copy) : "that is no reason to skip a trade";
    return text === null ? [] : [`${tradeText(copy.master)}: skipped as ${reason ?? "nothing"}, but ${text}`];
  });
}

/** A pending order that is not copied as such may be copied when it fills; one that was taken back unfilled may be skipped then. */
function skipWithCopy({ master, lives, rows }: Copy): string[] {
  const life = wasFilled(master) ? lives.find(({ position }) => position !== null) : lives[0];
  const skips = skipsOf({ rows }).filter(({ reason }) => !(reason === "pendings_off" && wasFilled(master)));
  return life === undefined ? [] : skips.map(({ reason }) => `${tradeText(master)}: skipped as ${reason ?? "nothing"}, and copied as ${tradeText(life)}`);
}

export const skipRules = { "unjustified-skip": unjustifiedSkip, "skip-with-copy": skipWithCopy } as const;
