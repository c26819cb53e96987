// Owns the rules about Lockstep's own rows: each copy has one, and what it says at the end is what
// the broker has.

import type { Pair } from "../../../protocol/pairs.ts";
import { lotsText, type VolumeUnits } from "../../../protocol/units.ts";
import type { Copy, FollowerCase } from "./cases.ts";
import { currentTicketOf, endOf, initialVolumeOf, sideOf, type Levels, type Trade } from "./history.ts";
import { NO_LEVELS } from "./limits.ts";
import { endReasonsOf } from "./reasons.ts";
import { levelText, tradeText } from "./wording.ts";

/** Rows that speak of a copy at its broker. */
const claims = (rows: readonly Pair[]): Pair[] => rows.filter(({ status }) => status === "Open" || status === "Closed");

const rowText = ({ link, masterTicket, opening, status }: Pair): string => `row ${link}/${masterTicket}/${opening} (${status})`;

function rowMissing({ master, lives, rows }: Copy): string[] {
  const life = lives.at(-1);
  // A row that still says `Sending`, or wrongly `Skipped`, is another rule's.
  const isSpokenOf = rows.some(({ status, reason }) => status !== "Superseded" && reason !== "pendings_off");
  return life === undefined || isSpokenOf ? [] : [`${tradeText(master)}: copy ${tradeText(life)} has no row`];
}

function rowDoubled({ master, rows }: Copy): string[] {
  const found = claims(rows);
  return found.length < 2 ? [] : [`${tradeText(master)}: ${found.map(rowText).join(" and ")}`];
}

function rowSending({ rows }: FollowerCase): string[] {
  return rows.filter(({ status }) => status === "Sending").map((row) => `${rowText(row)} is not settled at the end`);
}

function rowUnknown({ rows, copies, link }: FollowerCase): string[] {
  return rows.filter((row) => !copies.has(row.masterTicket) || row.link !== link.id).map((row) => `${rowText(row)}: no such trade of the master, or not of link ${link.id}`);
}

function rowWrong(copy: Copy): string[] {
  const { master, lives, rows } = copy;
  return claims(rows).flatMap((row) => {
    const life = lives.find(({ tickets }) => row.followerTicket !== null && tickets.includes(row.followerTicket)) ?? lives.at(-1);
    if (life === undefined) return [`${tradeText(master)}: ${rowText(row)}, but there is no copy`];
    const wrong = differences(copy, row, life);
    return wrong.length === 0 ? [] : [`${tradeText(master)}: ${rowText(row)} of copy ${tradeText(life)} says ${wrong.join(", ")}`];
  });
}

/** `name said, not true` for each column that is not as the broker has it. */
function differences(copy: Copy, row: Pair, life: Trade): string[] {
  const isLive = endOf(life) === null;
  const levels = isLive ? standingLevels(life) : null;
  const reasons = endReasonsOf(copy, life);
  const columns: readonly (readonly [name: string, said: string | number | null, is: string | number | null])[] = [
    ["status", row.status, isLive ? "Open" : "Closed"],
    ["holds", row.holds, life.position === null ? "pending" : "position"],
    ["ticket", row.followerTicket, currentTicketOf(life)],
    ["symbol", row.symbol, life.symbol],
    ["side", row.side, sideOf(life)],
    ["initial volume", lotsText(row.initialVolume), lotsText(initialVolumeOf(life))],
    ["volume", lotsText(row.volume), lotsText(isLive ? standingVolume(life) : (0 as VolumeUnits))],
    ...(reasons.length === 0 || reasons.some((reason) => reason === row.reason) ? [] : [["reason", row.reason, reasons.join(" or ")] as const]),
    ...(levels === null
      ? []
      : ([
          ["stop", levelText(row.stopLoss, life.digits), levelText(levels.stopLoss, life.digits)],
          ["target", levelText(row.takeProfit, life.digits), levelText(levels.takeProfit, life.digits)],
        ] as const)),
  ];
  return columns.filter(([, said, is]) => said !== is).map(([name, said, is]) => `${name} ${said}, not ${is}`);
}

const standingVolume = (life: Trade): VolumeUnits => life.position?.volumes.at(-1)?.value ?? initialVolumeOf(life);
const standingLevels = ({ pending, position }: Trade): Levels => position?.levels.at(-1)?.value ?? pending?.terms.at(-1)?.value ?? NO_LEVELS;

export const rowRules = { "row-missing": rowMissing, "row-doubled": rowDoubled, "row-wrong": rowWrong } as const;
export const followerRowRules = { "row-sending": rowSending, "row-unknown": rowUnknown } as const;
