// Owns the short form of a statement, as `lockstep statement --json` prints it.

import type { Statement, StatementFormat } from "./model.ts";
import { timeText } from "./values.ts";

export interface StatementSummary {
  readonly format: StatementFormat;
  /** Closed buys and sells. */
  readonly positions: number;
  readonly open: number;
  /** Pending orders in the history, filled ones too where the statement shows them. */
  readonly pendings: number;
  readonly working: number;
  /** Part-closes. */
  readonly chains: number;
  /** Rows that are no trade, by kind. */
  readonly ignored: Readonly<Record<string, number>>;
  readonly symbols: readonly string[];
  /** Broker time, no offset; null when the statement has no trade. */
  readonly from: string | null;
  readonly to: string | null;
}

export function summarise(statement: Statement): StatementSummary {
  const { format, positions, open, pendings, filledPendings, working, chains, ignored, symbols, fromMs, toMs } = statement;
  return {
    format,
    positions: positions.length,
    open: open.length,
    pendings: pendings.length + filledPendings.length,
    working: working.length,
    chains,
    ignored,
    symbols: symbols.map(({ symbol }) => symbol),
    from: fromMs === null ? null : timeText(fromMs),
    to: toMs === null ? null : timeText(toMs),
  };
}
