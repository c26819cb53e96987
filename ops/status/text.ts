// Owns how a status looks on a screen.

import Table from "cli-table3";
import type { NodeView } from "../../protocol/ports/overview.ts";
import type { StatusReport, WriterStatus } from "./report.ts";

/** More than fit a screen help nobody: the JSON has all of them. */
const SHOWN_ACCOUNTS = 50;
const LINES = { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" };

export function statusText(report: StatusReport): string {
  const { cell, nodes, accounts, unowned, parked, writers, skipsOfLastHour } = report;
  const enabled = accounts.filter((account) => account.enabled);
  const shown = accounts.slice(0, SHOWN_ACCOUNTS);
  const hidden = accounts.length - shown.length;
  const parts = [
    `cell ${cell}: ${enabled.length - unowned.length} of ${enabled.length} enabled accounts have a live owner`,
    nodes.length === 0 ? "no node has ever run" : table(["node", "lease", "accounts", "log", "takes", "http"], nodes.map(nodeRow)),
    accounts.length === 0
      ? "no accounts: lockstep apply puts them in"
      : table(["account", "role", "platform", "owner", "epoch"], shown.map(({ account, role, platform, node, live, epoch, enabled: isEnabled }) => [account, role, platform, ownerText(node, live, isEnabled), String(epoch)])),
    ...(hidden > 0 ? [`and ${hidden} more accounts (--json shows all)`] : []),
    ...parked.map(({ account, reason }) => `parked: ${account}: ${reason}`),
    writersText(writers),
    skipsOfLastHour.length === 0 ? "skipped in the last hour: nothing" : `skipped in the last hour: ${skipsOfLastHour.map(({ reason, count }) => `${reason} ${count}`).join(", ")}`,
  ];
  return parts.join("\n");
}

function table(head: string[], rows: string[][]): string {
  const made = new Table({ head, chars: LINES, style: { head: [], border: [] } });
  made.push(...rows);
  return made.toString();
}

function nodeRow({ node, live, leaseLeftMs, accounts, logOk, accepting, platforms, address }: NodeView): string[] {
  const seconds = Math.round(Math.abs(leaseLeftMs) / 1_000);
  return [node, live ? `live, ${seconds} s left` : `ended ${seconds} s ago`, String(accounts), live ? (logOk ? "ok" : "not reached") : "-", accepting ? platforms.join(" ") : "nothing more", address ?? "-"];
}

function ownerText(node: string | null, live: boolean, enabled: boolean): string {
  if (node === null) return enabled ? "nobody" : "switched off";
  return live ? node : `${node} (its lease has ended)`;
}

function writersText(writers: WriterStatus): string {
  if (writers.kind === "unknown") return `writers: not known: ${writers.why}`;
  const behind = writers.partitions.filter(({ lag }) => lag > 0).map(({ partition, lag }) => `${partition}: ${lag}`);
  return `writers: ${writers.lag} events behind${behind.length === 0 ? "" : ` (by partition ${behind.join(", ")})`}`;
}
