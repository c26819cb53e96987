// Owns the rules about trades that were not copied: the reason that Lockstep gives is recomputed
// from the log, and is never believed.

import type { Pair } from "../../../protocol/pairs.ts";
import { SKIP_REASONS, type SkipReason } from "../../../protocol/reasons.ts";
import { lotsText } from "../../../protocol/units.ts";
import type { Copy } from "./cases.ts";
import { beginOf, endOf, initialVolumeOf, wasFilled, type Request } from "./history.ts";
import { looksTagged } from "./names.ts";
import { entryPrice, pointsAgainst, rescaled } from "./prices.ts";
import { isBorneOut, refusalOf } from "./refusals.ts";
import { sizeOf } from "./sizing.ts";
import { tradeText } from "./wording.ts";

/** Why a reason is not true, or null when it is. */
type Doubt = (copy: Copy) => string | null;

const doubt = (isTrue: boolean, text: string): string | null => (isTrue ? null : text);

const symbolUnknown: Doubt = ({ symbol }) => doubt(symbol === null, `the account has ${symbol?.symbol ?? ""}`);

const volumeRefused =
  (kind: "below" | "above"): Doubt =>
  ({ follower, master, symbol }) => {
    if (symbol === null) return "the account has no such symbol";
    const size = sizeOf(initialVolumeOf(master), follower.link.settings, symbol);
    return doubt(size.kind === kind, size.kind === "volume" ? `its volume would be ${lotsText(size.volume)}` : `its volume is ${size.kind} the follower's range`);
  };

/** Some quote while it could be opened was further against the follower than the link allows. The news of its end takes its time. */
const priceMoved: Doubt = ({ follower, master, symbol }) => {
  const { position } = master;
  if (position === null || symbol === null) return "there was no price to be copied at";
  const { slippagePoints, ageLimitMs } = follower.link.settings;
  const span = { fromMs: position.opened.atMs, toMs: Math.min(position.opened.atMs + ageLimitMs, (position.end?.atMs ?? Infinity) + follower.graceMs) };
  const wanted = rescaled(position.openPrice, master.digits, symbol.digits);
  const worst = follower.quotes.inForce(symbol, span).reduce((most, quote) => Math.max(most, pointsAgainst(position.side, wanted, entryPrice(position.side, quote))), -Infinity);
  return doubt(worst > slippagePoints, `the price was at most ${worst} points worse, limit ${slippagePoints}`);
};

const goneBeforeCopy: Doubt = ({ follower, master }) => {
  const end = endOf(master);
  if (end === null) return "it still stands";
  const lifeMs = end.atMs - beginOf(master).atMs;
  return doubt(lifeMs < follower.graceMs, `it stood for ${Math.round(lifeMs)} ms`);
};

const pendingsOff: Doubt = ({ follower, master }) => doubt(master.pending !== null && !follower.link.settings.copyPendings, "it is no pending order, or the link copies them");

const ownTag: Doubt = ({ master }) => doubt(looksTagged(master.comment), `its comment ${JSON.stringify(master.comment)} is no tag`);

const refused: Doubt = ({ follower, symbol, requests }) => {
  const last = requests.findLast(({ order }) => order.kind === "open" || order.kind === "place");
  if (last === undefined) return "it was never asked for";
  if (symbol === null) return "the account has no such symbol: it had not to be asked for";
  if (refusalOf(last, follower.platform) === null) return `entry ${last.n}, the last that asked for it, was not refused`;
  if (couldBePlain(last, refusalOf(last, follower.platform))) return `entry ${last.n} was refused for its stops alone: it could be opened without them`;
  return doubt(isBorneOut(last, follower.platform, symbol, follower.quotes), `nothing in the log bears out the refusal of entry ${last.n} (${last.answer?.code} ${last.answer?.text})`);
};

const couldBePlain = ({ order }: Request, cause: ReturnType<typeof refusalOf>): boolean => order.kind === "open" && cause === "stops";

/** In a demo nothing is late, cut or switched off: such a reason is itself the fault. */
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
  too_old: never,
  link_off: never,
  dropped: never,
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

/** A pending order that is not copied as such may be copied when it fills. */
function skipWithCopy({ master, lives, rows }: Copy): string[] {
  const life = lives[0];
  const skips = skipsOf({ rows }).filter(({ reason }) => !(reason === "pendings_off" && wasFilled(master)));
  return life === undefined ? [] : skips.map(({ reason }) => `${tradeText(master)}: skipped as ${reason ?? "nothing"}, and copied as ${tradeText(life)}`);
}

export const skipRules = { "unjustified-skip": unjustifiedSkip, "skip-with-copy": skipWithCopy } as const;
