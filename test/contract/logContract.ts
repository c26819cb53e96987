// Owns the contract of the event log's port: one suite that the in-memory log and the real one pass.
// It tests only what both can promise: at least once, in order within a partition, and nothing about
// when a group's partitions move.

import { describe, test, type TestContext } from "node:test";
import { LogCase, type LogUnderTest } from "./logFixture.ts";
import { groupCases } from "./logGroupCases.ts";
import { actorCases } from "./logActorCases.ts";
import { memberCases } from "./logMemberCases.ts";
import { producerCases } from "./logProducerCases.ts";
import { readingCases } from "./logReadingCases.ts";
import { topicCases } from "./logTopicCases.ts";

/** Declares one case; it gets a log of its own. */
export type DeclareCase = (name: string, run: (log: LogCase, t: TestContext) => Promise<void>) => void;

export function logContract(name: string, underTest: LogUnderTest): void {
  const declare: DeclareCase = (title, run) => 
    test(title, async (t) => {
      const c = new LogCase(await underTest.create(t), underTest.patienceMs);
      try {
        await run(c, t);
      } finally {
        await c.end();
      }
    });
  describe(`${name}: the event log's contract`, () => {
    describe("topics", () => topicCases(declare));
    describe("producers", () => producerCases(declare));
    describe("reading", () => readingCases(declare));
    describe("groups", () => groupCases(declare));
    describe("members that die or stand still", () => memberCases(declare));
    describe("what its readers make of it", () => actorCases(declare));
  });
}
