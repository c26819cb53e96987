// Owns the tests of the broker's log: what is in it, in which order, and the places it goes to.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { isLockstepError } from "../../../protocol/errors.ts";
import type { Epoch, Ticket } from "../../../protocol/ids.ts";
import type { BrokerMs } from "../../../protocol/units.ts";
import { BrokerLog, type BrokerLogEntry } from "../../../ops/broker/log.ts";
import { FileLogSink, MemoryLogSink } from "../../../ops/broker/logSinks.ts";
import { closeOrder, EURUSD, lots, MT4_ACCOUNT, MT5_ACCOUNT, openOrder, points, SUFFIXED } from "./market.ts";
import { entriesOf, running, untilLogged } from "./testServer.ts";

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "lockstep-broker-log-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

const linesOf = (path: string): BrokerLogEntry[] => readFileSync(path, "utf8").split("\n").slice(0, -1).map((line) => JSON.parse(line) as BrokerLogEntry);
const fault = { kind: "fault", account: MT4_ACCOUNT, fault: { kind: "cut" }, requestN: null } as const;
const at = (): BrokerMs => 5 as BrokerMs;

describe("what is in the log", { timeout: 20_000 }, () => {
  test("a trade from its request to its stop, each entry with its cause", async (t) => {
    const { server, session, sink } = await running(t);
    const client = await session();
    const { ticket } = await client.order(openOrder({ stopLoss: points(108_400) }));
    await client.order(closeOrder(ticket as Ticket, lots("0.04")));
    server.setQuotes([{ instrument: "eurusd", bid: points(108_390), ask: points(108_400) }]);

    assert.deepEqual(sink.entries.map(({ kind }) => kind), ["account", "account", "quote", "login", "request", "deal", "answer", "request", "deal", "answer", "quote", "deal"]);
    assert.deepEqual(sink.entries.map(({ n }) => n), sink.entries.map((_, index) => index + 1));
    const [ask, close] = entriesOf(sink, "request");
    assert.deepEqual([ask?.by, ask?.order, ask?.digits], [{ kind: "connection", connection: 1, id: 2 }, openOrder({ stopLoss: points(108_400) }), 5]);
    const [opened, parted, stopped] = entriesOf(sink, "deal");
    assert.ok(opened?.deal === "opened" && parted?.deal === "part_closed" && stopped?.deal === "closed");
    assert.deepEqual([opened.causeN, parted.causeN, stopped.causeN], [ask?.n, close?.n, entriesOf(sink, "quote").at(-1)?.n]);
    assert.deepEqual([opened.position.symbol, opened.position.digits, opened.position.magic, opened.position.comment], [EURUSD, 5, 7, "mc42"]);
    assert.deepEqual([parted.closed.position.volume, parted.rest.volume, parted.rest.comment], [lots("0.04"), lots("0.06"), `from #${ticket}`]);
    assert.deepEqual([stopped.closed.position.ticket, stopped.closed.reason, stopped.closed.closePrice], [parted.rest.ticket, "stop_loss", 108_390]);
    assert.deepEqual(entriesOf(sink, "answer").map(({ requestN, code, ticket: named }) => [requestN, code, named]), [[ask?.n, 0, ticket], [close?.n, 0, null]]);
  });

  test("an order has the epoch that its sender says, and none where it says none", async (t) => {
    const { server, session, sink } = await running(t);
    const client = await session();
    client.send({ t: "order", id: client.nextId(), order: openOrder(), epoch: 7 as Epoch });
    await client.order(openOrder());
    server.trader(MT4_ACCOUNT).open({ symbol: EURUSD, side: "buy", volume: lots("0.10") });
    assert.deepEqual(entriesOf(sink, "request").map(({ epoch }) => epoch), [7, null, null]);
  });

  test("what the broker does by itself has no cause, no request and no answer", async (t) => {
    const { server, session, sink } = await running(t);
    const [mt4, mt5] = [await session(1), await session(2)];
    const open = server.trader(MT4_ACCOUNT).open({ symbol: EURUSD, side: "buy", volume: lots("0.10") }).left as Ticket;
    const other = server.trader(MT5_ACCOUNT).open({ symbol: SUFFIXED, side: "buy", volume: lots("0.10") }).left as Ticket;
    const before = sink.entries.length;
    const rest = server.broker.serverPartClose(MT4_ACCOUNT, open, lots("0.04")).left as Ticket;
    server.broker.stopOut(MT4_ACCOUNT, rest);
    const moved = server.broker.reticket(MT5_ACCOUNT, other).left as Ticket;
    assert.equal(server.broker.stopOut(MT4_ACCOUNT, open).refusal, "unknown_position");
    const entries = sink.entries.slice(before);
    const acts = entries.map((entry) => [entry.kind, entry.account, "causeN" in entry && entry.causeN]);
    assert.deepEqual(acts, [["deal", MT4_ACCOUNT, null], ["deal", MT4_ACCOUNT, null], ["reticketed", MT5_ACCOUNT, null]]);
    const [reticketed] = entriesOf(sink, "reticketed");
    assert.deepEqual([reticketed?.before.ticket, reticketed?.position.ticket, reticketed?.position.identifier], [other, moved, other]);
    await mt4.ping();
    await mt5.ping();
    assert.deepEqual(mt4.changes().slice(1).map(({ kind }) => kind), ["position_closed", "position_opened", "position_closed"]);
    assert.deepEqual(mt5.changes().slice(1).map(({ kind }) => kind), ["position_changed"]);
  });

  test("a refused order has a request and an answer with the code, and nothing else", async (t) => {
    const { session, sink } = await running(t);
    await (await session()).order(openOrder({ volume: lots("0.001") }));
    assert.deepEqual(sink.entries.slice(-2).map(({ kind }) => kind), ["request", "answer"]);
    assert.deepEqual(entriesOf(sink, "answer").map(({ code, text }) => [code, text]), [[131, "invalid volume"]]);
  });

  test("an account's entry says how it trades and what its symbols are priced by", async (t) => {
    const { sink } = await running(t);
    const [mt4] = entriesOf(sink, "account");
    assert.deepEqual([mt4?.platform, mt4?.login, mt4?.symbols.map(({ symbol, instrument, digits }) => [symbol, instrument, digits])], ["mt4", 1, [[EURUSD, "eurusd", 5]]]);
  });

  test("a connection that goes is in the log, with what it never heard", async (t) => {
    const { session, sink, clock } = await running(t, { answerDelayMs: 130 });
    const client = await session();
    client.ask(openOrder());
    await client.hear("change");
    client.socket.end();
    await client.closed();
    const other = await session();
    await untilLogged(sink, "answer", other);
    clock.pass(130);
    assert.deepEqual(entriesOf(sink, "disconnect").map(({ connection, account }) => [connection, account]), [[1, MT4_ACCOUNT]]);
    assert.deepEqual(entriesOf(sink, "answer").map(({ code, notSent }) => [code, notSent]), [[0, "closed by the client"]]);
  });
});

describe("where the log goes", () => {
  test("a file has one JSON object a line, whole after a flush", (t) => {
    const path = join(folder(t), "broker.jsonl");
    const [file, memory] = [new FileLogSink(path), new MemoryLogSink(10)];
    const log = new BrokerLog([file, memory], at);
    log.append(fault);
    log.append({ kind: "disconnect", account: null, connection: 3, cause: "zurück\nnach Köln" });
    log.flush();
    assert.deepEqual(linesOf(path), memory.entries);
    log.append(fault);
    log.close();
    assert.deepEqual(linesOf(path).map(({ n }) => n), [1, 2, 3]);
  });

  test("a full buffer is written out without being asked", (t) => {
    const path = join(folder(t), "broker.jsonl");
    const log = new BrokerLog([new FileLogSink(path)], at);
    for (let n = 0; n < 2000; n += 1) log.append(fault);
    assert.equal(linesOf(path).length > 500, true);
    log.close();
    assert.equal(linesOf(path).length, 2000);
  });

  test("an existing file is neither added to nor overwritten", (t) => {
    const path = join(folder(t), "broker.jsonl");
    writeFileSync(path, "another run\n");
    assert.throws(() => new FileLogSink(path), (error) => isLockstepError(error, "configuration") && error.message.includes(path));
    assert.equal(readFileSync(path, "utf8"), "another run\n");
  });

  test("memory takes no more than its bound and counts what it missed", () => {
    const sink = new MemoryLogSink(2);
    const log = new BrokerLog([sink], at);
    for (let n = 0; n < 5; n += 1) log.append(fault);
    assert.deepEqual([sink.entries.map(({ n }) => n), sink.missed], [[1, 2], 3]);
  });
});
