// Owns asking Kafka about itself: one connection, made when it is first needed, and questions that are
// tried again within a bound, since a partition or a coordinator may be without a leader for a moment.

import { Kafka, type Admin } from "kafkajs";
import { messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { pause, within } from "../../protocol/waiting.ts";
import { clientLog } from "./clientLog.ts";
import { logError } from "./errors.ts";
import type { KafkaLogLimits } from "./limits.ts";

export interface ClientOptions {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  /** Shown in the brokers' own logs and tools. */
  readonly clientId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: KafkaLogLimits;
}

export const kafkaClient = ({ brokers, clientId, limits, logger }: ClientOptions): Kafka =>
  new Kafka({
    brokers: [...brokers],
    clientId,
    requestTimeout: limits.requestMs,
    connectionTimeout: limits.requestMs,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 },
    logCreator: clientLog(logger),
  });

export class AdminConnection {
  readonly #kafka: Kafka;
  readonly #options: Pick<ClientOptions, "clock" | "logger" | "limits">;
  #admin: Promise<Admin> | null = null;

  constructor(kafka: Kafka, options: Pick<ClientOptions, "clock" | "logger" | "limits">) {
    this.#kafka = kafka;
    this.#options = options;
  }

  /** @throws LockstepError `unreachable` when there is no answer within `askMs`; what the request throws of ours */
  async ask<T>(what: string, request: (admin: Admin) => Promise<T>): Promise<T> {
    const { clock, limits } = this.#options;
    const untilMs = clock.monotonicMs() + limits.askMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await within(clock, Math.max(1, untilMs - clock.monotonicMs()), what, this.#connected().then(request));
      } catch (error) {
        const fault = logError(what, error);
        const pauseMs = limits.retryPauseMs * attempt;
        if (fault.code !== "unreachable" || clock.monotonicMs() + pauseMs >= untilMs) throw fault;
        await pause(clock, pauseMs);
      }
    }
  }

  async close(): Promise<void> {
    const { clock, limits, logger } = this.#options;
    const admin = await this.#admin?.catch(() => null);
    this.#admin = null;
    await within(clock, limits.closeMs, "closing the connection", admin?.disconnect() ?? Promise.resolve()).catch((error: unknown) => logger.debug({ error: messageOf(error) }, "connection not closed cleanly"));
  }

  #connected(): Promise<Admin> {
    if (this.#admin !== null) return this.#admin;
    const admin = this.#kafka.admin();
    const connecting = admin.connect().then(() => admin);
    this.#admin = connecting;
    connecting.catch(() => {
      if (this.#admin === connecting) this.#admin = null;
    });
    return connecting;
  }
}
