// Owns the proof that the log's contract can fail: in a copy of the sources one fault is planted, and
// the case that guards against it must fail on a real Kafka, where it passes without it.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { sharedKafka } from "../support/kafka.ts";
import { runCases } from "../support/namedCases.ts";
import { copySources, plant, type Patch } from "../support/patchedCopy.ts";

const CONTRACT = "test/log/kafka.contract.test.ts";
/** A case that fails by waiting in vain need not do so for the suite's whole minute. */
const PATIENCE: Patch = { file: CONTRACT, find: "patienceMs: 60_000", replace: "patienceMs: 20_000" };
const TIMEOUT_MS = 300_000;

interface Planted extends Patch {
  readonly fault: string;
  /** The case that must fail. */
  readonly case: string;
}

const FAULTS: readonly Planted[] = [
  {
    fault: "a commit before the work",
    file: "log/kafka/subscription.ts",
    find: "handle: async (batch) => consume.onBatch(batch),",
    replace: "handle: async (batch) => { await this.commit([{ ...place, offset: batch.next }]); await consume.onBatch(batch); },",
    case: "a member that is killed in the middle of a batch has committed nothing of it: another does it again",
  },
  {
    fault: "a silent jump over a committed offset that the log does not have any more",
    file: "log/kafka/places.ts",
    find: "found.push({ topic, partition, wanted, start: isThere(wanted, { start, end }) ? wanted : start });",
    replace: "const at = isThere(wanted, { start, end }) ? wanted : start; found.push({ topic, partition, wanted: at, start: at });",
    case: "a committed offset that retention passed is a gap too",
  },
  {
    fault: "a silent jump of a reader that retention overtakes",
    file: "log/kafka/subscription.ts",
    find: "      if (stay !== this.#stay || feed.fetched !== before || isThere(before, bounds) || !this.#isLive) continue;",
    replace: "      if (bounds.start > -1) continue;",
    case: "retention that overtakes a slow reader is told: every record is read or lies in a gap that was told",
  },
  {
    fault: "books that count by their arrival",
    file: "actors/core/masterFold.ts",
    find: "  if (order < 0 || (fold.synced && order === 0) || book.epoch < highestEpoch(fold)) return { ...keep, verdict: \"stale\" };",
    replace: "  void order;",
    case: "books count by epoch and seq, not by arrival: a former owner's last book does not win by being last",
  },
  {
    fault: "a handler that is not waited for",
    file: "log/kafka/feed.ts",
    find: "      await handle(batch);",
    replace: "      handle(batch).catch(onFailed);",
    case: "the next batch of a partition waits for the promise of the one before",
  },
];

async function copyOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-planted-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const copy = join(folder, "copy");
  await copySources(copy);
  await plant(copy, PATIENCE);
  return copy;
}

/** Runs only these cases of the contract; resolves with what became of each. */
async function outcomes(folder: string, cases: readonly string[]): Promise<readonly string[]> {
  const env = { LOCKSTEP_TEST_KAFKA_BROKERS: (await sharedKafka()).join(",") };
  const results = await runCases({ folder, file: CONTRACT, cases, env, timeoutMs: TIMEOUT_MS });
  return cases.map((name) => results.get(name)?.outcome ?? "missing");
}

test("without a planted fault the cases pass", async (t) => {
  const cases = FAULTS.map((planted) => planted.case);
  assert.deepEqual(await outcomes(await copyOf(t), cases), cases.map(() => "passed"));
});

for (const planted of FAULTS) {
  test(`planted: ${planted.fault}`, async (t) => {
    const folder = await copyOf(t);
    await plant(folder, planted);
    assert.deepEqual(await outcomes(folder, [planted.case]), ["failed"]);
  });
}
