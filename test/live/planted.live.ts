// Owns the proof that the log's contract can fail: in a copy of the sources one fault is planted, and
// the case that guards against it must fail on a real Kafka, where it passes without it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { sharedKafka } from "../support/kafka.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const COPIED = ["actors", "log", "ops", "protocol", "storage", "test", "package.json", "tsconfig.json"];
const CONTRACT = "test/log/kafka.contract.test.ts";
/** A case that fails by waiting in vain need not do so for the suite's whole minute. */
const PATIENCE = { text: "patienceMs: 60_000", instead: "patienceMs: 20_000" };

interface Planted {
  readonly fault: string;
  readonly file: string;
  readonly text: string;
  readonly instead: string;
  /** The case that must fail. */
  readonly case: string;
}

const FAULTS: readonly Planted[] = [
  {
    fault: "a commit before the work",
    file: "log/kafka/subscription.ts",
    text: "handle: async (batch) => consume.onBatch(batch),",
    instead: "handle: async (batch) => { await this.commit([{ ...place, offset: batch.next }]); await consume.onBatch(batch); },",
    case: "a member that is killed in the middle of a batch has committed nothing of it: another does it again",
  },
  {
    fault: "a silent jump over a committed offset that the log does not have any more",
    file: "log/kafka/places.ts",
    text: "found.push({ topic, partition, wanted, start: isThere(wanted, { start, end }) ? wanted : start });",
    instead: "const at = isThere(wanted, { start, end }) ? wanted : start; found.push({ topic, partition, wanted: at, start: at });",
    case: "a committed offset that retention passed is a gap too",
  },
  {
    fault: "a silent jump of a reader that retention overtakes",
    file: "log/kafka/subscription.ts",
    text: "      if (stay !== this.#stay || feed.fetched !== before || isThere(before, bounds) || !this.#isLive) continue;",
    instead: "      if (bounds.start > -1) continue;",
    case: "retention that overtakes a slow reader is told: every record is read or lies in a gap that was told",
  },
  {
    fault: "books that count by their arrival",
    file: "actors/core/masterFold.ts",
    text: "  if (order < 0 || (fold.synced && order === 0) || book.epoch < highestEpoch(fold)) return { ...keep, verdict: \"stale\" };",
    instead: "  void order;",
    case: "books count by epoch and seq, not by arrival: a former owner's last book does not win by being last",
  },
  {
    fault: "a handler that is not waited for",
    file: "log/kafka/feed.ts",
    text: "      await handle(batch);",
    instead: "      handle(batch).catch(onFailed);",
    case: "the next batch of a partition waits for the promise of the one before",
  },
];

async function copyOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-planted-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await replace(folder, CONTRACT, PATIENCE);
  return folder;
}

async function replace(folder: string, file: string, { text, instead }: Pick<Planted, "text" | "instead">): Promise<void> {
  const path = join(folder, file);
  const source = await readFile(path, "utf8");
  assert.equal(source.split(text).length, 2, `${text} stands once in ${file}`);
  await writeFile(path, source.replace(text, () => instead));
}

/** Runs only these cases of the contract; resolves with the names of those that failed, and how many ran. */
async function failing(folder: string, cases: readonly string[]): Promise<{ readonly failed: readonly string[]; readonly ran: number }> {
  const brokers = (await sharedKafka()).join(",");
  const patterns = cases.map((name) => `--test-name-pattern=^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);
  // A run inside a run would report to the outer one instead.
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const child = spawn(process.execPath, ["--import", "tsx", "--test", "--test-reporter=tap", ...patterns, CONTRACT], { cwd: folder, env: { ...env, LOCKSTEP_TEST_KAFKA_BROKERS: brokers }, stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  await new Promise((resolve) => child.once("close", resolve));
  const lines = out.split("\n").map((line) => line.trim());
  const named = (start: RegExp): string[] => lines.flatMap((line) => (start.test(line) && !line.includes("# SKIP") ? [line.replace(start, "")] : []));
  const failed = named(/^not ok \d+ - /).filter((name) => cases.includes(name));
  return { failed, ran: failed.length + named(/^ok \d+ - /).filter((name) => cases.includes(name)).length };
}

test("without a planted fault the cases pass", async (t) => {
  const cases = FAULTS.map((planted) => planted.case);
  assert.deepEqual(await failing(await copyOf(t), cases), { failed: [], ran: cases.length });
});

for (const planted of FAULTS) {
  test(`planted: ${planted.fault}`, async (t) => {
    const folder = await copyOf(t);
    await replace(folder, planted.file, planted);
    assert.deepEqual(await failing(folder, [planted.case]), { failed: [planted.case], ran: 1 });
  });
}
