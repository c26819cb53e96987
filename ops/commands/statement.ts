// Owns the `statement` command: says what is in a statement file.

import Table from "cli-table3";
import type { Statement } from "../statement/model.ts";
import { loadStatement } from "../statement/read.ts";
import { summarise } from "../statement/summary.ts";

/**
 * Prints the summary on standard output, as one JSON object or as a table.
 * @returns the exit code
 * @throws LockstepError `bad_statement` or `configuration`
 */
export async function statementCommand(file: string, options: { readonly json: boolean }): Promise<number> {
  const statement = await loadStatement(file);
  process.stdout.write(`${options.json ? JSON.stringify(summarise(statement)) : summaryTable(statement)}\n`);
  return 0;
}

/** The summary for a person. */
export function summaryTable(statement: Statement): string {
  const { format, positions, open, pendings, working, chains, ignored, symbols, from, to } = summarise(statement);
  const filled = statement.filledPendings.length;
  const counts = Object.entries(ignored).map(([kind, count]) => `${count} ${kind}`);
  const withoutInnerLines = { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" };
  const table = new Table({ chars: withoutInnerLines, style: { head: [], border: [] }, wordWrap: true, colWidths: [26, 52] });
  table.push(
    ["format", format],
    ["broker time", from === null || to === null ? "no trades" : `${from} to ${to}`],
    ["closed positions", positions],
    ["open trades", open],
    ["pendings in the history", filled === 0 ? pendings : `${pendings}, ${filled} of them filled`],
    ["working orders", working],
    ["part-closes", chains],
    ["symbols", symbols.join(", ")],
    ["ignored rows", counts.length === 0 ? "none" : counts.join(", ")],
  );
  if (statement.unresolvedChains.length > 0) table.push(["chains not resolved", statement.unresolvedChains.join(", ")]);
  return table.toString();
}
