// Owns the tests of trading that is generated: its rate, its bounds, and how it stops, on held time.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { MemoryLogSink } from "../../../ops/broker/logSinks.ts";
import { BROKER_SERVER_DEFAULTS, BrokerServer } from "../../../ops/broker/server.ts";
import { chaosRandom } from "../../../ops/demo/chaos.ts";
import { drillCompany } from "../../../ops/drill/company.ts";
import { Trading } from "../../../ops/demo/trading.ts";
import { accountId, symbolName } from "../../../protocol/ids.ts";
import { HeldClock } from "../broker/testServer.ts";

const PLAN = { everyMs: 100, burstEveryMs: 10 };
const MOST_OPEN = 16;

function begun(t: TestContext, seed: number) {
  const clock = new HeldClock();
  const sink = new MemoryLogSink(100_000);
  const [cast] = drillCompany(1, "secret");
  assert.ok(cast !== undefined);
  const server = new BrokerServer({ ...BROKER_SERVER_DEFAULTS, instruments: cast.instruments, accounts: [cast.master], clock, timeBaseMs: clock.wallMs, logSinks: [sink] });
  t.after(() => server.close());
  const trader = server.trader(accountId("m1"));
  const trading = new Trading({ ...PLAN, server, trader, markets: cast.instruments.map(({ name, digits }) => ({ symbol: symbolName(name), digits })), clock, random: chaosRandom(seed) });
  const acts = (): string[] => sink.entries.flatMap((entry) => (entry.kind === "request" ? [entry.order.kind] : []));
  const live = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 1) clock.pass(1);
  };
  return { clock, sink, trader, trading, acts, live };
}

test("it does everything that can be done to a trade, at its rate, and nothing ends one but itself", (t) => {
  const { sink, trading, acts, live } = begun(t, 1);
  trading.start();
  live(60_000);
  assert.ok(acts().length > 450 && acts().length < 750, `${acts().length} acts`);
  assert.deepEqual([...new Set(acts())].sort(), ["close", "modify", "open"]);
  const deals = sink.entries.flatMap((entry) => (entry.kind === "deal" ? [entry] : []));
  assert.ok(deals.some(({ deal }) => deal === "part_closed"));
  assert.ok(deals.every((entry) => entry.deal !== "closed" || entry.closed.reason === "manual"));
  assert.equal(trading.refused, 0);
});

test("so many stand at most, and some for long", (t) => {
  const { trader, trading, live } = begun(t, 2);
  trading.start();
  let most = 0;
  for (let second = 0; second < 60; second += 1) {
    live(1_000);
    most = Math.max(most, trader.positions().length);
  }
  assert.equal(most, MOST_OPEN);
});

test("a burst is faster, and over when it is", (t) => {
  const { trading, acts, live } = begun(t, 3);
  const during = (ms: number): number => {
    const before = acts().length;
    live(ms);
    return acts().length - before;
  };
  trading.start();
  const calm = during(5_000);
  trading.burst(true);
  const burst = during(5_000);
  trading.burst(false);
  assert.ok(burst > 5 * calm && during(5_000) < burst / 5, `${calm} and ${burst} acts`);
});

test("paused, nothing happens until it goes on; told to stop, it closes every other trade one by one and stands still", async (t) => {
  const { trader, trading, acts, clock, live } = begun(t, 4);
  trading.start();
  live(30_000);
  trading.pause();
  const paused = acts().length;
  live(5_000);
  assert.equal(acts().length, paused);
  const standing = trader.positions().length;
  const state = { isStopped: false };
  void trading.stop().then(() => (state.isStopped = true));
  assert.equal(acts().length, paused + 1, "one at once");
  while (!state.isStopped) {
    clock.pass(PLAN.everyMs);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(trader.positions().length, Math.floor(standing / 2));
  const last = acts().length;
  live(5_000);
  assert.equal(acts().length, last);
});
