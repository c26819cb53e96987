// Owns the proof that the mutants' judge can say no: a tiny project with one guard, and one mutant of each kind.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { resultsOf } from "../support/namedCases.ts";
import { tryMutants, type Tried } from "./judge.ts";
import type { Mutant } from "./mutant.ts";

const GUARD = "export const mayTrade = (epoch: number, own: number): boolean => epoch > 0 && epoch === own;\n";
const CASES = `
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mayTrade } from "./guard.ts";
describe("gate", () => {
  test("another epoch is refused", () => assert.equal(mayTrade(1, 2), false));
  test("an empty slot (0): refused", () => assert.equal(mayTrade(0, 1), false));
  test("waits in vain", () => (mayTrade(1, 1) ? undefined : new Promise(() => undefined)));
  test("never passes", () => assert.equal(mayTrade(1, 1), false));
});
`;

const base = { name: "a mutant", file: "guard.ts", test: "guard.test.ts" } as const;
const COMPARE = { ...base, find: "epoch === own", replace: "true" };
const KINDS: readonly (readonly [expected: string, mutant: Mutant])[] = [
  ["killed", { ...COMPARE, case: "another epoch is refused" }],
  ["killed", { ...base, find: "epoch === own", replace: "false", case: "waits in vain" }],
  ["survived", { ...base, find: "epoch > 0 && ", replace: "", case: "an empty slot (0): refused" }],
  ["moved", { ...base, find: "epoch === theirs", replace: "true", case: "another epoch is refused" }],
  ["moved", { ...base, find: "own", replace: "epoch", case: "another epoch is refused" }],
  ["moved", { ...COMPARE, file: "gone.ts", case: "another epoch is refused" }],
  ["broken", { ...COMPARE, replace: "= = own", case: "another epoch is refused" }],
  ["broken", { ...COMPARE, replace: "theirs === own", case: "another epoch is refused" }],
  ["broken", { ...base, find: "export const mayTrade", replace: "export const mayNot", case: "another epoch is refused" }],
  ["baseline", { ...COMPARE, case: "never passes" }],
  ["baseline", { ...COMPARE, case: "no such case" }],
  ["baseline", { ...COMPARE, test: "gone.test.ts", case: "another epoch is refused" }],
];

async function copyTiny(folder: string): Promise<void> {
  await mkdir(folder);
  await symlink(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"));
  for (const [name, text] of [["guard.ts", GUARD], ["guard.test.ts", CASES], ["package.json", `{"type":"module"}`]] as const) await writeFile(join(folder, name), text);
}

test("row 26: only a case that fails by what it asserts kills a mutant: one that passes, did not run, crashed or never passed does not, nor does a place that moved", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-mutants-test-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const told: Tried[] = [];
  const mutants = KINDS.map(([, mutant]) => mutant);
  const tried = await tryMutants({ mutants, folder, copy: copyTiny, workers: 2, env: {}, timeoutMs: 60_000, onTried: (one) => told.push(one), isOver: () => false });
  assert.deepEqual(tried.map(({ verdict }) => verdict.kind), KINDS.map(([expected]) => expected), JSON.stringify(tried, null, 1));
  assert.equal(told.length, mutants.length);
  const [, , , moved] = tried;
  assert.match(moved?.verdict.kind === "moved" ? moved.verdict.detail : "", /guard\.ts: the place moved.*0 times.*epoch === theirs/);
  for (const copy of ["copy-0", "copy-1"]) assert.equal(await readFile(join(folder, copy, "guard.ts"), "utf8"), GUARD, "as it was");
  assert.equal(existsSync(join(folder, "copy-2")), false);
});

test("a case that does not end in time shows nothing", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-mutants-test-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const endless: Mutant = { ...base, find: "=> epoch > 0", replace: "=> { for (;;); } // ", case: "another epoch is refused" };
  const tried = await tryMutants({ mutants: [endless], folder, copy: copyTiny, workers: 1, env: {}, timeoutMs: 5_000, onTried: () => undefined, isOver: () => false });
  assert.deepEqual(tried.map(({ verdict }) => verdict.kind), ["broken"]);
});

test("what a failed case shows of two values does not hide what it failed by, and a skipped one is no result", () => {
  const tap = `# Subtest: a
    # Subtest: b
    not ok 1 - b
      ---
      failureType: 'testCodeFailure'
      error: |-
        + actual - expected
        ...
          1
      code: 'ERR_ASSERTION'
      ...
    ok 2 - c \\#1
      ---
      duration_ms: 1
      ...
    ok 3 - d # SKIP test name does not match pattern
      ---
      duration_ms: 1
      ...
    1..3
not ok 1 - a
  ---
  type: 'suite'
  failureType: 'subtestsFailed'
  ...
`;
  assert.deepEqual([...resultsOf(tap)].map(([name, { outcome }]) => [name, outcome]), [["b", "failed"], ["c #1", "passed"]]);
});
