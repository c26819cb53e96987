// Owns how a timeline looks on a screen: one line an entry, in columns. Drills, postmortems and tests all
// show theirs with it.
//
// 1. Texts come from outside (brokers' words, records of other releases): nothing of them moves a cursor or
//    turns a line around.

import type { TimelineDetail, TimelineEntry } from "../../protocol/timeline.ts";
import { lotsText, type VolumeUnits } from "../../protocol/units.ts";

/** What counts as second 0; `wall` shows the time of day, UTC. */
export type Zero = { readonly kind: "at"; readonly atMs: number } | { readonly kind: "wall" };

/** What a detail's number is rounded to: a microsecond of a millisecond value. */
const DECIMALS = 3;

/** One line for each entry, in the order given. */
export function timelineLines(entries: readonly TimelineEntry[], zero: Zero): string[] {
  const rows = entries.map((entry) => [timeText(entry.atMs, zero), shown(entry.node ?? "-"), aboutText(entry), shown(entry.event), detailText(entry.detail)]);
  const width = (column: number): number => rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0);
  const [time, node, about, event] = [width(0), width(1), width(2), width(3)];
  return rows.map(([at = "", of = "", whom = "", what = "", detail = ""]) => `${at.padStart(time)}  ${of.padEnd(node)}  ${whom.padEnd(about)}  ${what.padEnd(event)}  ${detail}`.trimEnd());
}

/** `account #epoch`; nothing for an entry of the whole node. */
export function aboutText({ account, epoch }: Pick<TimelineEntry, "account" | "epoch">): string {
  if (account === null) return "";
  return epoch === null ? shown(account) : `${shown(account)} #${epoch}`;
}

/** `name=value ...`, in the order in which they were told. */
export function detailText(detail: TimelineDetail): string {
  return Object.entries(detail)
    .map(([name, value]) => `${shown(name)}=${isVolume(name, value) ? lotsText(value) : valueText(value)}`)
    .join(" ");
}

function timeText(atMs: number, zero: Zero): string {
  if (zero.kind === "wall") return new Date(atMs).toISOString().replace("T", " ");
  const seconds = (atMs - zero.atMs) / 1_000;
  return `${seconds < 0 ? "" : "+"}${seconds.toFixed(DECIMALS)}`;
}

/** Volumes are told in units: 10^-8 lots, which nobody reads. */
const isVolume = (name: string, value: unknown): value is VolumeUnits => /^volume$|Volume$/.test(name) && Number.isSafeInteger(value);

function valueText(value: unknown): string {
  if (typeof value === "number") return String(Number(value.toFixed(DECIMALS)));
  return typeof value === "string" ? shown(value) : JSON.stringify(value);
}

const PLAIN = /^[\x21-\x7e]+$/;
/** Control characters that JSON leaves as they are, and those that turn the direction of a text. */
const UNSHOWABLE = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** As it is where it is one plain word, else in quotes, with what cannot be shown escaped (1). */
function shown(text: string): string {
  if (PLAIN.test(text) && !text.includes('"')) return text;
  return JSON.stringify(text).replace(UNSHOWABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
