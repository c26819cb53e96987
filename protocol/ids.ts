// Owns the branded identifiers of the system. A brand stops one kind of number or string from
// being handed over where another is meant; it costs nothing at run time.

import { LockstepError } from "./errors.ts";

declare const brand: unique symbol;
export type Brand<T, B extends string> = T & { readonly [brand]: B };

/** A broker account known to the cell, master or follower. */
export type AccountId = Brand<string, "AccountId">;
/** Joins one master to one follower. */
export type LinkId = Brand<string, "LinkId">;
export type NodeId = Brand<string, "NodeId">;
/** New at each start of a node: "me" is always (node, boot). */
export type BootId = Brand<string, "BootId">;
export type CellId = Brand<string, "CellId">;
/** An order's or position's number at its broker. MT4: 32 bits. MT5: 64 bits, safe integers only. */
export type Ticket = Brand<number, "Ticket">;
/** Written into every order of one link; 32 bits, unique per (broker, login), never reused. */
export type Magic = Brand<number, "Magic">;
/** Rises at every acquisition of an account, by whomever. */
export type Epoch = Brand<number, "Epoch">;
/** Counts one master's ticks within one epoch, from 1. */
export type Seq = Brand<number, "Seq">;
/** A symbol as one account's broker spells it, with its prefix and suffix. */
export type SymbolName = Brand<string, "SymbolName">;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

function name(kind: string, text: string): string {
  if (!NAME.test(text)) {
    throw new LockstepError("invalid_value", `${kind}: expected 1-64 letters, digits, '.', '_' or '-', got ${JSON.stringify(text)}`);
  }
  return text;
}

/** @throws LockstepError `invalid_value` */
export const accountId = (text: string): AccountId => name("account id", text) as AccountId;
/** @throws LockstepError `invalid_value` */
export const linkId = (text: string): LinkId => name("link id", text) as LinkId;
/** @throws LockstepError `invalid_value` */
export const nodeId = (text: string): NodeId => name("node id", text) as NodeId;
/** @throws LockstepError `invalid_value` */
export const bootId = (text: string): BootId => name("boot id", text) as BootId;
/** @throws LockstepError `invalid_value` */
export const cellId = (text: string): CellId => name("cell id", text) as CellId;

function whole(kind: string, value: number, max: number): number {
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw new LockstepError("invalid_value", `${kind}: expected a whole number from 0 to ${max}, got ${value}`);
  }
  return value;
}

/** @throws LockstepError `invalid_value`: MT5 numbers above 2^53 are refused rather than rounded. */
export const ticket = (value: number): Ticket => whole("ticket", value, Number.MAX_SAFE_INTEGER) as Ticket;
/** @throws LockstepError `invalid_value` */
export const magic = (value: number): Magic => whole("magic", value, 0x7fff_ffff) as Magic;
/** @throws LockstepError `invalid_value` */
export const epoch = (value: number): Epoch => whole("epoch", value, Number.MAX_SAFE_INTEGER) as Epoch;
/** @throws LockstepError `invalid_value` */
export const seq = (value: number): Seq => whole("seq", value, Number.MAX_SAFE_INTEGER) as Seq;

/** @throws LockstepError `invalid_value`: brokers allow odd characters, but no blanks and no more than 32. */
export function symbolName(text: string): SymbolName {
  if (text.length < 1 || text.length > 32 || /\s/.test(text)) {
    throw new LockstepError("invalid_value", `symbol: expected 1-32 characters without blanks, got ${JSON.stringify(text)}`);
  }
  return text as SymbolName;
}
