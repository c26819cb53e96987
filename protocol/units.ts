// Owns volumes and prices as whole numbers, and their conversion from and to decimal text.
//
// 1. A volume is an integer of 1e-8 lots, a price an integer of points of the symbol's digits, so
//    0.07 / 0.01 is 7 and never 7.000000000000001.
// 2. Text is read digit by digit; no float stands between a decimal and its integer.

import type { Brand } from "./ids.ts";
import { LockstepError } from "./errors.ts";

/** 1e-8 lots. */
export type VolumeUnits = Brand<number, "VolumeUnits">;
/** Points: 10^-digits of the symbol's price. */
export type Points = Brand<number, "Points">;
/** Milliseconds since 1970 on a wall clock of ours. */
export type WallMs = Brand<number, "WallMs">;
/** Milliseconds since 1970 as a broker's own clock shows it; it may be hours from ours and has no zone. */
export type BrokerMs = Brand<number, "BrokerMs">;

/** Hundredths of an account's currency. */
export type Cents = Brand<number, "Cents">;

const VOLUME_DIGITS = 8;
/** Units of one lot. */
export const LOT = 100_000_000 as VolumeUnits;
export const NO_VOLUME = 0 as VolumeUnits;

const DECIMAL = /^(-?)(\d+)(?:\.(\d*))?$/;

/**
 * Reads a plain decimal as an integer of 10^-digits.
 * @throws LockstepError `invalid_value` when it is no decimal, has more significant digits than fit, or is not safe.
 */
export function decimalToInteger(text: string, digits: number): number {
  const match = DECIMAL.exec(text);
  const fraction = (match?.[3] ?? "").replace(/0+$/, "");
  if (match === null || fraction.length > digits) {
    throw new LockstepError("invalid_value", `expected a decimal with at most ${digits} digits after the point, got ${JSON.stringify(text)}`);
  }
  const value = Number(`${match[1]}${match[2]}${fraction.padEnd(digits, "0")}`);
  if (!Number.isSafeInteger(value)) {
    throw new LockstepError("invalid_value", `${JSON.stringify(text)} with ${digits} digits is larger than 2^53`);
  }
  return value === 0 ? 0 : value;
}

/** The decimal text of an integer of 10^-digits, with exactly `digits` digits after the point. */
export function integerToDecimal(value: number, digits: number): string {
  const text = Math.abs(value).toString().padStart(digits + 1, "0");
  const sign = value < 0 ? "-" : "";
  return digits === 0 ? `${sign}${text}` : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** @throws LockstepError `invalid_value` */
export const volumeFromLots = (lots: string): VolumeUnits => decimalToInteger(lots, VOLUME_DIGITS) as VolumeUnits;
/** Lots without trailing zeros, at least two digits after the point: `0.10`. */
export function lotsText(volume: VolumeUnits): string {
  return integerToDecimal(volume, VOLUME_DIGITS).replace(/0{1,6}$/, "");
}

/** @throws LockstepError `invalid_value` */
export const pointsFromPrice = (price: string, digits: number): Points => decimalToInteger(price, digits) as Points;
export const priceText = (points: Points, digits: number): string => integerToDecimal(points, digits);

/** The same price in points of other digits, rounded half up (away from zero does not occur: prices are positive). */
export function rescalePoints(points: Points, fromDigits: number, toDigits: number): Points {
  if (toDigits >= fromDigits) return (points * 10 ** (toDigits - fromDigits)) as Points;
  return Math.floor(points / 10 ** (fromDigits - toDigits) + 0.5) as Points;
}
