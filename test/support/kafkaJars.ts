// Owns lending the clone's Kafka jars to the temporary state folders of tests.

import { systemClock } from "../../ops/clock.ts";
import { borrowJars as borrow } from "../../ops/drill/ownKafka.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { silent } from "./silent.ts";

export const borrowJars = (stateDir: string, logger: Logger = silent): Promise<void> => borrow(stateDir, process.env, systemClock, logger);
