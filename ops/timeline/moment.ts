// Owns how a moment is written on the command line: a time with its zone, or how long ago.

import { LockstepError } from "../../protocol/errors.ts";

const ABSOLUTE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/;
const AGO = /^-(\d{1,9})(ms|s|m|h|d)$/;
/** Characters of a date. */
const DAY = 10;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds since 1970. @throws LockstepError `configuration` naming what was expected and what came */
export function momentOf(option: string, text: string, nowMs: number): number {
  if (text === "now") return nowMs;
  const [, count, unit = ""] = AGO.exec(text) ?? [];
  if (count !== undefined) return nowMs - Number(count) * (UNIT_MS[unit] ?? 0);
  const atMs = ABSOLUTE.test(text) && isDay(text.slice(0, DAY)) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) throw new LockstepError("configuration", `${option}: expected a time such as 2026-01-31T12:00:00Z, or -10m (ms, s, m, h, d) ago, or now; got ${JSON.stringify(text)}`);
  return atMs;
}

/** The thirtieth of February would be taken for a day of March. */
const isDay = (date: string): boolean => !Number.isNaN(Date.parse(date)) && new Date(date).toISOString().startsWith(date);
