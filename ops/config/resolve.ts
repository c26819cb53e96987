// Owns resolving a node's settings, once: option, else environment, else file, else default.
//
// 1. Every fault is found before any is told: each is one line with the key, where its text came
//    from, what was expected and what came.
// 2. Nothing is corrected: a value that cannot be used is refused.
// 3. A text that may hold a secret is never repeated.

import { LockstepError, messageOf } from "../../protocol/errors.ts";
import { resolveCredentials, type Environment } from "../credentials.ts";
import { isLoopback } from "./loopback.ts";
import { readConfigFile, type ConfigFile } from "./file.ts";
import { envOf, KEY_NAMES, KEYS, optionOf, type Key, type KeyName, type NodeConfig } from "./keys.ts";
import { limitFaults } from "./limits.ts";

export type Origin = "option" | "environment" | "file" | "default";

export interface ResolvedConfig {
  readonly config: NodeConfig;
  readonly origins: Readonly<Record<KeyName, Origin>>;
  /** The file that was read, or null. */
  readonly file: string | null;
}

export interface ConfigInput {
  /** By key, as the command line has them. */
  readonly options: Readonly<Partial<Record<KeyName, string>>>;
  /** `--config`; else LOCKSTEP_CONFIG. */
  readonly file: string | undefined;
  readonly env: Environment;
  readonly hostName: string;
}

const CONFIG_ENV = "LOCKSTEP_CONFIG";
/** Ours, and no settings: set by whoever launches a process. */
const OTHER_ENV = new Set([CONFIG_ENV, "LOCKSTEP_LAUNCHED"]);
/** Credentials may be kept under the first; the second belongs to tests. */
const FREE_PREFIXES = ["LOCKSTEP_SECRET_", "LOCKSTEP_TEST_"];
const SHORTEST_TOKEN = 16;

interface Found {
  readonly text: string;
  readonly origin: Origin;
  /** For messages. */
  readonly where: string;
}

/** Everything of a node. @throws LockstepError `configuration`: one line for each fault (1) */
export function resolveConfig(input: ConfigInput): ResolvedConfig {
  const { values, origins, file, faults } = collect(input, KEY_NAMES);
  faults.push(...tokenFaults(values, input.env));
  // The relations are judged when every part of them could be read.
  const isWhole = KEY_NAMES.every((name) => values[name] !== undefined);
  if (isWhole) faults.push(...limitFaults(values as NodeConfig));
  refuse(faults);
  return { config: values as NodeConfig, origins: origins as Record<KeyName, Origin>, file };
}

/** What a command needs that is no node. What else is set is not looked at. @throws LockstepError `configuration` (1) */
export function resolveSettings<K extends KeyName>(input: ConfigInput, names: readonly K[]): Pick<NodeConfig, K> {
  const { values, faults } = collect(input, names);
  refuse(faults);
  return values as Pick<NodeConfig, K>;
}

interface Collected {
  /** Without those that could not be read. */
  readonly values: Partial<NodeConfig>;
  readonly origins: Partial<Record<KeyName, Origin>>;
  readonly file: string | null;
  readonly faults: string[];
}

function collect(input: ConfigInput, names: readonly KeyName[]): Collected {
  const path = input.file ?? input.env[CONFIG_ENV];
  const file = path === undefined ? null : readConfigFile(path);
  const faults = [...(file?.faults ?? []), ...unknownVariables(input.env)];
  const values: Partial<Record<KeyName, unknown>> = {};
  const origins: Partial<Record<KeyName, Origin>> = {};
  for (const name of names) {
    const found = find(name, input, file);
    origins[name] = found?.origin ?? "default";
    if (found === null) {
      values[name] = null;
      continue;
    }
    const spec: Key<unknown> = KEYS[name];
    const read = spec.read(found.text);
    if (read.kind === "value") values[name] = read.value;
    else faults.push(`${name} (${found.where}): expected ${read.expected}, got ${spec.secret === true ? "a text that is not shown" : JSON.stringify(found.text)}`); // (3)
  }
  return { values: values as Partial<NodeConfig>, origins, file: path ?? null, faults };
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new LockstepError("configuration", faults.join("\n"));
}

function find(name: KeyName, { options, env, hostName }: ConfigInput, file: ConfigFile | null): Found | null {
  const option = options[name];
  if (option !== undefined) return { text: option, origin: "option", where: `option ${optionOf(name)}` };
  const variable = env[envOf(name)];
  if (variable !== undefined) return { text: variable, origin: "environment", where: `environment ${envOf(name)}` };
  const line = file?.texts.get(name);
  if (file !== null && line !== undefined) return { text: line.text, origin: "file", where: `${file.path}, line ${line.line}` };
  const fallback = name === "nodeName" ? nodeNameOf(hostName) : KEYS[name].fallback;
  return fallback === null ? null : { text: fallback, origin: "default", where: "default" };
}

/** A host's name as a node's: what a node's name cannot hold becomes a dash. */
export function nodeNameOf(hostName: string): string {
  const name = hostName.replaceAll(/[^A-Za-z0-9._-]/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 64);
  return name === "" ? "node" : name;
}

function unknownVariables(env: Environment): string[] {
  const known = new Set<string>([...KEY_NAMES.map(envOf), ...OTHER_ENV]);
  const isFree = (name: string): boolean => FREE_PREFIXES.some((prefix) => name.startsWith(prefix));
  return Object.keys(env)
    .filter((name) => name.startsWith("LOCKSTEP_") && !known.has(name) && !isFree(name))
    .sort()
    .map((name) => `environment ${name}: unknown: expected the name of a setting (lockstep node --help shows them); credentials may be kept in LOCKSTEP_SECRET_...`);
}

function tokenFaults({ httpHost, httpToken }: Partial<NodeConfig>, env: Environment): string[] {
  // Not read: the key's own fault is named already.
  if (httpHost === undefined || httpToken === undefined) return [];
  if (httpToken === null) return isLoopback(httpHost) ? [] : [`httpToken: expected a reference to a token, since httpHost ${httpHost} is beyond the loopback; got none`];
  try {
    const { length } = resolveCredentials(httpToken, env);
    return length >= SHORTEST_TOKEN ? [] : [`httpToken (${httpToken}): expected a token of ${SHORTEST_TOKEN} characters or more, got one of ${length}`];
  } catch (error) {
    return [`httpToken: ${messageOf(error)}`];
  }
}
