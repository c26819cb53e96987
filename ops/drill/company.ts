// Owns who plays in a drill: two masters, one on each platform, with followers of all kinds, who trade what is
// generated.

import { castOf, type Cast } from "../demo/cast.ts";
import type { TradingPlan } from "../demo/trading.ts";
import { symbolName } from "../../protocol/ids.ts";
import type { Statement, StatementFormat } from "../statement/model.ts";

/** At this rate some orders of every node wait for their answers at any moment. */
export const TRADING: TradingPlan = { everyMs: 300, burstEveryMs: 100 };

const FORMATS = ["mt4-html", "mt5-html"] as const satisfies readonly StatementFormat[];
const SYMBOLS = ["eurusd", "gbpusd"].map((symbol) => ({ symbol: symbolName(symbol), digits: 5 }));

/** @param followers of each master */
export function drillCompany(followers: number, password: string): Cast[] {
  return FORMATS.map((format, index) => {
    const master = `m${index + 1}`;
    return castOf(emptyStatement(format), followers, { master, prefix: `${master}-`, password });
  });
}

/** What a cast is made from, with nothing in it that would be played. */
const emptyStatement = (format: StatementFormat): Statement => ({
  format,
  positions: [],
  open: [],
  pendings: [],
  filledPendings: [],
  working: [],
  chains: 0,
  unresolvedChains: [],
  ignored: {},
  symbols: SYMBOLS,
  fromMs: null,
  toMs: null,
});
