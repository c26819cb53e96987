// Owns how records become bytes: msgpack in an envelope with a schema name and version.
//
// 1. Maps carry their field names (`useRecords: false`): any process, of any release, can decode.
// 2. A version this build does not know is refused as `unknown_schema`, never guessed at.
// 3. Bytes that are none of ours are refused as `malformed`.

import { Packr } from "msgpackr";
import { LockstepError } from "./errors.ts";
import type { AccountStateEvent, OwnerEvent } from "./accountState.ts";
import type { PairEvent } from "./pairs.ts";
import type { Book, Tick } from "./ticks.ts";
import type { TimelineEntry } from "./timeline.ts";

const packr = new Packr({ useRecords: false, moreTypes: false });

/** One kind of record: its name and version on the log, and the fields without which it is none. */
export interface Schema<T> {
  readonly name: string;
  readonly version: number;
  readonly fields: readonly (keyof T & string)[];
}

export const TICK: Schema<Tick> = {
  name: "tick",
  version: 1,
  fields: ["master", "epoch", "seq", "occurredAtMs", "brokerNowMs", "callbackAtMs", "body"],
};

export const BOOK: Schema<Book> = { name: "book", version: 1, fields: ["master", "epoch", "seq", "brokerNowMs", "positions", "pendings"] };

export const PAIR_EVENT: Schema<PairEvent> = { name: "pair-event", version: 1, fields: ["kind", "follower", "epoch", "n"] };

/**
 * A schema of its own, in the topic of the pair events: to a release that does not know it such a record is nobody's, and passed
 * over. In a new version of PAIR_EVENT it would stop that release's writers, for a state that is told again anyway.
 */
export const ACCOUNT_STATE: Schema<AccountStateEvent> = { name: "account-state", version: 1, fields: ["follower", "epoch", "n", "state"] };

export const REPLAY: Schema<TimelineEntry> = { name: "replay", version: 1, fields: ["atMs", "node", "boot", "account", "epoch", "event", "detail"] };

export function encode<T>(schema: Schema<T>, value: T): Uint8Array {
  return packr.pack({ schema: schema.name, version: schema.version, value });
}

export const encodeOwnerEvent = (event: OwnerEvent): Uint8Array => (event.kind === "account" ? encode(ACCOUNT_STATE, event) : encode(PAIR_EVENT, event));

/** Whatever owners say in `pair-events`. @throws LockstepError `malformed` or `unknown_schema` */
export function decodeOwnerEvent(bytes: Uint8Array): OwnerEvent {
  const envelope = unpackMap(bytes);
  return envelope["schema"] === ACCOUNT_STATE.name ? valueOf(ACCOUNT_STATE, envelope) : valueOf(PAIR_EVENT, envelope);
}

/** @throws LockstepError `malformed` or `unknown_schema` */
export const decode = <T>(schema: Schema<T>, bytes: Uint8Array): T => valueOf(schema, unpackMap(bytes));

function valueOf<T>(schema: Schema<T>, envelope: Record<string, unknown>): T {
  if (envelope["schema"] !== schema.name) {
    throw new LockstepError("malformed", `expected a ${schema.name} record, got ${JSON.stringify(envelope["schema"] ?? null)}`);
  }
  if (envelope["version"] !== schema.version) {
    throw new LockstepError("unknown_schema", `expected ${schema.name} version ${schema.version}, got ${JSON.stringify(envelope["version"] ?? null)}`);
  }
  const value = envelope["value"];
  const missing = isMap(value) ? schema.fields.filter((field) => !(field in value)) : [...schema.fields];
  if (missing.length > 0) throw new LockstepError("malformed", `${schema.name} record without ${missing.join(", ")}`);
  return value as T;
}

/** Plain msgpack for the wire protocol, without an envelope. */
export const pack = (value: unknown): Uint8Array => packr.pack(value);

/** @throws LockstepError `malformed` when the bytes are no single msgpack map. */
export function unpackMap(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = packr.unpack(bytes);
  } catch (error) {
    throw new LockstepError("malformed", `${bytes.length} bytes that are no msgpack`, error);
  }
  if (!isMap(value)) throw new LockstepError("malformed", `expected a msgpack map, got ${value === null ? "null" : typeof value}`);
  return value;
}

/** Times, bytes and whatever else msgpack makes objects of are none. */
function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
