// Owns a Kafka for one case alone, which may be killed and frozen: the drills' own, gone with its folder after the case.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemClock } from "../../ops/clock.ts";
import { OwnKafka } from "../../ops/drill/ownKafka.ts";
import { silent } from "./silent.ts";

export async function ownKafka(t: TestContext): Promise<OwnKafka> {
  const stateDir = await mkdtemp(join(tmpdir(), "lockstep-test-"));
  const kafka = await OwnKafka.start({ stateDir, env: process.env, clock: systemClock, logger: silent });
  t.after(async () => {
    await kafka.stop();
    await rm(stateDir, { recursive: true, force: true, maxRetries: 5 });
  });
  return kafka;
}
