// Owns the settings of a node: the one table from which the options of the command, the names in
// the environment, the keys of the file, the help and the README's table come.
//
// 1. A key's names follow from the key: `httpPort` is `--http-port`, `LOCKSTEP_HTTP_PORT` and, in the
//    file, `httpPort`. Two have names in the environment that everybody knows: DATABASE_URL, KAFKA_BROKERS.
// 2. A default is written as text too and read by the same reader; a key without one is null.

import { LEVELS, PLATFORMS, PROFILE_NAMES } from "./choices.ts";
import { MAX_LANES } from "../../actors/executor/sizes.ts";
import { cellId, nodeId } from "../../protocol/ids.ts";
import { DEFAULT_PARTITIONS, MAX_PARTITIONS } from "../../protocol/topics.ts";
import { addresses, host, idOf, oneOf, path, postgresUrl, reference, someOf, wholeNumber, type Reader } from "./readers.ts";

export interface Key<T> {
  readonly read: Reader<T>;
  /** As it would be written; null: none, and `meaning` says what happens then. */
  readonly fallback: string | null;
  readonly meaning: string;
  /** How the option's value is called in the help. */
  readonly placeholder: string;
  /** The environment's name where it does not follow from the key. */
  readonly env?: string;
  /** The text may be or hold a secret: it is never repeated. */
  readonly secret?: true;
}

const key = <T>(spec: Key<T>): Key<T> => spec;

/** Accounts that one process may hold at once: each has a place in the gate. */
export const GATE_SLOTS = 16_384;
const LONGEST_MS = 3_600_000;

export const KEYS = {
  cell: key({ read: idOf(cellId), fallback: "main", placeholder: "<name>", meaning: "the set of nodes and accounts that this node belongs to" }),
  nodeName: key({ read: idOf(nodeId), fallback: null, placeholder: "<name>", meaning: "this node's name, one of its own for every node of a cell; by default the host's name" }),
  databaseUrl: key({ read: postgresUrl, fallback: null, placeholder: "<url>", env: "DATABASE_URL", secret: true, meaning: "a PostgreSQL server (14 or newer); by default the embedded one" }),
  kafkaBrokers: key({ read: addresses, fallback: null, placeholder: "<list>", env: "KAFKA_BROKERS", meaning: "host:port of one or more Kafka brokers, separated by commas, without TLS or SASL; by default the local Kafka" }),
  partitions: key({ read: wholeNumber(1, MAX_PARTITIONS), fallback: null, placeholder: "<n>", meaning: `partitions of every topic: chosen once, for a new cell (by default ${DEFAULT_PARTITIONS}); later it must be what is stored` }),
  replication: key({ read: wholeNumber(1, 9), fallback: "1", placeholder: "<n>", meaning: "copies of every topic that is created: 1 for one broker; 3 wherever an acknowledged event must outlive a broker" }),
  profile: key({ read: oneOf(PROFILE_NAMES), fallback: "steady", placeholder: "<name>", meaning: "the lease's times: published, steady or fast" }),
  capacity: key({ read: wholeNumber(0, GATE_SLOTS), fallback: "1000", placeholder: "<n>", meaning: "accounts that this node takes at most" }),
  platforms: key({ read: someOf(PLATFORMS), fallback: "mt4,mt5", placeholder: "<list>", meaning: "platforms whose accounts this node takes" }),
  lanes: key({ read: wholeNumber(1, MAX_LANES), fallback: "128", placeholder: "<n>", meaning: "blocking broker calls at once" }),
  reserve: key({ read: wholeNumber(1, 1_023), fallback: "16", placeholder: "<n>", meaning: "threads of the pool that lanes never use: files and name look-ups need them; lanes and reserve are 1024 at most" }),
  hosts: key({ read: wholeNumber(1, 64), fallback: "2", placeholder: "<n>", meaning: "threads that run the lanes' calls" }),
  parallelism: key({ read: wholeNumber(1, 1_000), fallback: "16", placeholder: "<n>", meaning: "orders of one follower that are under way at once" }),
  brokerTimeoutMs: key({ read: wholeNumber(1, LONGEST_MS), fallback: null, placeholder: "<ms>", meaning: "how long an order's answer is waited for; below the profile's margin; by default 10000, with fast 2500" }),
  settleMs: key({ read: wholeNumber(1, LONGEST_MS), fallback: "30000", placeholder: "<ms>", meaning: "how long an order without an answer may still be executed by its broker" }),
  httpHost: key({ read: host, fallback: "127.0.0.1", placeholder: "<address>", meaning: "where HTTP listens; beyond the loopback it needs httpToken" }),
  httpPort: key({ read: wholeNumber(0, 65_535), fallback: "9520", placeholder: "<n>", meaning: "HTTP's port; 0 takes a free one" }),
  httpToken: key({ read: reference, fallback: null, secret: true, placeholder: "<reference>", meaning: "env:NAME or file:PATH of the bearer token, 16 characters or more; by default a new one in the state folder, readable by its owner alone" }),
  logLevel: key({ read: oneOf(LEVELS), fallback: "info", placeholder: "<level>", meaning: "the lowest level of log lines that are written to standard error" }),
  stateDir: key({ read: path, fallback: null, placeholder: "<folder>", meaning: "where the embedded PostgreSQL, the local Kafka and the HTTP token live; by default .lockstep in the clone" }),
} as const;

export type KeyName = keyof typeof KEYS;
export const KEY_NAMES = Object.keys(KEYS) as readonly KeyName[];
export const isKeyName = (text: string): text is KeyName => Object.hasOwn(KEYS, text);

type ValueOf<K> = K extends { readonly read: Reader<infer T> } ? T : never;
/** Keys that have no value unless somebody gives one. */
type MayBeNull = "databaseUrl" | "kafkaBrokers" | "partitions" | "brokerTimeoutMs" | "httpToken" | "stateDir";
/** Everything resolved. */
export type NodeConfig = { readonly [K in KeyName]: ValueOf<(typeof KEYS)[K]> | (K extends MayBeNull ? null : never) };

const words = (name: KeyName): string[] => name.split(/(?=[A-Z])/).map((word) => word.toLowerCase());

/** Invariant 1. */
export const optionOf = (name: KeyName): string => `--${words(name).join("-")}`;
export function envOf(name: KeyName): string {
  const spec: Key<unknown> = KEYS[name];
  return spec.env ?? `LOCKSTEP_${words(name).join("_").toUpperCase()}`;
}
