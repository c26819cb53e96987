// Owns the contract of the event log's port: one suite that the in-memory log and the real one pass.
// It tests only what both can promise: at least once, in order within a partition, and nothing about
// when a group's partitions move.

import { describe, test, type TestContext } from "node:test";
import { LogCase, type LogUnderTest } from "./logFixture.ts";
import { groupCases } from "./logGroupCases.ts";
import { producerCases } from "./logProducerCases.ts";
import { readingCases } from "./logReadingCases.ts";
import { topicCases } from "./logTopicCases.ts";

/** Declares one case; it gets a log of its own. */
export type DeclareCase = (name: string, run: (log: LogCase, t: TestContext) => Promise<void>, needs?: "compaction") => void;

export function logContract(name: string, underTest: LogUnderTest): void {
  const { capabilities } = underTest;
  const declare: DeclareCase = (title, run, needs) => {
    const skip = needs === "compaction" && !capabilities.compaction ? "this log cannot be made to compact" : false;
    test(title, { skip }, async (t) => run(new LogCase(await underTest.create(t), capabilities.patienceMs), t));
  };
  describe(`${name}: the event log's contract`, () => {
    describe("topics", () => topicCases(declare));
    describe("producers", () => producerCases(declare));
    describe("reading", () => readingCases(declare));
    describe("groups", () => groupCases(declare));
  });
}
