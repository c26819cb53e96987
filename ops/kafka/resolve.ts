// Owns which Kafka a process uses: the one that KAFKA_BROKERS names, else the local one.

import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { addresses } from "../config/readers.ts";
import type { Environment } from "../credentials.ts";
import { CLONE_FOLDER, stateFolder } from "../local/stateFolder.ts";
import { ownUser } from "../local/users.ts";
import { startLocalKafka } from "./localKafka.ts";

export interface ResolveOptions {
  readonly env: Environment;
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface ResolvedKafka {
  readonly brokers: readonly string[];
  readonly source: "KAFKA_BROKERS" | "local";
  /** Stops the local Kafka if nobody else uses it; leaves any other alone. */
  stop(): Promise<void>;
}

/** @throws LockstepError `configuration` (no host:port, no Java or Maven, a folder that cannot be used), `unreachable` */
export async function resolveKafka({ env, logger, clock }: ResolveOptions): Promise<ResolvedKafka> {
  const named = env["KAFKA_BROKERS"];
  if (named !== undefined) return { brokers: readBrokers(named), source: "KAFKA_BROKERS", stop: () => Promise.resolve() };
  const kafka = await startLocalKafka({ stateDir: await resolveKafkaFolder(env), logger, clock, env });
  return { brokers: kafka.brokers, source: "local", stop: () => kafka.stop() };
}

/** The state folder of this clone and user: Kafka runs as whoever runs us, also as root. @throws LockstepError `configuration` */
export async function resolveKafkaFolder(env: Environment): Promise<string> {
  return stateFolder(env, CLONE_FOLDER, ownUser());
}

/** By the rule of the setting. @throws LockstepError `configuration` naming what was expected and found */
export function readBrokers(text: string): readonly string[] {
  const read = addresses(text);
  if (read.kind === "value") return read.value;
  throw new LockstepError("configuration", `KAFKA_BROKERS: expected ${read.expected}, found ${JSON.stringify(text)}`);
}
