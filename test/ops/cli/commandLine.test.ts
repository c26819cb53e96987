// Owns the tests of the command line: what it says and its exit codes, in real processes.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ROOT, runCommand } from "./lockstep.ts";

const STATEMENT = join(ROOT, "ops/demo/statement.htm");

describe("lockstep", { concurrency: 2 }, () => {
  test("--help names every command", async (t) => {
    const { code, out, err } = await runCommand(t, ["--help"]);
    assert.deepEqual([code, err], [0, ""]);
    for (const command of ["demo", "statement", "broker", "postgres", "node", "status"]) assert.match(out, new RegExp(`^  ${command} `, "m"));
  });

  test("demo --help names every option", async (t) => {
    const { code, out } = await runCommand(t, ["demo", "--help"]);
    assert.equal(code, 0);
    for (const option of ["--statement", "--followers", "--speed", "--json"]) assert.match(out, new RegExp(`^  ${option}\\b`, "m"));
  });

  test("without a command says what there is and exits 2", async (t) => {
    const { code, out, err } = await runCommand(t, []);
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, /^Usage: lockstep/);
  });

  test("statement FILE --json is one JSON object", async (t) => {
    const { code, out, err } = await runCommand(t, ["statement", STATEMENT, "--json"]);
    assert.deepEqual([code, err], [0, ""]);
    const { format, positions, open, pendings, working, chains } = JSON.parse(out) as Record<string, unknown>;
    assert.deepEqual({ format, positions, open, pendings, working, chains }, { format: "mt4-html", positions: 29, open: 2, pendings: 3, working: 1, chains: 3 });
  });

  const refusals: readonly (readonly [args: readonly string[], line: RegExp])[] = [
    [["dance"], /unknown command 'dance'/],
    [["demo", "--loud"], /unknown option '--loud'/],
    [["statement"], /missing required argument 'file'/],
    [["demo", "--statement", "package.json"], /package\.json: expected an? .*statement.*, found /],
    [["demo", "--statement", "not-there.htm"], /not-there\.htm: .*no such file/],
    [["demo", "--followers", "0"], /--followers: expected a whole number from 1 to 200, got "0"/],
    [["demo", "--followers", "x"], /--followers: expected a whole number from 1 to 200, got "x"/],
    [["demo", "--followers", "201"], /--followers: expected a whole number from 1 to 200, got "201"/],
    [["demo", "--speed", "0"], /--speed: expected "max" or a number above 0 .*, got "0"/],
    [["demo", "--speed", "fast"], /--speed: expected "max" or a number above 0 .*, got "fast"/],
    [["node", "--http-port", "65536"], /httpPort \(option --http-port\): expected a whole number from 0 to 65535, got "65536"/],
    [["status", "--cell", "a b"], /cell \(option --cell\): expected 1-64 letters.*, got "a b"/],
    [["cluster", "--nodes", "0"], /--nodes: expected a whole number from 1 to 16, got "0"/],
    [["cluster", "--for", "30"], /--for: expected 5s to 60m, as in 30s or 2m, got "30"/],
    [["broker", "--port", "65536"], /--port: expected a number from 0 to 65535, got "65536"/],
  ];
  for (const [args, line] of refusals) {
    test(`${args.join(" ")} exits 2 with one line on standard error`, async (t) => {
      const { code, out, err } = await runCommand(t, args);
      assert.deepEqual([code, out], [2, ""]);
      assert.match(err, /^lockstep: .+\n$/);
      assert.match(err, line);
    });
  }
});
