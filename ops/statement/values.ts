// Owns the reading of one cell: times and decimals as brokers write them. What cannot be read is
// an `invalid_value`; whoever knows the row adds where it stands.

import { isLockstepError, LockstepError } from "../../protocol/errors.ts";
import type { BrokerMs } from "../../protocol/units.ts";

const TIME = /^(\d{4})\.(\d{2})\.(\d{2})\s(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?$/;

/** True for anything laid out as a time, also for one that no calendar has. */
export const isTime = (text: string): boolean => TIME.test(text);

/**
 * `2019.09.11 18:22:19`, read as if it were UTC; builds of before 2010 leave the seconds out, some
 * reports show fractions, of which milliseconds are kept.
 * @throws LockstepError `invalid_value`, also for a day or hour that does not exist.
 */
export function timeFromText(text: string): BrokerMs {
  const [year, month, day, hour, minute, second, fraction] = (TIME.exec(text) ?? []).slice(1).map((part: string | undefined) => part ?? "00");
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const ms = Date.parse(`${iso}Z`);
  if (Number.isNaN(ms) || timeText(ms as BrokerMs) !== iso) throw new LockstepError("invalid_value", `expected a time like 2019.09.11 18:22:19, got ${JSON.stringify(text)}`);
  return (ms + Number((fraction ?? "").padEnd(3, "0").slice(0, 3))) as BrokerMs;
}

/** The broker's time as `2019-09-11T18:22:19`, without an offset since nobody knows it. */
export const timeText = (time: BrokerMs): string => new Date(time).toISOString().slice(0, 19);

/** A decimal without the blanks that mark its thousands: `5 000.00`, with any kind of blank. */
export const withoutBlanks = (text: string): string => text.replace(/\s/g, "");

const DECIMAL = /^-?\d+(?:\.(\d+))?$/;
export const isDecimal = (text: string): boolean => DECIMAL.test(text);

/** How many digits stand after the point. */
export const decimalsOf = (decimal: string): number => DECIMAL.exec(decimal)?.[1]?.length ?? 0;

/** Runs what reads one place of a file; a value that it cannot read becomes `bad_statement` with that place. */
export function readAt<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isLockstepError(error, "invalid_value")) throw new LockstepError("bad_statement", `${place}: ${error.message}`, error);
    throw error;
  }
}
