// Owns lending the clone's Kafka jars to temporary state folders: nothing is fetched twice.

import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../ops/clock.ts";
import { jarsFolder, jarsName, kafkaJars } from "../../ops/kafka/jars.ts";
import { resolveKafkaFolder } from "../../ops/kafka/resolve.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { silent } from "./silent.ts";

/** Puts the clone's jars into a state folder; fetches them if the clone has none. */
export async function borrowJars(stateDir: string, logger: Logger = silent): Promise<void> {
  const jars = await kafkaJars({ stateDir: await resolveKafkaFolder(process.env), env: process.env, logger, clock: systemClock });
  await mkdir(jarsFolder(stateDir), { recursive: true });
  await symlink(jars, join(jarsFolder(stateDir), await jarsName()));
}
