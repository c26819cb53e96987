// Owns the setting of the writers' cases: a database and a topic of the case's own, an event for each need, and
// writers that reach the database through a man in the middle.
//
// 1. Their pauses are a twentieth of what they are in a node: a case waits for conditions, not for back-off.

import type { TestContext } from "node:test";
import { WriterActor } from "../../actors/shell/writerActor.ts";
import type { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import { systemClock, systemRandom } from "../../ops/clock.ts";
import { encodeOwnerEvent } from "../../protocol/codec.ts";
import type { OwnerEvent } from "../../protocol/accountState.ts";
import type { Account, Link } from "../../protocol/accounts.ts";
import type { CellId } from "../../protocol/ids.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { PairStore } from "../../protocol/ports/storage.ts";
import { topicName, topicSpecs, writersGroup } from "../../protocol/topics.ts";
import { openStorage, type Storage } from "../../storage/storage.ts";
import { claiming, FOLLOWER, freshCell, LINK, MASTER, me, renewing } from "../contract/storageFixture.ts";
import { connection } from "../log/kafkaFixture.ts";
import { CountingMetrics } from "../sim/cell.ts";
import { sharedKafka } from "../support/kafka.ts";
import { execute, freshDatabase } from "../support/postgres.ts";
import { recordingLogger } from "../support/recordingLogger.ts";
import { silent } from "../support/silent.ts";
import { databaseProxy, type AtCommit, type DatabaseProxy } from "./databaseProxy.ts";

/** Invariant 1. */
const SPEED = 20;
export const fastClock: Clock = { ...systemClock, after: (delayMs, fn) => systemClock.after(delayMs / SPEED, fn) };
const PATIENCE_MS = 60_000;

export interface WriterRun {
  readonly writer: WriterActor;
  readonly metrics: CountingMetrics;
  readonly proxy: DatabaseProxy;
  readonly lines: ReturnType<typeof recordingLogger>["lines"];
  readonly applicationName: string;
}

export interface RunOptions {
  readonly wrap?: (pairs: PairStore) => PairStore;
  readonly group?: string;
  readonly statementTimeoutMs?: number;
  readonly atCommit?: () => AtCommit;
  readonly log?: KafkaLog;
}

export interface Ground {
  readonly cell: CellId;
  readonly url: string;
  /** Looks at the tables, by no proxy. */
  readonly storage: Storage;
  readonly log: KafkaLog;
  readonly topic: string;
  say(events: readonly OwnerEvent[], partition?: number): Promise<void>;
  start(options?: RunOptions): Promise<WriterRun>;
  /** Waits until the group has committed all that is in the topic. */
  caughtUp(group?: string): Promise<void>;
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  rejected(): Promise<readonly { readonly code: string; readonly text: string; readonly event: PairEvent }[]>;
}

export interface GroundOptions {
  readonly partitions?: number;
  readonly epochs?: number;
  readonly accounts?: readonly Account[];
  readonly links?: readonly Link[];
  readonly url?: string;
}

export async function ground(t: TestContext, options: GroundOptions = {}): Promise<Ground> {
  const { partitions = 1, epochs = 1, accounts = [MASTER, FOLLOWER], links = [LINK] } = options;
  const cell = freshCell();
  const url = options.url ?? (await freshDatabase(t));
  const storage = await openStorage({ url, cell, logger: silent, maxConnections: 2, connectTimeoutMs: 10_000, statementTimeoutMs: 20_000 });
  t.after(() => storage.close());
  await storage.directory.put(accounts, links);
  await storage.registry.renew(me("owner"), renewing());
  for (let acquired = 0; acquired < epochs; acquired++) {
    for (const held of await storage.registry.claim(me("owner"), claiming())) await storage.registry.release(me("owner"), held, 0);
  }
  const log = connection(t, await sharedKafka());
  await log.ensureTopics(topicSpecs(cell, partitions));
  const topic = topicName(cell, "pair-events");
  const producer = log.producer({ maxBuffered: 10_000, delivery: "critical" });
  return {
    cell, url, storage, log, topic,
    async say(events, partition = 0) {
      for (const event of events) producer.append({ topic, partition, key: event.follower, value: encodeOwnerEvent(event) });
      await producer.flush();
    },
    start: (run = {}) => startWriter(t, { cell, url, log, topic }, run),
    async caughtUp(group = writersGroup(cell)) {
      await patiently("all events are written", async () => {
        const committed = new Map((await log.committed(group, topic)).map(({ partition, offset }) => [partition, offset]));
        return (await log.bounds(topic)).every(({ partition, end }) => end === 0 || committed.get(partition) === end);
      });
    },
    sql: (text, values = []) => execute(url, text, values),
    async rejected() {
      return (await execute(url, "SELECT code, text, event FROM rejected_rows WHERE cell = $1 ORDER BY at", [cell])) as unknown as Awaited<ReturnType<Ground["rejected"]>>;
    },
  };
}

async function startWriter(t: TestContext, { cell, url, log, topic }: Pick<Ground, "cell" | "url" | "log" | "topic">, { wrap = (pairs) => pairs, group = writersGroup(cell), statementTimeoutMs = 10_000, atCommit = () => "pass", log: own = log }: RunOptions): Promise<WriterRun> {
  const proxy = await databaseProxy(url);
  const logger = recordingLogger();
  const storage = await openStorage({ url: proxy.url, cell, logger, maxConnections: 3, connectTimeoutMs: 2_000, statementTimeoutMs });
  proxy.atCommit = atCommit; // only now: what the schema needed has been committed
  const metrics = new CountingMetrics();
  const writer = new WriterActor({ log: own, group, topic, pairs: wrap(storage.pairs), clock: fastClock, random: systemRandom, logger, metrics, batchRows: 500, batchMs: 100, onCrash: () => undefined });
  t.after(async () => {
    await writer.stop();
    proxy.open();
    await storage.close();
    await proxy.close();
  });
  await writer.start();
  return { writer, metrics, proxy, lines: logger.lines, applicationName: `lockstep ${cell}` };
}

/** A trigger that raises what a row's symbol names: `X22000` always, `T40001` the first `times` times, whoever asks. */
export async function raising(g: Pick<Ground, "sql">, times: number): Promise<void> {
  await g.sql("CREATE SEQUENCE tries");
  await g.sql(`CREATE FUNCTION raise_named() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.symbol ~ '^X[0-9A-Z]{5}$' OR (NEW.symbol ~ '^T[0-9A-Z]{5}$' AND nextval('tries') <= ${times})
    THEN RAISE EXCEPTION 'raised for %', NEW.master_ticket USING ERRCODE = substr(NEW.symbol, 2); END IF; RETURN NEW; END $$`);
  await g.sql("CREATE TRIGGER raise_named BEFORE INSERT ON pairs FOR EACH ROW EXECUTE FUNCTION raise_named()");
}

/** Asks again and again until it is so; fails with the text when it is not in a minute. */
export async function patiently(text: string, condition: () => Promise<boolean> | boolean): Promise<void> {
  const endMs = systemClock.monotonicMs() + PATIENCE_MS;
  while (!(await condition())) {
    if (systemClock.monotonicMs() > endMs) throw new Error(`waited ${PATIENCE_MS} ms in vain until ${text}`);
    await new Promise((resolve) => systemClock.after(10, () => resolve(null)));
  }
}
