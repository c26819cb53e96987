// Owns the local Kafka: a real one on the loopback, its data in a state folder, shared by all
// Lockstep processes that use the folder.
//
// 1. A server that outlived its processes is adopted; one that died is started again, at its old
//    ports where they are free.
// 2. It runs as whoever runs us. A killed process of ours, or a killed Kafka, at any moment, leaves
//    nothing that stops the next start.

import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Environment } from "../credentials.ts";
import { shareServer } from "../local/sharing.ts";
import { ownFolder } from "../local/stateFolder.ts";
import { ownUser } from "../local/users.ts";
import { dataFolder } from "./dataFolder.ts";
import { kafkaJars } from "./jars.ts";
import { marker } from "./marker.ts";
import { checkJava, locateJava } from "./programs.ts";
import { findServer, startServer, stopServer, type KafkaServer, type ServerFolder } from "./server.ts";

export interface LocalKafkaOptions {
  /** The server's files are in its sub-folder `kafka`, the jars in `kafka-jars`. */
  readonly stateDir: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Where Java and Maven are looked for; default: this process's. */
  readonly env?: Environment;
}

export interface LocalKafka {
  readonly brokers: readonly string[];
  readonly pid: number;
  /** Kafka's jars: its own command-line tools are in them. */
  readonly libFolder: string;
  /** Leaves the server; the last one out stops it. Calling it twice does nothing more. */
  stop(): Promise<void>;
}

/**
 * Starts the server of this folder, or joins the one that runs.
 * @throws LockstepError `configuration` (no Java or Maven, a folder that cannot be used), `unreachable`
 */
export async function startLocalKafka(options: LocalKafkaOptions): Promise<LocalKafka> {
  const { clock, logger, env = process.env } = options;
  const java = await locateJava(env);
  const libFolder = await kafkaJars({ stateDir: options.stateDir, env, logger, clock });
  const user = ownUser();
  const folder = usablePath(await realpath(await ownFolder(join(options.stateDir, "kafka"), user)));
  const place: ServerFolder = { folder, word: marker(folder), clock };

  const startOrJoin = async (): Promise<KafkaServer> => {
    const found = await findServer(place);
    if (found !== null) {
      logger.info({ pid: found.pid, broker: found.broker, folder }, "joined the running Kafka"); // (1)
      return found;
    }
    await checkJava(java, env);
    const data = await dataFolder(folder, { java, libFolder, word: place.word, env, logger });
    const started = await startServer({ ...place, java, libFolder, data: data.path, clusterId: data.clusterId, env });
    logger.info({ pid: started.pid, broker: started.broker, folder }, "Kafka started");
    return started;
  };
  const end = async (): Promise<void> => {
    await stopServer(place);
    logger.info({ folder }, "Kafka stopped");
  };
  const { server, stop } = await shareServer({ folder, user, clock, start: startOrJoin, end });
  return { brokers: [server.broker], pid: server.pid, libFolder, stop };
}

/** Java separates what it searches with colons, Kafka its log folders with commas. */
function usablePath(folder: string): string {
  if (!/[:,]/.test(folder)) return folder;
  throw new LockstepError("configuration", `the state folder ${folder} cannot be used: Kafka needs a path without colon and comma. LOCKSTEP_STATE_DIR names another one`);
}
