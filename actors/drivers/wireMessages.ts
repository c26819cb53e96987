// Owns the reading of wire messages: bytes from outside become typed messages here or nowhere.

import { LockstepError } from "../../protocol/errors.ts";
import type { WireMessage, WireRequest, WireResponse } from "../../protocol/wire.ts";

/** A request without the id that the connection gives it. */
export type RequestBody = WireRequest extends infer R ? (R extends WireRequest ? Omit<R, "id"> : never) : never;

const FIELDS: Readonly<Record<WireMessage["t"], readonly string[]>> = {
  welcome: ["id", "account", "platform", "brokerMs", "symbols", "quotes"],
  result: ["id", "code", "text", "ticket", "volume", "price", "brokerMs"],
  snapshot: ["id", "snapshot"],
  pong: ["id", "brokerMs"],
  error: ["id", "code", "text"],
  change: ["change"],
  quotes: ["quotes"],
  kicked: ["text"],
};

/**
 * @param map a decoded frame, which becomes the message
 * @throws LockstepError `malformed`: an unknown kind, a field that is missing, a whole number above 2^53.
 */
export function readMessage(map: Record<string, unknown>): WireMessage {
  makeNumbersSafe(map);
  const kind = map["t"];
  if (typeof kind !== "string" || !Object.hasOwn(FIELDS, kind)) throw new LockstepError("malformed", `wire message of unknown kind ${JSON.stringify(kind ?? null)}`);
  const missing = FIELDS[kind as WireMessage["t"]].filter((field) => map[field] === undefined);
  if (missing.length > 0) throw new LockstepError("malformed", `wire ${kind} without ${missing.join(", ")}`);
  return map as unknown as WireMessage;
}

/**
 * Servers may write whole numbers in 64 bits, which are read as bigints: rounding one would name another ticket. They are
 * replaced in place, since every quote passes here and hardly any has one.
 */
function makeNumbersSafe(fields: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "bigint") fields[name] = safeNumber(value);
    else if (typeof value === "object" && value !== null && !(value instanceof Uint8Array)) makeNumbersSafe(value as Record<string, unknown>);
  }
}

function safeNumber(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new LockstepError("malformed", `wire number ${value} is above 2^53`);
  return number;
}

export function isResponse(message: WireMessage): message is WireResponse {
  return "id" in message;
}
