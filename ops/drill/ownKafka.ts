// Owns a Kafka for one drill or one test alone, which may be killed, frozen and restarted: others share theirs.
//
// 1. Its jars are the clone's: nothing is fetched twice.
// 2. It ends when we are gone, whatever ended us.

import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Environment } from "../credentials.ts";
import { jarsFolder, jarsName, kafkaJars } from "../kafka/jars.ts";
import { startLocalKafka, type LocalKafka } from "../kafka/localKafka.ts";
import { resolveKafkaFolder } from "../kafka/resolve.ts";
import { onceWeAreGone } from "../local/lastWill.ts";
import { signalIfAlive } from "../local/processes.ts";

export interface OwnKafkaOptions {
  /** Of this Kafka alone; who makes it takes it away. */
  readonly stateDir: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class OwnKafka {
  readonly #options: OwnKafkaOptions;
  #kafka: LocalKafka;
  #forget: () => void;

  private constructor(options: OwnKafkaOptions, kafka: LocalKafka, forget: () => void) {
    this.#options = options;
    this.#kafka = kafka;
    this.#forget = forget;
  }

  /** @throws LockstepError `configuration`, `unreachable` */
  static async start(options: OwnKafkaOptions): Promise<OwnKafka> {
    await borrowJars(options.stateDir, options.env, options.clock, options.logger);
    const kafka = await startLocalKafka(options);
    return new OwnKafka(options, kafka, await onceWeAreGone(`kill -KILL ${kafka.pid}`)); // 2
  }

  get brokers(): readonly string[] {
    return this.#kafka.brokers;
  }

  /** Ends it at once, as a machine that fails does. */
  kill(): void {
    signalIfAlive(this.#kafka.pid, "SIGKILL");
  }

  freeze(): void {
    signalIfAlive(this.#kafka.pid, "SIGSTOP");
  }

  thaw(): void {
    signalIfAlive(this.#kafka.pid, "SIGCONT");
  }

  /** Starts it again on what it has kept. @throws LockstepError `unreachable`: not where it was */
  async restart(): Promise<void> {
    const before = this.brokers.join();
    await this.#kafka.stop();
    this.#forget();
    this.#kafka = await startLocalKafka(this.#options);
    this.#forget = await onceWeAreGone(`kill -KILL ${this.#kafka.pid}`);
    if (this.brokers.join() !== before) throw new LockstepError("unreachable", `Kafka came back at ${this.brokers.join()} instead of ${before}`);
  }

  async stop(): Promise<void> {
    this.thaw();
    await this.#kafka.stop();
    this.#forget();
  }
}

/** Puts the clone's jars into a state folder; fetches them if the clone has none. */
export async function borrowJars(stateDir: string, env: Environment, clock: Clock, logger: Logger): Promise<void> {
  const jars = await kafkaJars({ stateDir: await resolveKafkaFolder(env), env, logger, clock });
  await mkdir(jarsFolder(stateDir), { recursive: true });
  await symlink(jars, join(jarsFolder(stateDir), await jarsName()));
}
