// Owns the check of the `statement` command's output.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { summaryTable } from "../../../ops/commands/statement.ts";
import { summarise } from "../../../ops/statement/summary.ts";
import { demoFile, readFixture } from "./fixture.ts";
import { loadStatement } from "../../../ops/statement/read.ts";

const COMMAND = new URL("../../../ops/commands/statement.ts", import.meta.url).href;

test("--json prints exactly one JSON object, the summary, and exits 0", async () => {
  const script = `const { statementCommand } = await import(${JSON.stringify(COMMAND)}); process.exitCode = await statementCommand(${JSON.stringify(demoFile)}, { json: true });`;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script]);
  assert.deepEqual(JSON.parse(stdout), summarise(await loadStatement(demoFile)));
  assert.deepEqual(Object.keys(JSON.parse(stdout) as object), ["format", "positions", "open", "pendings", "working", "chains", "ignored", "symbols", "from", "to"]);
  assert.equal(stderr, "");
});

test("the table for a person says what was ignored and which chains are not resolved", () => {
  assert.match(summaryTable(readFixture("bookings.htm")), /ignored rows +│ 2 balance, 1 credit, 2 close by, 1 zero volume/);
  assert.match(summaryTable(readFixture("chains.htm")), /chains not resolved +│ 9120, 9121/);
  assert.match(summaryTable(readFixture("empty-account.htm")), /broker time +│ no trades/);
});
