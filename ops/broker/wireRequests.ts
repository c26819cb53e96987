// Owns the reading of requests: what comes out of a frame is a map of anything, what goes on from
// here is a WireRequest with every field of its type.
//
// 1. Nothing here throws to the caller, whatever was sent.
// 2. Whole numbers may come in any of msgpack's forms, 64-bit ones too; one that is not safe in
//    a double is refused, never rounded.

import { isLockstepError, LockstepError } from "../../protocol/errors.ts";
import type { Epoch, Magic, SymbolName, Ticket } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { PendingKind } from "../../protocol/trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../protocol/units.ts";
import { MAX_CLIENT_CHARACTERS, type WireErrorCode, type WireRequest } from "../../protocol/wire.ts";

export type ReadRequest =
  | { readonly kind: "read"; readonly request: WireRequest }
  | { readonly kind: "unreadable"; readonly id: number | null; readonly code: Extract<WireErrorCode, "malformed" | "unsupported">; readonly text: string };

type Fields = Readonly<Record<string, unknown>>;

const PENDING_KINDS: readonly PendingKind[] = ["buy_limit", "sell_limit", "buy_stop", "sell_stop"];

export function readRequest(message: Fields): ReadRequest {
  let id: number | null = null;
  try {
    id = whole(message, "id");
    const request = requestOf(message, id);
    return request === null ? { kind: "unreadable", id, code: "unsupported", text: "this server does not know such a request" } : { kind: "read", request };
  } catch (error) {
    if (!isLockstepError(error, "malformed")) throw error;
    return { kind: "unreadable", id, code: "malformed", text: error.message }; // 1
  }
}

/** Null where the request, or the kind of order, is not known. */
function requestOf(message: Fields, id: number): WireRequest | null {
  switch (message["t"]) {
    case "login":
      return { t: "login", id, login: whole(message, "login"), password: text(message, "password"), channel: oneOf(message, "channel", ["session", "call"]), ...client(message) };
    case "order": {
      const order = orderOf(map(message, "order"));
      return order === null ? null : { t: "order", id, order, ...epoch(message) };
    }
    case "snapshot":
      return { t: "snapshot", id, historyFromMs: whole(message, "historyFromMs") as BrokerMs };
    case "ping":
      return { t: "ping", id };
    default:
      return null;
  }
}

function orderOf(order: Fields): Order | null {
  switch (order["kind"]) {
    case "open":
      return { kind: "open", side: oneOf(order, "side", ["buy", "sell"]), priceLimit: pointsOrNull(order, "priceLimit"), ...newTrade(order) };
    case "close":
      return { kind: "close", ...standing(order), volume: whole(order, "volume") as VolumeUnits, part: flag(order, "part") };
    case "modify":
      return { kind: "modify", ...standing(order), ...stops(order) };
    case "place":
      return { kind: "place", pending: oneOf(order, "pending", PENDING_KINDS), price: whole(order, "price") as Points, ...newTrade(order) };
    case "change":
      return { kind: "change", ...standing(order), price: whole(order, "price") as Points, ...stops(order) };
    case "cancel":
      return { kind: "cancel", ...standing(order) };
    default:
      return null;
  }
}

const stops = (order: Fields) => ({ stopLoss: pointsOrNull(order, "stopLoss"), takeProfit: pointsOrNull(order, "takeProfit") });

const standing = (order: Fields) => ({ ticket: whole(order, "ticket") as Ticket, symbol: text(order, "symbol") as SymbolName });

const newTrade = (order: Fields) => ({
  symbol: text(order, "symbol") as SymbolName,
  volume: whole(order, "volume") as VolumeUnits,
  magic: whole(order, "magic") as Magic,
  comment: text(order, "comment"),
  ...stops(order),
});

const pointsOrNull = (fields: Fields, name: string): Points | null => (fields[name] === null ? null : (whole(fields, name) as Points));

function whole(fields: Fields, name: string): number {
  const value = fields[name];
  const number = typeof value === "bigint" ? Number(value) : value; // 2
  if (typeof number !== "number" || !Number.isSafeInteger(number) || number < 0) throw wrong(name, "a whole number from 0 to 2^53", value);
  return number;
}

function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw wrong(name, "a string", value);
  return value;
}

function client(login: Fields): { readonly client?: string } {
  if (login["client"] === undefined || login["client"] === null) return {};
  const name = text(login, "client");
  if (name.length > MAX_CLIENT_CHARACTERS) throw wrong("client", `at most ${MAX_CLIENT_CHARACTERS} characters`, name);
  return { client: name };
}

function epoch(order: Fields): { readonly epoch?: Epoch } {
  return order["epoch"] === undefined || order["epoch"] === null ? {} : { epoch: whole(order, "epoch") as Epoch };
}

function flag(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (typeof value !== "boolean") throw wrong(name, "a boolean", value);
  return value;
}

function oneOf<T extends string>(fields: Fields, name: string, values: readonly T[]): T {
  const found = values.find((value) => value === fields[name]);
  if (found === undefined) throw wrong(name, values.join(" or "), fields[name]);
  return found;
}

function map(fields: Fields, name: string): Fields {
  const value = fields[name];
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Uint8Array) throw wrong(name, "a map", value);
  return value as Fields;
}

/** Says the kind of what came, not the thing: it may be a password, or very long. */
function wrong(name: string, expected: string, value: unknown): LockstepError {
  return new LockstepError("malformed", `${name}: expected ${expected}, got ${value === null ? "null" : typeof value}`);
}
