// Owns the proof that the demo's verdict means something: copiers with one fault each, run for real,
// are found out by the checker, at the right follower and by the right rule.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock, systemRandom } from "../../../ops/clock.ts";
import { runDemo } from "../../../ops/demo/demo.ts";
import type { DemoReport } from "../../../ops/demo/report.ts";
import { loadStatement } from "../../../ops/statement/read.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { BrokerSession } from "../../../protocol/ports/broker.ts";
import { oppositeSide } from "../../../protocol/trades.ts";
import type { Points, VolumeUnits } from "../../../protocol/units.ts";
import { fileDatabase } from "../../support/postgres.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";
import { altered, Breaker, refusedUnsent, sentTwice, swallowed, type Break } from "./brokenSession.ts";

const statement = await loadStatement(fileURLToPath(new URL("./fixtures/short.htm", import.meta.url)));
/** Its 150 seconds in two and a half. */
const SPEED = 60;
const FOLLOWERS = 2;

let folder = "";
before(async () => void (folder = await mkdtemp(join(tmpdir(), "lockstep-broken-"))));
after(() => rm(folder, { recursive: true, force: true }));

async function demoWith(wrapSession?: (session: BrokerSession) => BrokerSession): Promise<DemoReport> {
  return runDemo({
    statement,
    followers: FOLLOWERS,
    speed: SPEED,
    folder,
    env: { DATABASE_URL: await fileDatabase() },
    clock: systemClock,
    random: systemRandom,
    logger: recordingLogger(),
    onProgress: () => undefined,
    chaosSeed: null,
    log: "memory",
    ...(wrapSession === undefined ? {} : { wrapSession }),
  });
}

/** A hundredth of a lot. */
const STEP = 1_000_000;
type OrderOf<K extends Order["kind"]> = Extract<Order, { kind: K }>;
const isA = (kind: Order["kind"], more: (order: Order) => boolean = () => true) => (order: Order): boolean => order.kind === kind && more(order);
/** Of the one trade that is closed by hand: a close of one that its own stop ends may come when nothing is left to close. */
const isCloseByHand = isA("close", (order) => !(order as OrderOf<"close">).part && (order as OrderOf<"close">).volume >= 20 * STEP);
const isPartClose = isA("close", (order) => (order as OrderOf<"close">).part);
const changed = <K extends Order["kind"]>(kind: K, change: (order: OrderOf<K>, session: BrokerSession) => Partial<OrderOf<K>>) =>
  altered((order, session) => (order.kind === kind ? { ...order, ...change(order as OrderOf<K>, session) } : order));
const otherSymbol = (order: OrderOf<"open">, session: BrokerSession) => {
  const other = session.symbols().find(({ symbol }) => symbol !== order.symbol);
  if (other === undefined) throw new Error("the account has no other symbol");
  return { symbol: other.symbol, priceLimit: null, stopLoss: null, takeProfit: null };
};

/** [what is wrong, which order it is, what is done to it, the rule that must be broken, the report's count that must rise] */
const CASES: readonly (readonly [what: string, broken: Omit<Break, "follower">, rule: string, count?: "missing" | "duplicates" | "wrongVolume" | "unjustifiedSkips"])[] = [
  ["an open that is never sent", { isMeant: isA("open"), fault: swallowed }, "missing", "missing"],
  ["an open that is sent twice", { isMeant: isA("open"), fault: sentTwice }, "duplicate", "duplicates"],
  ["an open with another volume", { isMeant: isA("open"), fault: changed("open", ({ volume }) => ({ volume: (volume + STEP) as VolumeUnits })) }, "wrong-volume", "wrongVolume"],
  ["an open on the other side", { isMeant: isA("open", (order) => (order as OrderOf<"open">).side === "sell"), fault: changed("open", ({ side }) => ({ side: oppositeSide(side), priceLimit: null, stopLoss: null, takeProfit: null })) }, "wrong-side"],
  ["an open in another symbol", { isMeant: isA("open"), fault: changed("open", otherSymbol) }, "wrong-symbol"],
  ["an open under another's tag", { isMeant: isA("open"), fault: changed("open", () => ({ comment: "mc999" })) }, "foreign-order"],
  ["an open that is skipped as refused, though nobody refused it", { isMeant: isA("open"), fault: refusedUnsent }, "unjustified-skip", "unjustifiedSkips"],
  ["a part-close of another volume", { isMeant: isPartClose, fault: changed("close", ({ volume }) => ({ volume: (volume - STEP) as VolumeUnits })) }, "wrong-share", "wrongVolume"],
  ["a pending order that is never sent", { isMeant: isA("place"), fault: swallowed }, "missing", "missing"],
  ["a close that is never sent", { isMeant: isCloseByHand, fault: swallowed }, "left-open"],
  ["a modify that is never sent", { isMeant: isA("modify"), fault: swallowed }, "missed-modify"],
  ["a modify to another stop", { isMeant: isA("modify"), fault: changed("modify", ({ stopLoss }) => ({ stopLoss: stopLoss === null ? null : ((stopLoss - 7) as Points) })) }, "missed-modify"],
  ["a pending order at another price", { isMeant: isA("place"), fault: changed("place", ({ price }) => ({ price: (price - 7) as Points })) }, "wrong-pending"],
  ["a cancel that is never sent", { isMeant: isA("cancel"), fault: swallowed }, "left-open"],
];

describe("a copier with a fault is found out", () => {
  test("and one without is not", async () => {
    const { verdict, violations, followers } = await demoWith();
    assert.deepEqual({ verdict, violations }, { verdict: "ok", violations: [] });
    // Otherwise the faults below could not happen.
    for (const { copied, partClosed, modified, pendings } of followers) assert.ok(copied > 0 && partClosed > 0 && modified > 0 && pendings > 0);
  });

  // Two faults in one demo, one at each follower: neither is blamed for the other's.
  for (let index = 0; index < CASES.length; index += FOLLOWERS) {
    const breakers = CASES.slice(index, index + FOLLOWERS).map(([what, broken, rule, count], place) => ({ what, rule, count, follower: `f${place + 1}`, breaker: new Breaker({ ...broken, follower: `f${place + 1}` }) }));
    describe(breakers.map(({ what }) => what).join("; "), () => {
      let report: DemoReport;
      before(async () => void (report = await demoWith((session) => breakers.reduce((wrapped, { breaker }) => breaker.wrap(wrapped), session))));
      for (const { what, rule, count, follower, breaker } of breakers) {
        test(`${what}: ${rule}`, () => {
          assert.notEqual(breaker.broken, null, "the order that was to be broken never came");
          assert.equal(report.verdict, "failed");
          const rules = report.violations.filter((violation) => violation.follower === follower).map((violation) => violation.rule);
          assert.ok(rules.includes(rule), rules.join(", "));
          if (count !== undefined) for (const each of report.followers) assert.equal(each[count] > 0, each.id === follower || breakers.some((other) => other.follower === each.id && other.count === count), `${count} of ${each.id}`);
        });
      }
      test("and nobody else is blamed", () => assert.deepEqual(report.violations.filter((violation) => !breakers.some(({ follower }) => follower === violation.follower)), []));
    });
  }
});
