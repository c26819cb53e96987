// Owns the follower's side of the market for one trade of its master, as the broker session knows it.

import type { Link } from "../../protocol/accounts.ts";
import type { SymbolName } from "../../protocol/ids.ts";
import type { BrokerSession } from "../../protocol/ports/broker.ts";
import { tradeOf, type Market, type Target } from "../core/decide.ts";
import { followerSymbol } from "../core/symbols.ts";

const NO_MARKET: Market = { symbol: "" as SymbolName, spec: null, quote: null };

/** Of a trade that is gone nothing is asked: its copy is ended whatever the market. */
export function marketOf(session: BrokerSession, link: Link, target: Target): Market {
  if (target.kind === "gone") return NO_MARKET;
  const symbol = followerSymbol(link.settings.symbols, tradeOf(target).symbol);
  const spec = session.spec(symbol);
  return spec === null ? { symbol, spec, quote: null } : { symbol: spec.symbol, spec, quote: session.quote(spec.symbol) };
}
