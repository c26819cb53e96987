// Owns a Kafka for one case alone, which may be killed and frozen: others share theirs.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemClock } from "../../ops/clock.ts";
import { startLocalKafka, type LocalKafka } from "../../ops/kafka/localKafka.ts";
import { borrowJars } from "./kafkaJars.ts";
import { silent } from "./silent.ts";

export interface OwnKafka {
  readonly brokers: readonly string[];
  /** Ends it at once, as a machine that fails does. */
  kill(): void;
  /** Starts it again on what it has kept. */
  restart(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

export async function ownKafka(t: TestContext): Promise<OwnKafka> {
  const stateDir = await mkdtemp(join(tmpdir(), "lockstep-test-"));
  await borrowJars(stateDir);
  const start = (): Promise<LocalKafka> => startLocalKafka({ stateDir, logger: silent, clock: systemClock });
  let kafka = await start();
  const { brokers } = kafka;
  t.after(async () => {
    process.kill(kafka.pid, "SIGCONT");
    await kafka.stop();
    await rm(stateDir, { recursive: true, force: true, maxRetries: 5 });
  });
  return {
    brokers,
    kill: () => void process.kill(kafka.pid, "SIGKILL"),
    async restart() {
      await kafka.stop();
      kafka = await start();
      if (kafka.brokers.join() !== brokers.join()) throw new Error(`Kafka came back at ${kafka.brokers.join()} instead of ${brokers.join()}`);
    },
    freeze: () => void process.kill(kafka.pid, "SIGSTOP"),
    thaw: () => void process.kill(kafka.pid, "SIGCONT"),
  };
}
