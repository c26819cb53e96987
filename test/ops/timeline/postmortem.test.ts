// Owns `lockstep postmortem`: a real node's decision is found again with what it rested on, and what is said to
// whoever asks badly, of nobody, or without a Kafka.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { MEMORY_LOG_LIMITS } from "../../../log/memory/limits.ts";
import { MemoryLog } from "../../../log/memory/memoryLog.ts";
import { systemClock } from "../../../ops/clock.ts";
import { postmortemCommand, type PostmortemCommandOptions } from "../../../ops/commands/postmortem.ts";
import { decode, encode, pack, REPLAY } from "../../../protocol/codec.ts";
import { accountId, bootId, cellId, epoch, nodeId, type Magic } from "../../../protocol/ids.ts";
import type { EventLog } from "../../../protocol/ports/log.ts";
import type { TimelineEntry } from "../../../protocol/timeline.ts";
import { partitionOf, topicName, topicSpecs } from "../../../protocol/topics.ts";
import type { WallMs } from "../../../protocol/units.ts";
import { connection } from "../../log/kafkaFixture.ts";
import { sharedKafka } from "../../support/kafka.ts";
import { silent } from "../../support/silent.ts";
import { until } from "../../support/until.ts";
import { lots, MT4_ACCOUNT, MT5_ACCOUNT, openOrder, SUFFIXED } from "../broker/market.ts";
import { runCommand } from "../cli/lockstep.ts";
import { wholeNode } from "../wholeNode.ts";

/** Where no Kafka runs. */
let stateDir = "";
before(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "lockstep-postmortem-"));
});
after(() => rm(stateDir, { recursive: true, force: true }));

interface Report {
  readonly follower: string;
  readonly nodes: readonly string[];
  readonly masters: readonly string[];
  readonly timeline: readonly TimelineEntry[];
}

async function postmortem(log: EventLog | null, options: Partial<PostmortemCommandOptions>): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let [out, err] = ["", ""];
  const code = await postmortemCommand(
    { follower: MT4_ACCOUNT, from: "-10m", to: "now", ...(log === null ? {} : { kafkaBrokers: "in.memory:1" }), ...options },
    { out: { write: (text: string) => (out += text) }, err: { write: (text: string) => (err += text) }, env: { LOCKSTEP_STATE_DIR: stateDir }, logger: silent, clock: systemClock, ...(log === null ? {} : { openLog: () => log }) },
  );
  return { code, out, err };
}

test("a copy that a node made is found again: what the master said, what was decided on it, the order with its numbers, and the answer", async (t) => {
  const log = new MemoryLog({ clock: systemClock, limits: MEMORY_LOG_LIMITS });
  const cell = "postmortem";
  const whole = await wholeNode(t, cell, () => ({ log }));
  t.after(() => log.close());
  await until("both are served", () => [MT4_ACCOUNT, MT5_ACCOUNT].every((id) => whole.stateOf(id) === "settled"));
  whole.broker.server.trader(MT5_ACCOUNT).open(openOrder({ symbol: SUFFIXED, volume: lots("0.20"), magic: 0 as Magic, comment: "" }));
  const told = (): TimelineEntry[] => log.store.partitionsOf(topicName(cellId(cell), "replay")).flatMap((partition) => partition.read(0, 10_000, 10_000_000).map(({ value }) => decode(REPLAY, value ?? new Uint8Array(0))));
  await until("it is copied and that is told", () => told().some(({ event, detail }) => event === "pair" && detail["status"] === "Open") && told().some(({ event }) => event === "answer"));
  // The node goes on telling: what is asked twice is a time that is over.
  const toMs = Math.ceil(systemClock.wallMs());
  await until("that time is over", () => systemClock.wallMs() > toMs);
  const asked = { cell, to: new Date(toMs).toISOString() };

  const { code, out, err } = await postmortem(new MemoryLog({ clock: systemClock, limits: MEMORY_LOG_LIMITS }, log.store), { ...asked, json: true });
  assert.deepEqual([code, err], [0, ""]);
  const report = JSON.parse(out) as Report;
  assert.deepEqual([report.follower, report.nodes, report.masters], [MT4_ACCOUNT, ["n1"], [MT5_ACCOUNT]]);
  const of = (event: string, account: string | null) => report.timeline.filter((entry) => entry.event === event && entry.account === account);
  const said = of("said", MT5_ACCOUNT).find(({ detail }) => detail["kind"] === "opened");
  const tick = of("tick", MT4_ACCOUNT).find(({ detail }) => detail["kind"] === "opened");
  const [order] = of("order", MT4_ACCOUNT);
  const [answer] = of("answer", MT4_ACCOUNT);
  const masterTicket = said?.detail["masterTicket"];
  assert.ok(typeof masterTicket === "number" && said !== undefined && order !== undefined && tick !== undefined);
  // What it rested on: the tick by its number, and the pair that there was not.
  assert.deepEqual([tick.detail["seq"], tick.detail["masterEpoch"], tick.detail["masterTicket"], tick.detail["decision"], tick.detail["pair"]], [said.detail["seq"], said.epoch, masterTicket, "open", null]);
  assert.deepEqual(
    [order.detail["comment"], order.detail["magic"], order.detail["volume"], order.detail["side"], order.detail["symbol"], order.detail["master"], order.detail["late"]],
    [`mc${masterTicket}`, 7, lots("0.20"), "buy", "EURUSD", MT5_ACCOUNT, false],
  );
  assert.ok(typeof order.detail["priceLimit"] === "number" && typeof order.detail["decideMs"] === "number");
  const owner = await whole.storage.overview.owner(MT4_ACCOUNT);
  assert.deepEqual([order.node, order.boot, order.epoch], ["n1", "b1", owner?.epoch]);
  assert.deepEqual([answer?.detail["kind"], answer?.detail["masterTicket"], answer?.detail["volume"]], ["done", masterTicket, lots("0.20")]);
  assert.ok(said.atMs <= order.atMs && order.atMs <= (answer?.atMs ?? 0));
  assert.ok(of("lifted", null).length > 0 && of("claimed", MT4_ACCOUNT).length > 0, "what the node and the account went through is told with it");

  const text = await postmortem(new MemoryLog({ clock: systemClock, limits: MEMORY_LOG_LIMITS }, log.store), asked);
  const lines = text.out.split("\n");
  assert.match(lines[0] ?? "", /^follower mt4-1: \d+ entries; held by n1; copies mt5-1$/);
  assert.equal(lines.length, report.timeline.length + 2);
  assert.ok(lines.some((line) => /^\d{4}-\d{2}-\d{2} [\d:.]+Z {2}n1 {2}mt4-1 #\d+ +order +link=link master=mt5-1/.test(line)), text.out);
});

test("of a follower that nobody told of nothing is shown, and that is said", async () => {
  const log = new MemoryLog({ clock: systemClock, limits: MEMORY_LOG_LIMITS });
  await log.ensureTopics(topicSpecs(cellId("main"), 2));
  const { code, out, err } = await postmortem(log, { from: "2026-01-31T12:00:00Z", to: "2026-01-31T13:00:00+01:00" });
  assert.deepEqual([code, out, err], [1, "", "lockstep: nothing was told of mt4-1 between 2026-01-31T12:00:00.000Z and 2026-01-31T12:00:00.000Z\n"]);
});

test("without a Kafka, with a bad time, or with times in the wrong order nothing is begun", async () => {
  await assert.rejects(postmortem(null, {}), { code: "configuration", message: "kafkaBrokers: no Kafka was named, and none runs here" });
  await assert.rejects(postmortem(null, { from: "noon" }), { code: "configuration", message: /^--from: expected .* got "noon"$/ });
  await assert.rejects(postmortem(null, { from: "-1m", to: "-2m" }), { code: "configuration", message: "--from: expected a time before --to, got -1m and -2m" });
  await assert.rejects(postmortem(null, { follower: "no name" }), { code: "invalid_value" });
});

test("the command, on a real Kafka: what it finds, what a newer release wrote, and its exit codes", async (t) => {
  const brokers = await sharedKafka();
  const log = connection(t, brokers);
  const cell = cellId(`pm-${randomUUID()}`);
  await log.ensureTopics(topicSpecs(cell, 2));
  const producer = log.producer({ maxBuffered: 10, delivery: "critical" });
  const place = { topic: topicName(cell, "replay"), partition: partitionOf("f1", 2), key: "f1" };
  const entry: TimelineEntry = { atMs: systemClock.wallMs() as WallMs, node: nodeId("n1"), boot: bootId("b1"), account: accountId("f1"), epoch: epoch(2), event: "claimed", detail: { settleLeftMs: 30_000 } };
  producer.append({ ...place, value: encode(REPLAY, entry) });
  producer.append({ ...place, value: pack({ schema: "replay", version: 2, value: {} }) });
  await producer.close();
  const args = ["postmortem", "--cell", cell, "--kafka-brokers", brokers.join(",")];
  const found = await runCommand(t, [...args, "--follower", "f1", "--from", "-10m"]);
  assert.equal(found.code, 0, found.err);
  assert.match(found.out, /^follower f1: 1 entries; held by n1; no master was named\n.* n1 {2}f1 #2 {2}claimed {2}settleLeftMs=30000\n$/);
  assert.equal(found.err, "lockstep: 1 records are of a release that this one cannot read\n");
  const none = await runCommand(t, [...args, "--follower", "f2", "--from", "-10m", "--json"]);
  assert.equal(none.code, 1);
  assert.deepEqual((JSON.parse(none.out) as Report).timeline, []);
  const bad = await runCommand(t, [...args, "--follower", "f1", "--from", "10m"]);
  assert.deepEqual([bad.code, bad.out, /^lockstep: --from: expected a time such as .* got "10m"\n$/.test(bad.err)], [2, "", true]);
});
