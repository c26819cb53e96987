// Owns finding a Kafka that runs already, for whoever only asks it: none is started.

import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Environment } from "../credentials.ts";
import { marker } from "./marker.ts";
import { resolveKafkaFolder } from "./resolve.ts";
import { findServer } from "./server.ts";

export const NO_KAFKA = "no Kafka was named, and none runs here";

/** The brokers of the one in the state folder; null when none runs. @throws LockstepError `configuration` */
export async function runningBrokers(env: Environment, clock: Clock): Promise<readonly string[] | null> {
  const stateDir = await resolveKafkaFolder(env);
  const folder = await realpath(join(stateDir, "kafka")).catch(() => null);
  const server = folder === null ? null : await findServer({ folder, word: marker(folder), clock });
  return server === null ? null : [server.broker];
}
