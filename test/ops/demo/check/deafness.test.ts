// Owns the tests of how long a copier may take: what counts as deaf in a broker's log, and what that
// does to the grace. In numbers worked out by hand.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accountId } from "../../../../protocol/ids.ts";
import type { BrokerMs } from "../../../../protocol/units.ts";
import { ORDINARY, type Quirks } from "../../../../ops/broker/quirks.ts";
import { Ears, NOTICE_MS, RESYNC_MS, type EarsEntry } from "../../../../ops/demo/check/ears.ts";
import type { Request } from "../../../../ops/demo/check/history.ts";
import { unsettledSpan } from "../../../../ops/demo/check/outcomes.ts";
import { isWithin, joined, Patience } from "../../../../ops/demo/check/patience.ts";

describe("patience", () => {
  const due = (fromMs: number, ...deaf: (readonly [number, number])[]): number => new Patience(100, deaf.map(([from, to]) => ({ fromMs: from, toMs: to }))).dueMs(fromMs);

  test("is the grace where nothing is in the way", () => assert.deepEqual([due(0), due(50, [0, 40]), due(0, [100, 900])], [100, 150, 100]));
  test("begins anew when a deaf time ends", () => assert.deepEqual([due(10, [0, 300]), due(0, [99, 300]), due(0, [50, 60], [120, 300], [390, 500])], [400, 400, 600]));
  test("has no end where the deaf time has none", () => assert.equal(due(0, [50, Infinity]), Infinity));
  test("takes deaf times in any order, overlapping or not", () => {
    assert.deepEqual(joined([{ fromMs: 5, toMs: 9 }, { fromMs: -Infinity, toMs: 2 }, { fromMs: 1, toMs: 3 }, { fromMs: 6, toMs: 7 }]), [{ fromMs: -Infinity, toMs: 3 }, { fromMs: 5, toMs: 9 }]);
    assert.deepEqual([isWithin([{ fromMs: 0, toMs: 9 }], { fromMs: 1, toMs: 9 }), isWithin([{ fromMs: 0, toMs: 5 }, { fromMs: 6, toMs: 9 }], { fromMs: 1, toMs: 9 })], [true, false]);
  });
});

describe("a session hears nothing", () => {
  const account = accountId("f1");
  type Fact = EarsEntry extends infer E ? (E extends EarsEntry ? Omit<E, "n" | "atMs" | "account"> : never) : never;
  const login = (connection: number, channel: "session" | "call" = "session", refused: string | null = null): Fact => ({ kind: "login", connection, login: 1, channel, client: null, refused });
  const gone = (connection: number): Fact => ({ kind: "disconnect", connection, cause: "x" });
  const quirks = (snapshots: Quirks["snapshots"]): Fact => ({ kind: "quirks", quirks: { ...ORDINARY, snapshots } });
  const halfOpen = (forMs: number | null): Fact => ({ kind: "fault", fault: { kind: "half_open", forMs, hears: true }, requestN: null });
  const heal: Fact = { kind: "fault", fault: { kind: "heal" }, requestN: null };

  const deaf = (...facts: (readonly [atMs: number, fact: Fact])[]): number[][] => {
    const ears = new Ears();
    for (const [index, [atMs, fact]] of facts.entries()) ears.take({ n: index + 1, atMs: atMs as BrokerMs, account, ...fact });
    return joined(ears.deaf()).map(({ fromMs, toMs }) => [fromMs, toMs]);
  };
  const AT = 100_000;
  const begun = [-Infinity, RESYNC_MS];

  test("before its first login, and a short while after", () => assert.deepEqual([deaf(), deaf([0, login(1)])], [[[-Infinity, Infinity]], [begun]]));
  test("from its disconnect to the next login and a short while after", () => {
    assert.deepEqual(deaf([0, login(1)], [AT, gone(1)], [AT + 500, login(2)]), [begun, [AT, AT + 500 + RESYNC_MS]]);
    assert.deepEqual(deaf([0, login(1)], [AT, gone(1)]), [begun, [AT, Infinity]]);
  });
  test("for no longer than that where another session took its place", () => {
    assert.deepEqual(deaf([0, login(1)], [AT, login(2)], [AT, gone(1)]), [begun, [AT, AT + RESYNC_MS]]);
  });
  test("but is not helped by call channels or refused logins", () => {
    assert.deepEqual(deaf([0, login(1)], [AT, gone(1)], [AT + 1, login(2, "call")], [AT + 2, login(3, "session", "wrong password")]), [begun, [AT, Infinity]]);
    assert.deepEqual(deaf([0, login(1)], [1, login(2, "call")], [AT, gone(2)]), [begun]);
  });
  test("for as long as its broker loads or lies after a login", () => {
    assert.deepEqual(deaf([-1, quirks({ kind: "empty", forMs: 700 })], [0, login(1)]), [[-Infinity, RESYNC_MS + 700]]);
    assert.deepEqual(deaf([-1, quirks({ kind: "unsynced", forMs: null })], [0, login(1)], [AT, quirks(null)]), [[-Infinity, AT + RESYNC_MS]]);
    assert.deepEqual(deaf([0, login(1)], [AT, quirks({ kind: "unsynced", forMs: null })]), [begun], "who is logged in does not ask");
  });
  test("while it is half open, and until it notices", () => {
    assert.deepEqual(deaf([0, login(1)], [AT, halfOpen(900)], [AT + 900, heal]), [begun, [AT, AT + 900 + NOTICE_MS]]);
    assert.deepEqual(deaf([0, login(1)], [AT, halfOpen(null)], [AT + 900, heal], [AT + 950, gone(1)], [AT + 1000, login(2)]), [begun, [AT, AT + 1000 + RESYNC_MS]]);
    assert.deepEqual(deaf([0, login(1)], [AT, halfOpen(null)]), [begun, [AT, Infinity]]);
  });
  test("of a change that it was not told, until its next login", () => {
    assert.deepEqual(deaf([0, login(1)], [AT, { kind: "missed", change: "position_closed" }]), [begun, [AT, Infinity]]);
    assert.deepEqual(deaf([0, login(1)], [AT, { kind: "missed", change: "position_closed" }], [AT + 50, login(2)]), [begun, [AT, AT + 50 + RESYNC_MS]]);
  });
});

describe("a request of unknown outcome leaves its trade alone", () => {
  const allowance = { graceMs: 100, settleMs: 1_000, callTimeoutMs: 300, outages: [], absences: new Map(), handoverMs: null };
  const sent = { atMs: 150, code: 0, text: "", notSent: null };
  const span = (more: Partial<Request>, platform: "mt4" | "mt5" = "mt4"): number[] | null => {
    const request: Request = { n: 1, atMs: 100, by: { kind: "connection", connection: 1, id: 1 }, order: { kind: "cancel", ticket: 1 as never, symbol: "x" as never }, target: null, answer: sent, faults: [], late: null, ...more };
    const found = unsettledSpan(request, platform, allowance);
    return found === null ? null : [found.fromMs, found.toMs];
  };

  test("not where it was answered, done or refused", () => assert.deepEqual([span({}), span({ answer: { ...sent, code: 130 } })], [null, null]));
  test("where its answer was not sent", () => assert.deepEqual(span({ answer: { ...sent, notSent: "fault: cut" } }), [100, 1_150]));
  test("where it was told time-out, by the platform's own code", () => {
    assert.deepEqual([span({ answer: { ...sent, code: 128 } }), span({ answer: { ...sent, code: 128 } }, "mt5"), span({ answer: { ...sent, code: 10012 } }, "mt5")], [[100, 1_150], null, [100, 1_150]]);
  });
  test("where nobody says anything: after the caller's own time-out", () => assert.deepEqual(span({ faults: [{ kind: "hang", execute: true }] }), [100, 1_400]));
  test("where it was executed late: from then on", () => {
    assert.deepEqual(span({ faults: [{ kind: "execute_late", afterMs: 900, answer: "time_out" }], late: { n: 9, atMs: 1_000 } }), [100, 2_000]);
  });
});
