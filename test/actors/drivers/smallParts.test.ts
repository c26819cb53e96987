// Owns the tests of the drivers' small parts: addresses, symbols, back-off, messages.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { brokerAddress } from "../../../actors/drivers/brokerAddress.ts";
import { backoffMs } from "../../../actors/core/retry.ts";
import { Reconnect } from "../../../actors/drivers/reconnect.ts";
import { SymbolTable } from "../../../actors/drivers/symbolTable.ts";
import { readMessage } from "../../../actors/drivers/wireMessages.ts";
import { isLockstepError } from "../../../protocol/errors.ts";
import type { SymbolName } from "../../../protocol/ids.ts";
import type { Clock } from "../../../protocol/ports/clock.ts";
import { EURUSD, EURUSD_QUOTE } from "../../support/scriptedBroker.ts";

describe("reconnect", () => {
  const always = (value: number) => ({ next: () => value });

  test("pauses grow from half the minimum to the maximum and no further, with jitter", () => {
    const lowest = [1, 2, 3, 4, 50].map((failures) => backoffMs(failures, 100, 1_000, 0));
    assert.deepEqual(lowest, [50, 100, 200, 400, 500]);
    assert.equal(backoffMs(1, 100, 1_000, 0.5), 75);
    assert.ok(backoffMs(50, 100, 1_000, 0.999_999) <= 1_000);
  });

  function rig() {
    const timers: { at: number; fn: () => void; cancelled: boolean }[] = [];
    const time = { now: 0 };
    const clock: Clock = {
      wallMs: () => time.now,
      monotonicMs: () => time.now,
      soon: (fn) => fn(),
      after: (delayMs, fn) => {
        const timer = { at: time.now + delayMs, fn, cancelled: false };
        timers.push(timer);
        return { cancel: () => (timer.cancelled = true) };
      },
    };
    let attempts = 0;
    const reconnect = new Reconnect({ clock, random: always(1), minMs: 100, maxMs: 1_000 }, () => attempts++);
    return { reconnect, time, pending: () => timers.filter((timer) => !timer.cancelled), attempts: () => attempts };
  }

  test("starts anew after a connection that lasted, not after one that was kicked at once", () => {
    const { reconnect, time } = rig();
    assert.deepEqual([reconnect.failed(), reconnect.failed()], [100, 200]);
    reconnect.succeeded();
    assert.equal(reconnect.failed(), 400);
    reconnect.succeeded();
    time.now += 1_000;
    assert.equal(reconnect.failed(), 100);
  });

  test("has at most one try ahead, and none after a stop", () => {
    const { reconnect, pending, attempts } = rig();
    reconnect.failed();
    reconnect.failed();
    assert.equal(pending().length, 1);
    pending()[0]!.fn();
    assert.equal(attempts(), 1);
    reconnect.stop();
    reconnect.failed();
    assert.equal(pending().length, 0);
  });

  test("refuses pauses that make no sense", () => {
    const { time } = rig();
    const clock = { monotonicMs: () => time.now } as unknown as Clock;
    assert.throws(() => new Reconnect({ clock, random: always(0), minMs: 0, maxMs: 1 }, () => undefined), (error) => isLockstepError(error, "configuration"));
    assert.throws(() => new Reconnect({ clock, random: always(0), minMs: 2, maxMs: 1 }, () => undefined), (error) => isLockstepError(error, "configuration"));
  });
});

describe("symbols", () => {
  const named = (symbol: string) => ({ ...EURUSD, symbol: symbol as SymbolName });

  test("are found in any case", () => {
    const table = new SymbolTable();
    table.load([EURUSD], [EURUSD_QUOTE]);
    assert.equal(table.spec("eurusd.X" as SymbolName), EURUSD);
    assert.equal(table.quote("eurusd.X" as SymbolName), EURUSD_QUOTE);
    assert.equal(table.spec("EURUSD" as SymbolName), null);
  });

  test("that differ by nothing but case are told apart by it, and a third spelling is none of them", () => {
    const table = new SymbolTable();
    table.load([named("Gold"), named("GOLD")], []);
    assert.equal(table.spec("Gold" as SymbolName)?.symbol, "Gold");
    assert.equal(table.spec("GOLD" as SymbolName)?.symbol, "GOLD");
    assert.equal(table.spec("gold" as SymbolName), null);
  });

  test("of a session before are gone with their quotes", () => {
    const table = new SymbolTable();
    table.load([EURUSD], [EURUSD_QUOTE]);
    table.load([EURUSD], []);
    assert.equal(table.quote(EURUSD.symbol), null);
  });
});

describe("a broker's address", () => {
  test("is a host and a port, with IPv6 in brackets", () => {
    assert.deepEqual(brokerAddress("broker.example:443"), { host: "broker.example", port: 443 });
    assert.deepEqual(brokerAddress("[::1]:4000"), { host: "::1", port: 4000 });
  });

  test("that is none is refused", () => {
    for (const text of ["", "host", "host:", ":1", "host:0", "host:70000", "::1:4000", "a b:1"]) {
      assert.throws(() => brokerAddress(text), (error) => isLockstepError(error, "invalid_value"), text);
    }
  });
});

describe("wire messages", () => {
  const RESULT = { t: "result", id: 1, code: 0, text: "", ticket: null, volume: 0, price: null, brokerMs: 5 };

  test("of an unknown kind or without a field are refused", () => {
    for (const map of [{}, { t: "hello" }, { t: 5 }, { t: "toString" }, { t: "result", id: 1 }]) {
      assert.throws(() => readMessage(map), (error) => isLockstepError(error, "malformed"), JSON.stringify(map));
    }
  });

  test("may write whole numbers in 64 bits; one above 2^53 is refused, never rounded", () => {
    assert.deepEqual(readMessage({ ...RESULT, ticket: 123n }), { ...RESULT, ticket: 123 });
    assert.throws(() => readMessage({ ...RESULT, ticket: 2n ** 53n }), (error) => isLockstepError(error, "malformed"));
    const nested = { t: "snapshot", id: 1, snapshot: { positions: [{ ticket: 2n ** 60n }] } };
    assert.throws(() => readMessage(nested), (error) => isLockstepError(error, "malformed"));
  });
});
