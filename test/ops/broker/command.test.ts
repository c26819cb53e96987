// Owns the tests of `lockstep broker`: its configuration, and the process itself.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isLockstepError } from "../../../protocol/errors.ts";
import { brokerConfigOf, DEFAULT_BROKER_CONFIG, readBrokerConfig } from "../../../ops/broker/config.ts";
import { walkedQuote } from "../../../ops/broker/walk.ts";
import { brokerCommand } from "../../../ops/commands/broker.ts";
import { openOrder, points } from "./market.ts";
import { RawClient } from "./rawClient.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const refused = (text: string) => (error: unknown): boolean => {
  assert.ok(isLockstepError(error, "configuration"));
  assert.equal(error.message, text);
  return true;
};

describe("the configuration", () => {
  test("the built-in one has an MT4 and an MT5 account", () => {
    const config = brokerConfigOf(DEFAULT_BROKER_CONFIG, "built-in");
    assert.deepEqual(config.accounts.map(({ platform, login }) => [platform, login]), [["mt4", 1001], ["mt5", 2001]]);
    assert.deepEqual(config.quotes[0], { instrument: "eurusd", bid: 108_500, ask: 108_508 });
    assert.deepEqual([config.walk, config.answerDelayMs, config.clockOffsetMs], [true, 130, 0]);
  });

  const instrument = { name: "eurusd", digits: 5, bid: "1.08500", ask: "1.08508" };
  const symbol = { symbol: "EURUSD", instrument: "eurusd", digits: 5, volumeMin: "0.01", volumeStep: "0.01", volumeMax: "10", stopLevelPoints: 0 };
  const account = { account: "a", login: 1, password: "p", platform: "mt4", company: "c", firstTicket: 1, symbols: [symbol] };
  const config = { instruments: [instrument], accounts: [account] };
  const faulty = [
    ["a file that is no object", [], "b.json: the file: expected an object, got []"],
    ["a missing key", { instruments: [] }, "b.json: accounts: expected a list, got nothing"],
    ["a key that is not known", { ...config, walks: true }, "b.json: walks: expected no such key (known: instruments, accounts, walk, clockOffsetMs, answerDelayMs, maxUnanswered), got true"],
    ["a price that is no decimal", { ...config, instruments: [{ ...instrument, bid: 1.085 }] }, "b.json: instruments[0].bid: expected a string that is not empty, got 1.085"],
    ["an ask below the bid", { ...config, instruments: [{ ...instrument, ask: "1.08" }] }, 'b.json: instruments[0].ask: expected a price at or above the bid, got "1.08"'],
    ["a platform that is none", { ...config, accounts: [{ ...account, platform: "mt6" }] }, 'b.json: accounts[0].platform: expected "mt4" or "mt5", got "mt6"'],
    ["an MT4 ticket beyond 32 bits", { ...config, accounts: [{ ...account, firstTicket: 5e9 }] }, "b.json: accounts[0].firstTicket: expected a whole number from 1 to 2147483647, got 5000000000"],
    ["digits that are too many", { ...config, accounts: [{ ...account, symbols: [{ ...symbol, digits: 9 }] }] }, "b.json: accounts[0].symbols[0].digits: expected a whole number from 0 to 8, got 9"],
    ["an instrument that is not there", { ...config, accounts: [{ ...account, symbols: [{ ...symbol, instrument: "x" }] }] }, 'b.json: accounts[0].symbols[0].instrument: expected "eurusd", got "x"'],
    ["two accounts with one login", { ...config, accounts: [account, { ...account, account: "b" }] }, "b.json: login 1 of account b is there twice"],
    ["a name that is none", { ...config, accounts: [{ ...account, account: "a b" }] }, `b.json: accounts[0].account: account id: expected 1-64 letters, digits, '.', '_' or '-', got "a b"`],
  ] as const;
  for (const [what, value, text] of faulty) {
    test(`${what} is refused by its path`, () => {
      assert.throws(() => brokerConfigOf(value, "b.json"), refused(text));
    });
  }

  test("a file that is not there, or no JSON, is one clear error", (t) => {
    const folder = mkdtempSync(join(tmpdir(), "lockstep-broker-config-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "b.json");
    assert.throws(() => readBrokerConfig(path), (error) => isLockstepError(error, "configuration") && error.message.startsWith(`${path}: expected a readable JSON file: `));
    writeFileSync(path, "{");
    assert.throws(() => readBrokerConfig(path), (error) => isLockstepError(error, "configuration"));
  });

  test("a port that is none is refused", async () => {
    await assert.rejects(brokerCommand({ port: "70000" }), refused('--port: expected a number from 0 to 65535, got "70000"'));
  });

  test("walking prices keep their spread and stay above zero", () => {
    const low = { instrument: "x", bid: points(3), ask: points(5) };
    assert.deepEqual(walkedQuote(low, { next: () => 0 }), { instrument: "x", bid: 1, ask: 3 });
    assert.deepEqual(walkedQuote(low, { next: () => 0.999 }), { instrument: "x", bid: 8, ask: 10 });
  });
});

test("the process takes orders, and a signal ends it with its log written", { timeout: 30_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-broker-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const log = join(folder, "broker.jsonl");
  const program = `import { brokerCommand } from "./ops/commands/broker.ts"; process.exitCode = await brokerCommand({ port: "0", log: ${JSON.stringify(log)} });`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", program], { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const port = Number(/^broker listening on 127\.0\.0\.1:(\d+)$/.exec(line)?.[1]);

  const client = await RawClient.loggedIn(port, 1001, "demo", "session");
  assert.equal((await client.order(openOrder())).code, 0);
  await client.hear("quotes");
  child.kill("SIGTERM");
  assert.deepEqual(await exited, [0, null]);
  await client.closed();
  const kinds = new Set(readFileSync(log, "utf8").split("\n").slice(0, -1).map((entry) => (JSON.parse(entry) as { kind: string }).kind));
  for (const kind of ["account", "login", "request", "deal", "answer", "quote", "disconnect"]) assert.ok(kinds.has(kind), kind);
});
