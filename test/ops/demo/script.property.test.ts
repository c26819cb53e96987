// Owns the property that a statement's script, played at a real broker, ends with the statement.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Statement } from "../../../ops/statement/model.ts";
import { readStatement } from "../../../ops/statement/read.ts";
import { demoFile, realFolder } from "../statement/fixture.ts";
import { chainsOf, expectedAccount, expectedLevels, playedAccount } from "./played.ts";
import { randomStatement } from "./randomStatement.ts";

async function assertPlayed(statement: Statement): Promise<void> {
  const { trades, pendings, levels } = await playedAccount(statement);
  assert.deepEqual({ trades, pendings }, expectedAccount(statement));
  for (const [role, rows] of chainsOf(statement)) {
    for (const [index, row] of rows.entries()) {
      const wanted = expectedLevels(row);
      const held = levels[role]?.[index];
      assert.deepEqual({ ...held, ...wanted }, held, `${role}, row ${index + 1}: stop and target at its end`);
    }
  }
}

describe("a script ends with its statement's rows, each level among them that a broker can have held", () => {
  test("the bundled statement", () => assertPlayed(readStatement(readFileSync(demoFile), demoFile)));

  const skip = existsSync(realFolder) ? false : `no real statements at ${realFolder}`;
  for (const file of ["mt4-statement-partial-closes.htm", "mt4-statement-suffix.htm", "mt4-statement-rewritten-comments.htm"]) {
    test(`the real ${file}`, { skip }, () => assertPlayed(readStatement(readFileSync(join(realFolder, file)), file)));
  }

  test("statements made at random hold each kind of row", () => {
    const made = fc.sample(randomStatement, { numRuns: 200, seed: 1 });
    const rows = made.flatMap(({ positions }) => positions);
    for (const reason of ["manual", "stop_loss", "take_profit", "stop_out"]) assert.ok(rows.some(({ closeReason }) => closeReason === reason), reason);
    for (const list of ["open", "pendings", "working"] as const) assert.ok(made.some((statement) => statement[list].length > 0), list);
    assert.ok(made.some(({ chains }) => chains > 0));
    assert.ok(made.every(({ unresolvedChains }) => unresolvedChains.length === 0));
  });

  test("statements made at random", () => fc.assert(fc.asyncProperty(randomStatement, assertPlayed), { numRuns: 400 }));
});
