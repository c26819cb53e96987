// Owns one batch's way to Kafka: attempts, their bound, and the client that is thrown away after an
// error that leaves open what happened.
//
// 1. A refusal that is clear blames a record: then each goes alone, and its neighbours go in.
// 2. After any other error the client is not used again: what it may still have on its way would
//    mix with what comes next. The next attempt may so write a record twice, never out of its order.
// 3. The answer comes within `sendMs`, whatever the client does; what it still has on its way then is
//    thrown away with it. Only how many partitions a topic has may have to be asked before, once.

import { Partitioners, type Kafka, type Producer as Client, type TopicMessages } from "kafkajs";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { OutgoingRecord, ProducerOptions } from "../../protocol/ports/log.ts";
import type { SendResults, Waiting } from "../outbox.ts";
import { logError, refusalOf } from "./errors.ts";
import type { KafkaLogLimits } from "./limits.ts";
import { pause, within } from "../../protocol/waiting.ts";

export interface SenderOptions {
  readonly kafka: Kafka;
  readonly delivery: ProducerOptions["delivery"];
  /** How many partitions a topic has. @throws LockstepError `configuration`, `unreachable` */
  readonly partitionsOf: (topic: string) => Promise<number>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: KafkaLogLimits;
}

export class Sender {
  readonly #options: SenderOptions;
  #client: Client | null = null;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async send(records: readonly OutgoingRecord[]): Promise<SendResults> {
    const { clock, limits } = this.#options;
    const results: (Error | null)[] = await Promise.all(records.map((record) => this.#misplaced(record)));
    const untilMs = clock.monotonicMs() + limits.sendMs; // 3
    const placed = records.flatMap((record, index) => (results[index] === null ? [{ record, index }] : []));
    const outcomes = await this.#attempts(placed.map(({ record }) => record), untilMs);
    placed.forEach(({ index }, position) => (results[index] = outcomes[position] ?? null));
    return results;
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    if (client !== null) await within(this.#options.clock, this.#options.limits.closeMs, "the producer's end", client.disconnect()).catch(() => undefined);
  }

  /** Kafka's client would send everybody's records in vain with one for a partition that is not there. */
  async #misplaced({ topic, partition }: OutgoingRecord): Promise<Error | null> {
    try {
      const count = await this.#options.partitionsOf(topic);
      return Number.isInteger(partition) && partition >= 0 && partition < count ? null : new LockstepError("invalid_value", `topic ${JSON.stringify(topic)} has partitions 0 to ${count - 1}, got ${partition}`);
    } catch (error) {
      return logError(`topic ${topic}`, error);
    }
  }

  async #attempts(records: readonly OutgoingRecord[], untilMs: number): Promise<SendResults> {
    if (records.length === 0) return [];
    const { clock, limits, delivery, logger } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#attempt(records, untilMs);
        return records.map(() => null);
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal !== null) return records.length === 1 ? [refusal] : this.#oneByOne(records, untilMs); // 1
        this.#discard(); // 2
        const pauseMs = limits.retryPauseMs * attempt;
        if (delivery === "best_effort" || clock.monotonicMs() + pauseMs >= untilMs) return records.map(() => logError("not sent", error));
        logger.warn({ attempt, records: records.length, error: messageOf(error) }, "the log did not take a batch: sent again through a new client");
        await pause(clock, pauseMs);
      }
    }
  }

  async #oneByOne(records: readonly OutgoingRecord[], untilMs: number): Promise<SendResults> {
    const results: (Error | null)[] = [];
    for (const record of records) results.push(...(await this.#attempts([record], untilMs)));
    return results;
  }

  async #attempt(records: readonly OutgoingRecord[], untilMs: number): Promise<void> {
    const { clock, limits, delivery } = this.#options;
    const sending = async (): Promise<void> => {
      const client = this.#client ?? (await this.#newClient());
      await client.sendBatch({ acks: delivery === "critical" ? -1 : 1, timeout: limits.requestMs, topicMessages: messagesOf(records) });
    };
    await within(clock, Math.max(0, untilMs - clock.monotonicMs()), "a send", sending());
  }

  async #newClient(): Promise<Client> {
    const { kafka } = this.#options;
    const client = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false, idempotent: false, retry: { retries: 0 } });
    this.#client = client;
    await client.connect();
    if (this.#client !== client) throw new LockstepError("unreachable", "the client was given up before it had connected");
    return client;
  }

  /** Its end may take as long as the answer that it waits for. */
  #discard(): void {
    const client = this.#client;
    this.#client = null;
    client?.disconnect().catch((error: unknown) => this.#options.logger.debug({ error: messageOf(error) }, "a client that was thrown away did not end cleanly"));
  }
}

function messagesOf(records: readonly OutgoingRecord[]): TopicMessages[] {
  const topics = new Map<string, TopicMessages>();
  for (const { topic, partition, key, value } of records) {
    const messages = topics.get(topic) ?? { topic, messages: [] };
    topics.set(topic, messages);
    messages.messages.push({ key, partition, value: value === null ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength) });
  }
  return [...topics.values()];
}

/** How many of the waiting records fit into one send: Kafka takes about 1 MB as one batch of a partition. */
export function cutOf(waiting: readonly Waiting[], { maxSendRecords, maxSendBytes }: KafkaLogLimits): number {
  const bytes = new Map<string, number>();
  for (const [index, { record: { topic, partition, key, value } }] of waiting.entries()) {
    if (index >= maxSendRecords) return index;
    const place = `${topic}/${partition}`;
    const total = (bytes.get(place) ?? 0) + key.length + (value?.length ?? 0);
    if (total > maxSendBytes && bytes.has(place)) return index;
    bytes.set(place, total);
  }
  return waiting.length;
}
