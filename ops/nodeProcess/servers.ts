// Owns which PostgreSQL and which Kafka a node uses, and its part in those of this machine.
//
// 1. Parent and child each take part in a server of this machine: whichever of them ends first, and
//    however, the other still has it, and the last one out stops it.

import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { NodeConfig } from "../config/keys.ts";
import type { Environment } from "../credentials.ts";
import type { Ends } from "../ends.ts";

export type ServerConfig = Pick<NodeConfig, "databaseUrl" | "kafkaBrokers" | "stateDir">;

export interface ServerOptions {
  readonly config: ServerConfig;
  readonly env: Environment;
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface OpenServer<T> {
  readonly at: T;
  /** The last one out stops a server of this machine; any other is left alone. */
  stop(): Promise<void>;
}

/** The environment as the settings have it. */
export function serverEnvironment(config: ServerConfig, env: Environment): Environment {
  const { DATABASE_URL: _url, KAFKA_BROKERS: _brokers, LOCKSTEP_STATE_DIR: _folder, ...rest } = env;
  return {
    ...rest,
    ...(config.databaseUrl === null ? {} : { DATABASE_URL: config.databaseUrl }),
    ...(config.kafkaBrokers === null ? {} : { KAFKA_BROKERS: config.kafkaBrokers.join(",") }),
    ...(config.stateDir === null ? {} : { LOCKSTEP_STATE_DIR: config.stateDir }),
  };
}

/** Its URL. @throws LockstepError `configuration`, `unreachable` */
export async function openDatabaseServer({ config, env, logger, clock }: ServerOptions): Promise<OpenServer<string>> {
  const { resolveDatabase } = await import("../postgres/resolve.ts");
  const database = await resolveDatabase({ env: serverEnvironment(config, env), logger, clock });
  return { at: database.url, stop: () => database.stop() };
}

/** Its brokers. @throws LockstepError `configuration`, `unreachable` */
export async function openKafkaServer({ config, env, logger, clock }: ServerOptions): Promise<OpenServer<readonly string[]>> {
  const { resolveKafka } = await import("../kafka/resolve.ts");
  const kafka = await resolveKafka({ env: serverEnvironment(config, env), logger, clock });
  return { at: kafka.brokers, stop: () => kafka.stop() };
}

/**
 * What the parent keeps for its child: only servers of this machine (1). Resolves with the database's URL,
 * null when it was told to end meanwhile and has started no more.
 */
export async function keepLocalServers(options: ServerOptions, ends: Ends, isTold: () => boolean): Promise<string | null> {
  if (options.config.kafkaBrokers === null) {
    const kafka = await openKafkaServer(options);
    ends.add(() => kafka.stop());
  }
  if (isTold()) return null;
  if (options.config.databaseUrl !== null) return options.config.databaseUrl;
  const database = await openDatabaseServer(options);
  ends.add(() => database.stop());
  return isTold() ? null : database.at;
}
