// Owns the tests of the rules about copies and about who may trade: each way of breaking them is found, and what is right beside
// it is not.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ORDINARY } from "../../../../ops/broker/quirks.ts";
import { judge } from "../../../../ops/drill/judge/judge.ts";
import type { Ticket } from "../../../../protocol/ids.ts";
import type { DrillRecord } from "../../../../ops/drill/record.ts";
import { ARRIVAL_MS } from "../../../../ops/drill/judge/evidence.ts";
import { cut, down, frozen, killed, stopped } from "./drills.ts";
import { EUR, F1, M1, N1, N2 } from "./drillCast.ts";
import type { DrillStage } from "./drillStage.ts";

const count = (record: DrillRecord, rule: string): number => judge(record).violations.filter((violation) => violation.rule === rule).length;
const isFound = (record: DrillRecord, rule: string): void => assert.notEqual(count(record, rule), 0, `${rule} is not found`);
const isRight = (record: DrillRecord, rule: string): void => assert.equal(count(record, rule), 0);

describe("two live copies", () => {
  const again = (stage: DrillStage, epoch = 2): void => {
    const ticket = stage.open({ keep: true });
    stage.pass(100);
    stage.ask(F1, N2, epoch, stage.openOrder(F1, ticket));
  };

  test("opened again while the first stands: found", () => assert.equal(count(killed({ after: again }), "two-live-copies"), 1));
  test("whatever the broker made of the comments: found", () => {
    const cleared = (stage: DrillStage): void => {
      stage.broker.setQuirk(F1, { ...ORDINARY, clearedComments: ["opened"] });
      again(stage);
    };
    assert.equal(count(killed({ after: cleared }), "two-live-copies"), 1);
  });
  test("after a part-close gave the first another ticket: found", () => {
    const chained = (stage: DrillStage): void => {
      const ticket = stage.open({ keep: true });
      stage.pass(100);
      const copy = [...stage.broker.positions(F1).values()].at(-1)!;
      stage.ask(F1, N2, 2, { kind: "close", ticket: copy.ticket, symbol: EUR, volume: (copy.volume / 2) as never, part: true });
      stage.ask(F1, N2, 2, stage.openOrder(F1, ticket));
    };
    assert.equal(count(killed({ after: chained }), "two-live-copies"), 1);
  });
  test("the rest of a part-close is no second copy: right", () => {
    const parted = (stage: DrillStage): void => {
      stage.open({ keep: true });
      stage.pass(100);
      const copy = [...stage.broker.positions(F1).values()].at(-1)!;
      stage.ask(F1, N2, 2, { kind: "close", ticket: copy.ticket, symbol: EUR, volume: (copy.volume / 2) as never, part: true });
    };
    isRight(killed({ after: parted }), "two-live-copies");
  });
  test("one after the other: right here, whatever else it is", () => {
    const reopened = (stage: DrillStage): void => {
      const ticket = stage.open({ keep: true });
      stage.pass(100);
      const copy = [...stage.broker.positions(F1).values()].at(-1)!;
      stage.ask(F1, N2, 2, { kind: "close", ticket: copy.ticket, symbol: EUR, volume: copy.volume, part: false });
      stage.ask(F1, N2, 2, stage.openOrder(F1, ticket));
    };
    const record = killed({ after: reopened });
    isRight(record, "two-live-copies");
    isFound(record, "duplicate");
  });
});

const cancel = { kind: "cancel", ticket: 77 as Ticket, symbol: EUR } as const;
const RULE = "order-outside-lease";

describe("an order outside its node's lease", () => {
  test("that was ended, when it can be on its way no more: found", () => {
    const late = (afterMs: number): DrillRecord =>
      killed({
        within: (stage) => {
          stage.pass(afterMs);
          stage.ask(F1, N1, 1, cancel);
        },
      });
    assert.equal(count(late(ARRIVAL_MS + 20), RULE), 1);
    isRight(late(ARRIVAL_MS - 40), RULE);
  });
  test("that ran out, at once: found", () => {
    const late = (leftMs: number): DrillRecord =>
      cut({
        within: (stage) => {
          stage.trade(stage.leaseLeftMs(N1) - 200);
          stage.pass(stage.leaseLeftMs(N1) - leftMs);
          stage.ask(F1, N1, 1, cancel);
        },
        copiesForMs: 0,
      });
    assert.equal(count(late(-20), RULE), 1);
    isRight(late(40), RULE);
  });
  test("that lapsed and is live again, under an epoch from before: found", () => assert.equal(count(frozen({ after: (stage) => void stage.ask(F1, N1, 1, cancel) }), RULE), 1));
  test("that lapsed and is live again, though nobody else took the account: found", () => assert.equal(count(down({ takeover: () => undefined, after: (stage) => void stage.ask(F1, N1, 1, cancel) }), RULE), 1));
  test("of a boot that never had one: found", () => assert.equal(count(killed({ after: (stage) => void stage.ask(F1, { node: "n9", boot: "b9" }, 2, cancel) }), RULE), 1));
  test("before its first: found", () => assert.equal(count(killed({ more: { leases: killed().leases.filter(({ node, atMs }) => node !== "n2" || atMs > 1_700_000_004_000) } }), RULE) > 0, true));
});

describe("an order of a node that was told to end", () => {
  const late = (ms: number) => (stage: DrillStage): void => {
    stage.pass(ms);
    stage.ask(F1, N1, 1, cancel);
  };

  test("before it has given the account back: right, however long after the fault", () => {
    const record = stopped({ gives: (stage) => (late(1_000)(stage), stage.release(F1)) });
    for (const rule of [RULE, "order-after-fault"]) isRight(record, rule);
  });
  test("after it gave the account back, its lease being live and nobody having claimed: found", () => {
    assert.equal(count(stopped({ given: late(ARRIVAL_MS + 100) }), RULE), 1);
    isRight(stopped({ given: late(ARRIVAL_MS) }), RULE);
  });
  test("after its lease was ended, its row naming it still and nobody having claimed: found", () => {
    const keeps = (): void => undefined;
    assert.equal(count(stopped({ gives: keeps, within: late(ARRIVAL_MS + 20) }), RULE), 1);
    isRight(stopped({ gives: keeps, within: late(ARRIVAL_MS - 40) }), RULE);
  });
});

describe("an order under an epoch", () => {
  const sent = (epoch: number): DrillRecord => killed({ after: (stage) => void stage.ask(F1, N2, epoch, cancel) });

  test("of its own: right", () => isRight(sent(2), RULE));
  test("that nobody was given: found", () => isFound(sent(3), RULE));
  test("that was another's: found", () => isFound(sent(1), RULE));
  test("that is another's, who has it: found", () => isFound(killed({ before: (stage) => void stage.ask(F1, N2, 1, cancel) }), RULE));
  test("that was over, the account being another's: found", () => {
    const moved = (stage: DrillStage): void => {
      stage.release(F1);
      stage.pass(200);
      stage.acquire(F1, N1B, 3);
      stage.pass(ARRIVAL_MS + 100);
      stage.ask(F1, N2, 2, cancel);
    };
    const N1B = { node: "n1", boot: "b1b" };
    const record = (more: (stage: DrillStage) => void) =>
      killed({
        after: (stage) => {
          stage.start(N1B);
          more(stage);
        },
      });
    isFound(record(moved), RULE);
  });
  test("that was over, the account being nobody's: found", () => {
    const given = (stage: DrillStage): void => {
      stage.release(F1);
      stage.pass(ARRIVAL_MS + 100);
      stage.ask(F1, N2, 2, cancel);
      stage.acquire(F1, N2, 3);
    };
    assert.equal(count(killed({ after: given }), RULE), 1);
  });
  test("from nobody who says who he is: found", () => {
    const anonymous = (stage: DrillStage): void => {
      stage.append({ kind: "login", account: F1, connection: 900, login: 2, channel: "session", client: null, refused: null });
      stage.ask(F1, N2, 2, cancel, 900);
    };
    const record = killed({ after: anonymous });
    assert.equal(count(record, RULE), 1);
    isFound(record, "owner-unknown");
  });
  test("lower than one that traded before: found by the log alone", () => isFound(killed({ after: (stage) => void stage.ask(F1, N1, 1, cancel) }), "owner-went-back"));
});

describe("epochs of a row", () => {
  const seen = (...rows: readonly (readonly [node: string | null, epoch: number])[]): DrillRecord => {
    const record = killed();
    const more = rows.map(([node, epoch], index) => ({ atMs: record.endAtMs - 1_000 + index * 100, account: M1, node, boot: node === null ? null : `b${node.slice(1)}`, epoch }));
    return { ...record, owners: [...record.owners, ...more] };
  };

  test("that rise, also without an owner in between: right", () => {
    const record = seen([null, 1], ["n2", 2], ["n2", 3]);
    for (const rule of ["epoch-went-back", "epoch-shared"]) isRight(record, rule);
  });
  test("one that falls: found", () => isFound(seen(["n2", 5], ["n1", 4]), "epoch-went-back"));
  test("one of two owners: found", () => isFound(seen(["n1", 1]), "epoch-shared"));
  test("one that is given again to the same: found", () => isFound(seen([null, 1], ["n2", 1]), "epoch-shared"));
});

describe("what cannot be judged", () => {
  const lacks = (more: Partial<DrillRecord>): boolean => judge({ ...killed(), ...more }).violations.some(({ rule, detail }) => rule === "not-judged" && detail.startsWith(RULE));

  test("nothing is lacking: right", () => assert.equal(lacks({}), false));
  test("without leases: said", () => assert.equal(lacks({ leases: [] }), true));
  test("without an account's row: said", () => assert.equal(lacks({ owners: killed().owners.filter(({ account }) => account !== F1) }), true));
});
