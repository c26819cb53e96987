// Owns what Postgres's column types and constraints refuse of a pair's row and an account's state, for its twin.

import type { Link } from "../../protocol/accounts.ts";
import type { AccountStateEvent } from "../../protocol/accountState.ts";
import { LockstepError } from "../../protocol/errors.ts";
import type { Epoch } from "../../protocol/ids.ts";
import { pairKey, type Pair } from "../../protocol/pairs.ts";

const COUNTED = ["masterTicket", "followerTicket", "initialVolume", "volume", "masterInitialVolume", "masterVolume"] as const;
const PRICES = ["openPrice", "stopLoss", "takeProfit"] as const;
const NULLABLE: ReadonlySet<string> = new Set(["followerTicket", ...PRICES]);
const MAX_DIGITS = 12;

/** @throws LockstepError `row_fault` */
export function checkRow(link: Link | undefined, pair: Pair, epoch: Epoch, n: number): void {
  const refuse = (state: string, text: string): never => {
    throw new LockstepError("row_fault", `${state}: pair ${pairKey(pair)}: ${text}`);
  };
  if (link === undefined || link.master !== pair.master || link.follower !== pair.follower) {
    refuse("23503", "there is no such link between these accounts");
  }
  const numbers: readonly (readonly [string, number | null])[] = [...COUNTED, ...PRICES].map((field) => [field, pair[field]] as const);
  for (const [field, value] of [...numbers, ["epoch", epoch], ["n", n]] as const) {
    if (value === null) {
      if (!NULLABLE.has(field)) refuse("23502", `${field} is null`);
    } else if (!Number.isInteger(value)) refuse("22P02", `${field} is no whole number`);
  }
  for (const field of COUNTED) if ((pair[field] ?? 0) < 0) refuse("23514", `${field} is negative`);
  if (pair.opening < 1) refuse("23514", "opening is below 1");
  if (pair.digits < 0 || pair.digits > MAX_DIGITS) refuse("23514", "digits out of range");
  if (JSON.stringify(pair).includes("\\u0000")) refuse("22P05", "a NUL character");
}

/** @throws LockstepError `row_fault` */
export function checkState({ follower, epoch, n, state }: AccountStateEvent): void {
  const refuse = (code: string, text: string): never => {
    throw new LockstepError("row_fault", `${code}: state of ${follower}: ${text}`);
  };
  for (const value of [epoch, n, state.funds?.balance ?? 0, state.funds?.equity ?? 0]) if (!Number.isInteger(value)) refuse("22P02", "no whole number");
  if (epoch < 0 || n < 0) refuse("23514", "a negative version");
  if (JSON.stringify(state).includes("\\u0000")) refuse("22P05", "a NUL character");
}
