// Owns the rules about stops, targets and the terms of pending orders: a copy's are its master's, in
// the follower's digits.

import type { Order } from "../../../protocol/orders.ts";
import { priceText, type Points } from "../../../protocol/units.ts";
import type { Copy } from "./cases.ts";
import { currentTicketOf, sameLevels, type Levels, type PendingLife, type PendingTerms, type Trade } from "./history.ts";
import { NO_LEVELS } from "./limits.ts";
import { rescaled } from "./prices.ts";
import { isBrokersDoing } from "./excuses.ts";
import { agreed, periodsOf, restOf, type Life, type Period, type Span, type Step } from "./periods.ts";
import { levelsText, timeText, tradeText } from "./wording.ts";

const inDigits = (level: Points | null, from: number, to: number): Points | null => (level === null ? null : rescaled(level, from, to));

function wantedLevels({ follower, master }: Copy, life: Trade, levels: Levels): Levels {
  if (!follower.link.settings.copyStops) return NO_LEVELS;
  return { stopLoss: inDigits(levels.stopLoss, master.digits, life.digits), takeProfit: inDigits(levels.takeProfit, master.digits, life.digits) };
}

const wantedTerms = (copy: Copy, life: Trade, terms: PendingTerms): PendingTerms => ({ price: rescaled(terms.price, copy.master.digits, life.digits), ...wantedLevels(copy, life, terms) });
const sameTerms = (a: PendingTerms, b: PendingTerms): boolean => a.price === b.price && sameLevels(a, b);
const termsText = (terms: PendingTerms, digits: number): string => `price ${priceText(terms.price, digits)}, ${levelsText(terms, digits)}`;

/** One period of the master at rest in which the copy did not come to agree. */
interface Disagreement<T> {
  readonly wanted: T;
  readonly period: Period<T>;
  readonly rest: Span;
}

function disagreements<T>(master: Life<T>, copy: Life<T>, { follower, patience }: Copy, wantedOf: (value: T) => T, same: (a: T, b: T) => boolean): Disagreement<T>[] {
  return periodsOf(master.steps, master.end, follower.end.atMs).flatMap((period) => {
    const rest = restOf(period, copy, patience);
    const wanted = wantedOf(period.value);
    return rest === null || agreed(rest, period, copy, patience, (value) => same(value, wanted)) ? [] : [{ wanted, period, rest }];
  });
}

function missedModify(copy: Copy): string[] {
  return copy.lives.flatMap((life) => {
    const { position: held } = copy.master;
    if (held === null || life.position === null) return [];
    const mine = { steps: life.position.levels, end: life.position.end };
    const missed = disagreements({ steps: held.levels, end: held.end }, mine, copy, (levels) => wantedLevels(copy, life, levels), sameLevels);
    const isExcused = ({ wanted, rest }: Disagreement<Levels>): boolean => {
      const order: Order = { kind: "modify", ticket: currentTicketOf(life), symbol: life.symbol, ...wanted };
      return isBrokersDoing(copy, { life, rest, order, isAskedBy: (asked) => (asked.kind === "open" || asked.kind === "modify") && sameLevels(asked, wanted) });
    };
    return missed.filter((one) => !isExcused(one)).map(({ wanted, period }) => missedText(copy, life, levelsText(wanted, life.digits), period));
  });
}

function missedChange(copy: Copy): string[] {
  return copy.lives.flatMap((life) => {
    const { pending: held } = copy.master;
    if (held === null || life.pending === null) return [];
    const mine = { steps: life.pending.terms, end: life.pending.end };
    const missed = disagreements({ steps: held.terms, end: held.end }, mine, copy, (terms) => wantedTerms(copy, life, terms), sameTerms);
    const isExcused = ({ wanted, rest }: Disagreement<PendingTerms>): boolean => {
      const order: Order = { kind: "change", ticket: currentTicketOf(life), symbol: life.symbol, ...wanted };
      return isBrokersDoing(copy, { life, rest, order, isAskedBy: (asked) => (asked.kind === "place" || asked.kind === "change") && sameTerms(asked, wanted) });
    };
    return missed.filter((one) => !isExcused(one)).map(({ wanted, period }) => missedText(copy, life, termsText(wanted, life.digits), period));
  });
}

const missedText = ({ master }: Copy, life: Trade, wanted: string, { fromMs, toMs }: Span): string =>
  `${tradeText(master)}: copy ${tradeText(life)} did not get ${wanted}, the master's from ${timeText(fromMs)} to ${timeText(toMs)}`;

/** A level that is set on a copy was its master's at some time. */
function foreignLevel(copy: Copy): string[] {
  const { master } = copy;
  const ever: readonly Step<Levels>[] = [...(master.pending?.terms ?? []), ...(master.position?.levels ?? [])];
  return copy.lives.flatMap((life) => {
    const wanted = ever.map(({ value }) => wantedLevels(copy, life, value));
    const isForeign = ({ stopLoss, takeProfit }: Levels): boolean =>
      !wanted.some((levels) => stopLoss === null || levels.stopLoss === stopLoss) || !wanted.some((levels) => takeProfit === null || levels.takeProfit === takeProfit);
    const steps: readonly Step<Levels>[] = [...(life.pending?.terms ?? []), ...(life.position?.levels ?? [])];
    const odd = steps.find(({ value }) => isForeign(value));
    return odd === undefined ? [] : [`${tradeText(master)}: copy ${tradeText(life)} got ${levelsText(odd.value, life.digits)} at ${timeText(odd.atMs)}, which the master never had`];
  });
}

function wrongPending(copy: Copy): string[] {
  return copy.lives.flatMap((life) => {
    const fault = life.pending === null ? null : pendingFault(copy, life, life.pending);
    return fault === null ? [] : [`${tradeText(copy.master)}: copied as ${tradeText(life)}, ${fault}`];
  });
}

function pendingFault({ follower, master }: Copy, life: Trade, { kind, terms }: PendingLife): string | null {
  if (!follower.link.settings.copyPendings) return "but the link copies no pending orders";
  if (master.pending === null) return "but the master's is no pending order";
  if (kind !== master.pending.kind) return `expected a ${master.pending.kind}`;
  const prices = master.pending.terms.map(({ value }) => rescaled(value.price, master.digits, life.digits));
  const odd = terms.find(({ value }) => !prices.includes(value.price));
  return odd === undefined ? null : `at ${priceText(odd.value.price, life.digits)}, expected ${prices.map((price) => priceText(price, life.digits)).join(" or ")}`;
}

export const levelRules = { "missed-modify": missedModify, "missed-change": missedChange, "foreign-level": foreignLevel, "wrong-pending": wrongPending } as const;
