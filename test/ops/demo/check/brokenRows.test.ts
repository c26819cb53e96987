// Owns the tests that Lockstep's own rows are verified and never believed: what they say of copies,
// and the reasons they give for trades without one.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Pair } from "../../../../protocol/pairs.ts";
import { SKIP_REASONS, type SkipReason } from "../../../../protocol/reasons.ts";
import type { PairRow } from "../../../../protocol/ports/storage.ts";
import { accountId, type Ticket } from "../../../../protocol/ids.ts";
import { bendFor, closed, F1, ONE, PENDING, playOne, playPending, staged, statementOf, type Played } from "./script.ts";
import { brokenRules, EUR, GRACE_MS, lots, points } from "./theatre.ts";

/** Halves its master's volumes. */
const F3 = accountId("f3");
const FLAT = { side: "buy", openPrice: points(108_500), closePrice: points(108_500) } as const;

/** The rules that break when f1's row is changed; null takes it away. */
function broken({ theatre }: Played, change: (row: Pair) => readonly Pair[]): string[] {
  const rows = theatre.rows().flatMap((row): PairRow[] => (row.pair.follower === F1 ? change(row.pair).map((pair) => ({ ...row, pair })) : [row]));
  return brokenRules(theatre.report({ rows })).filter((rule) => !rule.startsWith("master"));
}

function played(options: Parameters<typeof playOne>[1] = {}): Played {
  const one = staged(ONE);
  playOne(one.theatre, options);
  return one;
}

describe("a row of a copy", () => {
  const standing = played({ isClosed: false });
  const ended = played();

  test("is right as it is", () => assert.deepEqual([broken(standing, (row) => [row]), broken(ended, (row) => [row])], [[], []]));
  test("is missing", () => assert.deepEqual(broken(ended, () => []), ["row-missing f1"]));
  test("is there twice", () => assert.deepEqual(broken(ended, (row) => [row, { ...row, opening: 2 }]), ["row-doubled f1"]));
  test("may be there once more, as superseded", () => assert.deepEqual(broken(ended, (row) => [row, { ...row, opening: 2, status: "Superseded" }]), []));
  test("is not settled", () => assert.deepEqual(broken(ended, (row) => [{ ...row, status: "Sending" }]), ["row-sending f1"]));
  test("is of a trade that the master does not have", () => assert.deepEqual(broken(ended, (row) => [row, { ...row, masterTicket: 5 as never }]), ["row-unknown f1"]));
  test("is of another link", () => assert.deepEqual(broken(ended, (row) => [{ ...row, link: "master-f2" as never }]), ["row-unknown f1"]));

  for (const [name, change] of [
    ["status", { status: "Closed" }],
    ["ticket", { followerTicket: 5 as never }],
    ["volume", { volume: lots("0.40") }],
    ["initial volume", { initialVolume: lots("0.20") }],
    ["symbol", { symbol: EUR }],
    ["side", { side: "sell" }],
    ["kind", { holds: "pending" }],
    ["stop", { stopLoss: null }],
    ["target", { takeProfit: points(109_000) }],
  ] as const satisfies readonly (readonly [string, Partial<Pair>])[]) {
    test(`says another ${name}`, () => assert.deepEqual(broken(standing, (row) => [{ ...row, ...change }]), ["row-wrong f1"]));
  }
  test("says that a copy stands which was closed", () => assert.deepEqual(broken(ended, (row) => [{ ...row, status: "Open" }]), ["row-wrong f1"]));
  test("says that something is left of a copy which was closed", () => assert.deepEqual(broken(ended, (row) => [{ ...row, volume: lots("0.20") }]), ["row-wrong f1"]));
  test("speaks of a copy that was never opened", () => {
    const one = staged(ONE);
    one.copier.bend = bendFor(F1, (order) => (order.kind === "open" ? [] : [order]));
    playOne(one.theatre);
    const [model] = one.theatre.rows();
    const rows = [...one.theatre.rows(), { epoch: 1 as never, n: 99, pair: { ...(model ?? assert.fail()).pair, follower: F1, link: "master-f1" as never } }];
    assert.deepEqual(brokenRules(one.theatre.report({ rows })), ["missing f1", "row-wrong f1"]);
  });
  test("was refused by the database", () => assert.deepEqual(brokenRules(ended.theatre.report({ rejected: 1 })), ["rows-rejected -"]));
});

describe("a skip", () => {
  const skipped = (reason: SkipReason) => (row: Pair): Pair[] => [{ ...row, status: "Skipped", reason, followerTicket: null }];

  /** f1 did nothing about the trade, and its row says why. */
  function without(play: (one: Played) => void, statement = ONE): Played {
    const one = staged(statement);
    one.copier.deaf.add(F1);
    play(one);
    return one;
  }
  const rowFor = ({ theatre }: Played, reason: SkipReason, follower = F1) => {
    const [model] = theatre.rows();
    const pair = { ...(model ?? assert.fail()).pair, follower, link: `master-${follower}` as never, status: "Skipped", reason } as const;
    const report = theatre.report({ rows: [...theatre.rows(), { epoch: 1 as never, n: 99, pair }] });
    return { rules: brokenRules(report), first: report.followers[0] };
  };

  const plain = without(({ theatre }) => playOne(theatre));
  for (const reason of Object.keys(SKIP_REASONS) as SkipReason[]) {
    test(`as ${reason} is not believed where nothing bears it out`, () => {
      const { rules, first } = rowFor(plain, reason);
      assert.deepEqual(rules, ["unjustified-skip f1"]);
      assert.deepEqual([first?.unjustifiedSkips, first?.missing, first?.skipped], [1, 0, { [reason]: 1 }]);
    });
  }
  test("of a trade that was copied", () => {
    const one = played();
    assert.deepEqual(broken(one, (row) => [row, ...skipped("refused")(row)]).filter((rule) => !rule.startsWith("unjustified")), ["skip-with-copy f1"]);
  });
  test("as pendings_off is not believed where the link copies them", () => {
    assert.deepEqual(rowFor(without(({ theatre }) => playPending(theatre), PENDING), "pendings_off").rules, ["unjustified-skip f1"]);
  });

  for (const [when, restMs, isJustified] of [
    ["before it had to be copied", 30, true],
    ["long after it had to be", 3 * GRACE_MS, false],
  ] as const) {
    test(`for a volume that was too small since a part was closed ${when} is ${isJustified ? "right" : "not believed"}`, () => {
      const one = staged(statementOf({ positions: [closed(401, EUR, "0.04", { ...FLAT, chainTo: 402 as Ticket }), closed(402, EUR, "0.01", { ...FLAT, chainFrom: 401 as Ticket })] }));
      one.copier.deaf.add(F3);
      const first = one.theatre.open(401, EUR, "buy", "0.05");
      one.theatre.pass(restMs);
      const rest = one.theatre.partClose(first, "0.04");
      one.theatre.rest();
      one.theatre.close(rest);
      one.theatre.rest();
      assert.deepEqual(rowFor(one, "volume_below_minimum", F3).rules, isJustified ? [] : ["unjustified-skip f3"]);
    });
  }

  const refusedOpen = { kind: "open", symbol: "eurusd.r" as never, side: "buy", volume: lots("0.40"), priceLimit: null, stopLoss: null, takeProfit: null, magic: 7000 as never } as const;

  for (const [name, refusal, more, isJustified] of [
    ["for money", "no_money", {}, true],
    ["for the market's hours", "market_closed", {}, true],
    ["for stops it did not have", "invalid_stops", {}, false],
    ["for stops alone: it could have been opened without", null, { stopLoss: points(109_000) }, false],
    ["for its volume", "invalid_volume", {}, false],
    ["as a requote, although the price was within its limit", "requote", { priceLimit: points(109_000) }, false],
    ["as a requote, for a limit that the price was beyond", null, { priceLimit: points(108_400) }, true],
  ] as const) {
    test(`as refused ${isJustified ? "is right" : "is not believed"} ${name}`, () => {
      const one = staged(ONE);
      one.copier.deaf.add(F1);
      const first = one.theatre.open(201, EUR, "buy", "0.40");
      one.theatre.pass(30);
      one.theatre.askPlainly(F1, { ...refusedOpen, ...more, comment: `mc${first}` }, refusal);
      one.theatre.rest();
      const rest = one.theatre.partClose(first, "0.20");
      one.theatre.rest();
      one.theatre.modify(rest, 108_000, null);
      one.theatre.rest();
      one.theatre.close(rest);
      one.theatre.rest();
      assert.deepEqual(rowFor(one, "refused").rules, isJustified ? [] : ["unjustified-skip f1"]);
    });
  }
});
