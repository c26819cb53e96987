// Owns the cases of a master's actor that the scenarios do not show: what exactly reaches the log, and
// the races between snapshots and changes.

import { test } from "node:test";
import assert from "node:assert/strict";
import { Counter } from "../../../actors/shell/counter.ts";
import { MasterActor } from "../../../actors/shell/masterActor.ts";
import { Ownership } from "../../../actors/shell/ownership.ts";
import { BOOK, decode, TICK } from "../../../protocol/codec.ts";
import { accountId, type Epoch } from "../../../protocol/ids.ts";
import type { Execution } from "../../../protocol/orders.ts";
import type { BrokerSession, SessionEvent } from "../../../protocol/ports/broker.ts";
import type { AppendResult, OutgoingRecord, Producer } from "../../../protocol/ports/log.ts";
import type { AccountSnapshot, Position } from "../../../protocol/trades.ts";
import type { BrokerMs } from "../../../protocol/units.ts";
import { brokerMs, closed, lots, points, position, snapshot, ticket } from "../core/examples.ts";
import { CountingMetrics } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingJournal } from "../../support/recordingJournal.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

/** A session by hand: events and snapshots come when the case says so. */
class HandSession implements BrokerSession {
  readonly account = accountId("master");
  readonly platform = "mt4";
  readonly waitsForTurn = false;
  readonly asked: { readonly fromMs: BrokerMs; readonly answer: (of: AccountSnapshot) => void; readonly fail: (error: Error) => void }[] = [];
  tell: (event: SessionEvent) => void = () => undefined;

  open(onEvent: (event: SessionEvent) => void): void {
    this.tell = onEvent;
  }
  spec = (): null => null;
  symbols = (): [] => [];
  quote = (): null => null;
  brokerNowMs = (): BrokerMs => brokerMs(7_000);
  snapshot(fromMs: BrokerMs): Promise<AccountSnapshot> {
    return new Promise((answer, fail) => this.asked.push({ fromMs, answer, fail }));
  }
  execute = (): Promise<Execution> => Promise.reject(new Error("a master sends no orders"));
  close = (): Promise<void> => Promise.resolve();
}

/** What reached the log: `tick 2 opened`, `book 2: 1`. */
class HandProducer implements Producer {
  readonly written: string[] = [];
  /** Keys of tombstones. */
  readonly removed: string[] = [];
  says: AppendResult = "accepted";
  /** Settles what is accepted, as long as it is set. */
  settles = false;

  append({ topic, key, value }: OutgoingRecord, onSettled?: (error: Error | null) => void): AppendResult {
    if (this.says !== "accepted") return this.says;
    if (this.settles) onSettled?.(null);
    if (value === null) {
      this.removed.push(key);
      return "accepted";
    }
    if (topic === "ticks") {
      const { seq, body } = decode(TICK, value);
      this.written.push(`tick ${seq} ${body.kind}`);
    } else {
      const { seq, positions } = decode(BOOK, value);
      this.written.push(`book ${seq}: ${positions.map(({ masterTicket, ticket: as }) => (masterTicket === as ? masterTicket : `${masterTicket} as ${as}`)).join(" ")}`);
    }
    return "accepted";
  }
  flush = (): Promise<void> => Promise.resolve();
  close = (): Promise<void> => Promise.resolve();
}

function acting(mailboxCapacity = 10, epoch = 1) {
  const clock = new FakeScheduler(1);
  const session = new HandSession();
  const producer = new HandProducer();
  const account = { id: session.account, role: "master", platform: "mt4", broker: "model:1", login: 1, credentialsRef: "env:NONE", enabled: true } as const;
  const failures: unknown[] = [];
  const refusals: string[] = [];
  const gate = { isOpen: true };
  const metrics = new CountingMetrics();
  const journal = recordingJournal();
  const ownership = new Ownership(account.id, { slot: 0, epoch: epoch as Epoch });
  const actor = new MasterActor({
    account, ownership, isOpen: () => gate.isOpen, metrics, journal, seqs: new Counter(), session, producer, topics: { ticks: "ticks", books: "books" }, partitions: 1, clock, logger: recordingLogger(),
    limits: { mailboxCapacity, heartbeatMs: 5_000, bookDelayMs: 400 }, onFailure: (error) => failures.push(error), onLoginRefused: (reason) => refusals.push(reason),
  });
  actor.start();
  const connected = (more: Partial<AccountSnapshot> = {}) => session.tell({ kind: "connected", snapshot: snapshot(more) });
  const opened = (number: number) => session.tell({ kind: "changed", change: { kind: "position_opened", brokerMs: brokerMs(0), position: own(number) }, callbackAtMs: 0 });
  return { clock, session, producer, ownership, actor, failures, refusals, gate, metrics, journal, connected, opened };
}

const own = (number: number, more: Partial<Position> = {}): Position => position({ ticket: ticket(number), comment: "", ...more });

/** Nothing stands, but there is a history: an account that is believed. */
const FLAT = { closed: [closed(own(9))] };

test("an account that shows nothing at all is not believed at once: a book of it would close every copy", async () => {
  const run = acting();
  run.connected({ positions: [own(1)] });
  run.session.tell({ kind: "disconnected", detail: "" });
  run.connected({});
  await run.clock.advance(500);
  assert.equal(run.session.asked.length, 1);
  run.session.asked[0]?.answer(snapshot({ positions: [own(1)] }));
  await run.clock.advance(500);
  assert.deepEqual(run.producer.written, ["book 1: 1", "book 2: 1"]);
});

test("an account that goes on showing nothing is empty", async () => {
  const run = acting();
  run.connected({});
  for (let second = 0; second < 4; second++) {
    await run.clock.advance(1_000);
    run.session.asked.at(-1)?.answer(snapshot({}));
  }
  assert.deepEqual(run.producer.written, ["book 1: "]);
});

test("a connect makes a book with a seq of its own; a tick is followed by one book, not one each", async () => {
  const run = acting();
  run.connected({ positions: [own(1)] });
  for (const number of [2, 3]) run.opened(number);
  await run.clock.advance(1_000);
  assert.deepEqual(run.producer.written, ["book 1: 1", "tick 2 opened", "tick 3 opened", "book 3: 1 2 3"]);
});

test("signs of life repeat the last seq while the state is known, and only then", async () => {
  const run = acting();
  await run.clock.advance(6_000);
  assert.deepEqual(run.producer.written, []);
  run.connected(FLAT);
  await run.clock.advance(5_000);
  assert.deepEqual(run.producer.written, ["book 1: ", "tick 1 alive"]);
  run.session.tell({ kind: "disconnected", detail: "" });
  await run.clock.advance(20_000);
  run.connected({ synced: false });
  await run.clock.advance(20_000);
  assert.equal(run.producer.written.length, 2);
});

test("a book that the log does not take is offered again until it does", async () => {
  const run = acting();
  run.producer.says = "full";
  run.connected({ positions: [own(1)] });
  await run.clock.advance(3_000);
  run.producer.says = "accepted";
  await run.clock.advance(400);
  assert.deepEqual(run.producer.written, ["book 1: 1"]);
});

test("a tick that the log does not take leaves a hole that the next book closes", async () => {
  const run = acting();
  run.connected(FLAT);
  run.producer.says = "full";
  run.opened(1);
  run.producer.says = "accepted";
  run.opened(2);
  await run.clock.advance(400);
  assert.deepEqual(run.producer.written, ["book 1: ", "tick 3 opened", "book 3: 1 2"]);
});

test("a chain that a login's history does not reach is looked up in the whole history before anything is told", async () => {
  const run = acting();
  const rest = own(2, { volume: lots(0.5), comment: "from #1" });
  run.connected({ positions: [rest] });
  await run.clock.advance(1);
  assert.deepEqual([run.producer.written, run.session.asked.map(({ fromMs }) => fromMs)], [[], [0]]);
  run.session.asked[0]?.answer(snapshot({ positions: [rest], closed: [closed(own(1, { volume: lots(0.5), comment: "to #2" }))] }));
  await run.clock.advance(1);
  assert.deepEqual(run.producer.written, ["book 1: 1 as 2"]);
});

test("a chain that even the whole history does not know is left out, and asked for once", async () => {
  const run = acting();
  const stranger = own(2, { comment: "from #1" });
  run.connected({ positions: [stranger, own(5)] });
  await run.clock.advance(1);
  run.session.asked[0]?.answer(snapshot({ positions: [stranger, own(5)] }));
  await run.clock.advance(4_000);
  assert.deepEqual([run.producer.written, run.session.asked.length], [["book 1: 5"], 1]);
});

test("while the account loads, what it reports makes no tick; the book contains it, also what came in the turn of the snapshot", async () => {
  const run = acting();
  run.connected({ synced: false });
  run.opened(1);
  await run.clock.advance(400);
  assert.equal(run.session.asked.length, 1);
  // The answer and the next change are in one chunk of bytes: the change is told before the promise runs.
  run.session.asked[0]?.answer(snapshot({ positions: [own(1)] }));
  run.opened(2);
  run.session.tell({ kind: "changed", change: { kind: "position_changed", brokerMs: brokerMs(0), position: own(1, { stopLoss: points(5) }) }, callbackAtMs: 0 });
  await run.clock.advance(10);
  assert.deepEqual(run.producer.written, ["book 1: 1 2"]);
  run.opened(3);
  assert.deepEqual(run.producer.written.at(-1), "tick 2 opened");
});

test("a snapshot that fails, or is not synced yet, is asked for again", async () => {
  const run = acting();
  run.connected({ synced: false });
  await run.clock.advance(400);
  run.session.asked[0]?.fail(new Error("no answer"));
  await run.clock.advance(1_000);
  run.session.asked[1]?.answer(snapshot({ synced: false }));
  await run.clock.advance(400);
  run.session.asked[2]?.answer(snapshot({ positions: [own(1)] }));
  await run.clock.advance(1);
  assert.deepEqual([run.producer.written, run.session.asked.length], [["book 1: 1"], 3]);
});

test("a book that is due when the connection breaks still says what was true at its seq", async () => {
  const run = acting();
  run.connected({ positions: [own(1)] });
  run.opened(2);
  run.session.tell({ kind: "disconnected", detail: "" });
  run.connected({ synced: false });
  await run.clock.advance(390);
  await run.clock.advance(20);
  assert.deepEqual(run.producer.written, ["book 1: 1", "tick 2 opened", "book 2: 1 2"]);
});

test("an event that found no room makes the master be read anew, and no tick until then", async () => {
  const run = acting(0);
  run.connected({ positions: [own(1)] });
  run.opened(2);
  await run.clock.advance(400);
  assert.deepEqual([run.producer.written, run.session.asked.length], [[], 1]);
  run.session.asked[0]?.answer(snapshot({ positions: [own(1), own(2)] }));
  await run.clock.advance(1);
  assert.deepEqual(run.producer.written, ["book 1: 1 2"]);
});

test("after a stop nothing is told and no timer is left", async () => {
  const run = acting();
  run.connected(FLAT);
  run.opened(1);
  await run.actor.stop();
  run.opened(2);
  await run.clock.advance(60_000);
  assert.deepEqual([run.producer.written, run.clock.pending, run.failures], [["book 1: ", "tick 2 opened"], 0, []]);
});

test("a refused login is handed on, and no tick is made of it", () => {
  const { session, producer, refusals, failures } = acting();
  session.tell({ kind: "refused", detail: "invalid password" });
  assert.deepEqual([refusals, failures, producer.written], [["invalid password"], [], []]);
});

test("while the lease is not proven nothing is said; the lift brings one book with a seq of its own, so that readers see the hole", async () => {
  const run = acting();
  run.connected({ positions: [own(1)] });
  run.opened(2);
  await run.clock.advance(1_000);
  run.gate.isOpen = false;
  run.opened(3);
  run.opened(4);
  await run.clock.advance(20_000);
  assert.deepEqual(run.producer.written, ["book 1: 1", "tick 2 opened", "book 2: 1 2"]);
  assert.equal(run.metrics.of("ticks_fenced"), 2);
  assert.deepEqual(run.journal.of("said").map(({ seq, kind, result }) => [seq, kind, result]), [[2, "opened", "accepted"], [3, "opened", "fenced"], [4, "opened", "fenced"]]);
  assert.deepEqual(run.journal.of("book").map(({ seq, positions }) => [seq, positions]), [[1, 1], [2, 2]]);
  run.gate.isOpen = true;
  run.actor.lift();
  run.opened(5);
  await run.clock.advance(1_000);
  assert.deepEqual(run.producer.written.slice(3), ["book 5: 1 2 3 4", "tick 6 opened", "book 6: 1 2 3 4 5"]);
});

test("once a book of this epoch is in the log, those of the epochs below it are taken away, once", async () => {
  const run = acting(10, 12);
  run.connected({ positions: [own(1)] });
  await run.clock.advance(1_000);
  assert.deepEqual(run.producer.removed, [], "not before it is there");
  run.producer.settles = true;
  run.opened(2);
  run.opened(3);
  await run.clock.advance(5_000);
  assert.deepEqual(run.producer.removed, [4, 5, 6, 7, 8, 9, 10, 11].map((lower) => `${run.session.account}/${lower}`));
});

test("a confirmed master says a book at its new epoch at once, counts on, and takes away the books of its own lower epochs however far below", async () => {
  const run = acting(10, 3);
  run.producer.settles = true;
  run.connected({ positions: [own(1)] });
  run.opened(2);
  await run.clock.advance(1_000);
  run.producer.removed.length = 0;
  assert.ok(run.ownership.raise(4_294_967_299 as Epoch));
  run.actor.lift();
  await run.clock.advance(1_000);
  assert.deepEqual(run.producer.written, ["book 1: 1", "tick 2 opened", "book 2: 1 2", "book 3: 1 2"]);
  assert.ok(run.producer.removed.includes(`${run.session.account}/3`));
  assert.ok(!run.producer.removed.includes(`${run.session.account}/4294967299`));
  assert.deepEqual(run.journal.of("book").length, 3);
  assert.deepEqual(run.journal.notes.filter(({ event }) => event === "book").map(({ subject }) => subject?.epoch), [3, 3, 4_294_967_299]);
});
