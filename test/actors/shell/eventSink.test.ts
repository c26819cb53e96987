// Owns the cases of how a follower's facts reach the log.

import { test } from "node:test";
import assert from "node:assert/strict";
import { EventSink } from "../../../actors/shell/eventSink.ts";
import { decode, PAIR_EVENT } from "../../../protocol/codec.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { accountId, type Epoch } from "../../../protocol/ids.ts";
import type { PairEvent } from "../../../protocol/pairs.ts";
import type { AppendResult, OutgoingRecord, Producer } from "../../../protocol/ports/log.ts";
import { pair } from "../core/examples.ts";
import { CountingMetrics, elapsed } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";

/** A producer by script: what it takes, and how that settles. */
class ScriptedProducer implements Producer {
  readonly taken: number[] = [];
  says: AppendResult = "accepted";
  loses = false;

  append({ value }: OutgoingRecord, onSettled?: (error: Error | null) => void): AppendResult {
    if (this.says !== "accepted") return this.says;
    if (value !== null && !this.loses) this.taken.push(decode(PAIR_EVENT, value).n);
    onSettled?.(this.loses ? new LockstepError("unreachable", "lost") : null);
    return "accepted";
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function sink(capacity = 100) {
  const clock = new FakeScheduler(1);
  const producer = new ScriptedProducer();
  const metrics = new CountingMetrics();
  const events = new EventSink({ producer, topic: "pair-events", partitions: 2, clock, metrics, capacity, retryMs: 50 });
  return { clock, producer, metrics, events };
}

const event = (n: number): PairEvent => ({ kind: "pair", follower: accountId("follower1"), epoch: 1 as Epoch, n, pair: pair() });
const marker = (n: number): PairEvent => ({ kind: "adopted", follower: accountId("follower1"), epoch: 1 as Epoch, n });

test("facts are handed on in order, in a turn of their own", async () => {
  const { clock, producer, events } = sink();
  for (const n of [1, 2, 3]) assert.ok(events.publish(event(n)));
  assert.deepEqual(producer.taken, []);
  await clock.advance(0);
  assert.deepEqual(producer.taken, [1, 2, 3]);
});

test("a full log is tried again, and the order is kept", async () => {
  const { clock, producer, events } = sink();
  producer.says = "full";
  for (const n of [1, 2]) events.publish(event(n));
  await clock.advance(200);
  producer.says = "accepted";
  events.publish(event(3));
  await clock.advance(50);
  assert.deepEqual(producer.taken, [1, 2, 3]);
});

test("a full buffer refuses the newest, and counts it", async () => {
  const { producer, metrics, events } = sink(2);
  producer.says = "full";
  assert.deepEqual([1, 2, 3].map((n) => events.publish(event(n))), [true, true, false]);
  assert.equal(metrics.of("events_waiting_full"), 1);
});

test("a fact that the log lost is handed over again", async () => {
  const { clock, producer, events } = sink();
  producer.loses = true;
  events.publish(event(1));
  await clock.advance(500);
  producer.loses = false;
  events.publish(event(2));
  await clock.advance(100);
  assert.deepEqual([...producer.taken].sort(), [1, 2]);
});

test("who asks for the settlement is told when the log has it, not of a loss on the way", async () => {
  const { clock, producer, events } = sink();
  producer.loses = true;
  const told: (Error | null)[] = [];
  events.publish(marker(1), (error) => told.push(error));
  await clock.advance(500);
  assert.deepEqual(told, []);
  producer.loses = false;
  await clock.advance(500);
  assert.deepEqual([told, producer.taken], [[null], [1]]);
});

test("what is lost and finds no room any more is over, and who asks is told", async () => {
  const { clock, producer, metrics, events } = sink(2);
  const settle: ((error: Error | null) => void)[] = [];
  producer.append = (_, onSettled) => {
    if (settle.length > 0) return "full";
    if (onSettled !== undefined) settle.push(onSettled);
    return "accepted";
  };
  const told: (Error | null)[] = [];
  events.publish(marker(1), (error) => told.push(error));
  await clock.advance(10);
  for (const n of [2, 3]) events.publish(event(n));
  settle[0]?.(new LockstepError("unreachable", "lost"));
  assert.deepEqual([told.length, told[0] === null, metrics.of("events_waiting_full")], [1, false, 1]);
});

test("a flush of one follower waits for its facts and for nobody else's", async () => {
  const { clock, producer, events } = sink();
  producer.says = "full";
  events.publish({ ...event(1), follower: accountId("follower2") });
  await events.flush(accountId("follower1"));
  let flushed = false;
  const flush = events.flush(accountId("follower2")).then(() => (flushed = true));
  await clock.advance(1_000);
  assert.equal(flushed, false);
  producer.says = "accepted";
  await elapsed(clock, flush);
});

test("what the log refuses for its own sake is dropped and counted, and keeps no flush waiting", async () => {
  const { clock, producer, metrics, events } = sink();
  producer.append = (_, onSettled) => {
    onSettled?.(new LockstepError("invalid_value", "too large"));
    return "accepted";
  };
  events.publish(event(1));
  await clock.advance(500);
  let flushed = false;
  void events.flush().then(() => (flushed = true));
  await clock.advance(1);
  assert.deepEqual([metrics.of("events_refused"), clock.pending, flushed], [1, 0, true]);
});

test("a log that was stopped is not tried again", async () => {
  const { clock, producer, events } = sink();
  producer.says = "stopped";
  const errors: (Error | null)[] = [];
  events.publish(marker(1), (error) => errors.push(error));
  events.publish(event(2));
  await clock.advance(10);
  assert.deepEqual([errors.length, clock.pending], [1, 0]);
});

test("a flush waits for what the log lost until it has it, and not for what is published meanwhile", async () => {
  const { clock, producer, events } = sink();
  producer.loses = true;
  events.publish(event(1));
  await clock.advance(10);
  let flushed = false;
  const flush = events.flush().then(() => (flushed = true));
  await clock.advance(1_000);
  assert.equal(flushed, false);
  producer.append = ({ value }, onSettled) => {
    const { n } = decode(PAIR_EVENT, value ?? new Uint8Array());
    if (n > 1) return "full";
    onSettled?.(null);
    return "accepted";
  };
  events.publish(event(2));
  await clock.advance(60);
  await elapsed(clock, flush);
  assert.equal(flushed, true);
});

test("a flush waits for what is buffered", async () => {
  const { clock, producer, events } = sink();
  producer.says = "full";
  events.publish(event(1));
  let flushed = false;
  const flush = events.flush().then(() => (flushed = true));
  await clock.advance(1_000);
  assert.equal(flushed, false);
  producer.says = "accepted";
  await elapsed(clock, flush);
  assert.deepEqual(producer.taken, [1]);
});
