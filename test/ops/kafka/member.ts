// Owns a process that uses the local Kafka, for tests that need several or kill one. It says
// `{"brokers"}` on one line, and leaves when its standard input ends.

import { systemClock } from "../../../ops/clock.ts";
import { resolveKafka } from "../../../ops/kafka/resolve.ts";
import { silent } from "../../support/silent.ts";

const kafka = await resolveKafka({ env: process.env, logger: silent, clock: systemClock });
process.stdout.write(`${JSON.stringify({ brokers: kafka.brokers })}\n`);
for await (const _ of process.stdin);
await kafka.stop();
