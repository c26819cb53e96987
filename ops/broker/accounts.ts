// Owns what a simulated broker is made of: instruments with one price each, and accounts that
// trade them under symbols of their own.
//
// 1. Nothing that is wrong gets past `checkMarket`: the engine behind it need not doubt a
//    digit, a grid or a name.

import { LockstepError } from "../../protocol/errors.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { Platform, SymbolSpec } from "../../protocol/trades.ts";
import type { Points } from "../../protocol/units.ts";

/** Something with a price, by its canonical name (`eurusd`), whatever the accounts call it. */
export interface Instrument {
  readonly name: string;
  /** Digits after the point in which its price is set. */
  readonly digits: number;
}

/** The price of an instrument, in points of the instrument's digits. */
export interface InstrumentQuote {
  readonly instrument: string;
  readonly bid: Points;
  readonly ask: Points;
}

/** A symbol as one account sees it: own spelling, digits and grid, the price of `instrument`. */
export interface BrokerSymbol extends SymbolSpec {
  readonly instrument: string;
}

export interface BrokerAccount {
  readonly account: AccountId;
  /** Unique within a server. */
  readonly login: number;
  readonly password: string;
  readonly platform: Platform;
  /** Accounts of one company and platform draw their tickets from one rising series. */
  readonly company: string;
  readonly symbols: readonly BrokerSymbol[];
  /** No ticket of this account is below it. */
  readonly firstTicket: number;
}

/** The largest ticket a platform can hold: 31 bits on MT4; on MT5 what is safe in a double, of its 64. */
export const lastTicket = (platform: Platform): number => (platform === "mt4" ? 0x7fff_ffff : Number.MAX_SAFE_INTEGER);
export const MAX_DIGITS = 8;

/** @throws LockstepError `configuration`, naming the account and symbol at fault */
export function checkMarket(instruments: readonly Instrument[], accounts: readonly BrokerAccount[]): void {
  const names = new Set<string>();
  for (const { name, digits } of instruments) {
    refuseTwice(names, name, `instrument ${name}`);
    refuseUnless(isWhole(digits, 0, MAX_DIGITS), `instrument ${name}: digits ${digits}, expected 0 to ${MAX_DIGITS}`);
  }
  const ids = new Set<string>();
  const logins = new Set<number>();
  for (const account of accounts) {
    refuseTwice(ids, account.account, `account ${account.account}`);
    refuseTwice(logins, account.login, `login ${account.login} of account ${account.account}`);
    const last = lastTicket(account.platform);
    refuseUnless(isWhole(account.firstTicket, 1, last), `account ${account.account}: first ticket ${account.firstTicket}, expected 1 to ${last}`);
    checkSymbols(account, names);
  }
}

function checkSymbols(account: BrokerAccount, instruments: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (const spec of account.symbols) {
    const where = `account ${account.account}, symbol ${spec.symbol}`;
    refuseTwice(seen, spec.symbol, where);
    refuseUnless(instruments.has(spec.instrument), `${where}: no instrument ${JSON.stringify(spec.instrument)}`);
    refuseUnless(isWhole(spec.digits, 0, MAX_DIGITS), `${where}: digits ${spec.digits}, expected 0 to ${MAX_DIGITS}`);
    refuseUnless(isWhole(spec.stopLevelPoints, 0, Number.MAX_SAFE_INTEGER), `${where}: stop level ${spec.stopLevelPoints}, expected whole points`);
    const { volumeMin, volumeStep, volumeMax } = spec;
    refuseUnless(
      [volumeMin, volumeStep, volumeMax].every((volume) => isWhole(volume, 1, Number.MAX_SAFE_INTEGER)) && volumeMax >= volumeMin,
      `${where}: volumes min ${volumeMin}, step ${volumeStep}, max ${volumeMax}, expected whole units above 0 and max at or above min`,
    );
  }
}

export function isWhole(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}

function refuseUnless(holds: boolean, text: string): void {
  if (!holds) throw new LockstepError("configuration", text);
}

function refuseTwice<T>(seen: Set<T>, value: T, what: string): void {
  refuseUnless(!seen.has(value), `${what} is there twice`);
  seen.add(value);
}
