// Owns the tests of resolving settings: who comes before whom, what is refused, and how it is said.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KEY_NAMES } from "../../../ops/config/keys.ts";
import { nodeLimitsOf } from "../../../ops/config/limits.ts";
import { nodeNameOf, resolveSettings } from "../../../ops/config/resolve.ts";
import { checkNodeLimits, DEFAULT_NODE_LIMITS } from "../../../ops/nodeLimits.ts";
import { faultsOf, fileWith, resolved } from "./settings.ts";

describe("settings", () => {
  test("with nothing set everything has its default", () => {
    const { config, origins } = resolved();
    assert.deepEqual(config, {
      cell: "main", nodeName: "host", databaseUrl: null, kafkaBrokers: null, partitions: null, replication: 1, profile: "steady", capacity: 1_000, platforms: ["mt4", "mt5"],
      lanes: 128, reserve: 16, hosts: 2, parallelism: 16, brokerTimeoutMs: null, settleMs: 30_000, httpHost: "127.0.0.1", httpPort: 9_520, httpToken: null, logLevel: "info", stateDir: null,
    });
    assert.deepEqual(new Set(Object.values(origins)), new Set(["default"]));
    assert.deepEqual(nodeLimitsOf(config), DEFAULT_NODE_LIMITS);
  });

  test("an option comes before the environment, the environment before the file, the file before the default", async (t) => {
    const file = await fileWith(t, "lanes: 1\nreserve: 2\nhosts: 3\n");
    const env = { LOCKSTEP_RESERVE: "20", LOCKSTEP_HOSTS: "30" };
    const { config, origins } = resolved({ file, env, options: { hosts: "33" } });
    assert.deepEqual([config.lanes, config.reserve, config.hosts, config.capacity], [1, 20, 33, 1_000]);
    assert.deepEqual([origins.lanes, origins.reserve, origins.hosts, origins.capacity], ["file", "environment", "option", "default"]);
  });

  test("LOCKSTEP_CONFIG names the file, an option another", async (t) => {
    const [one, other] = [await fileWith(t, "cell: one"), await fileWith(t, "cell: other")];
    assert.equal(resolved({ env: { LOCKSTEP_CONFIG: one } }).config.cell, "one");
    assert.equal(resolved({ env: { LOCKSTEP_CONFIG: one }, file: other }).config.cell, "other");
  });

  test("DATABASE_URL and KAFKA_BROKERS have the names that everybody knows", () => {
    const { config } = resolved({ env: { DATABASE_URL: "postgres://u:p@db/x", KAFKA_BROKERS: "a:9092, b_1:9092,[::1]:9092" } });
    assert.deepEqual([config.databaseUrl, config.kafkaBrokers], ["postgres://u:p@db/x", ["a:9092", "b_1:9092", "[::1]:9092"]]);
  });

  test("every fault is named at once, in a line of its own: key, where it is from, what was expected, what came", async (t) => {
    const file = await fileWith(t, "profile: slow\nlane: 3\nlanes:\n  a: 1\nplatforms: [mt4, mt4]\n");
    const env = { LOCKSTEP_HTTP_PORT: "65536", LOCKSTEP_LANE: "3", LOCKSTEP_HTTP_TOKEN: "hunter2", DATABASE_URL: "mysql://root:hunter2@db/x", LOCKSTEP_SECRET_A: "hunter2" };
    assert.deepEqual(faultsOf({ file, env, options: { capacity: "1e3", kafkaBrokers: "a:0" } }), [
      `${file}, line 2: unknown key "lane": expected one of ${KEY_NAMES.join(", ")}`,
      `lanes (${file}, line 3): expected a plain value or a list of plain values`,
      "environment LOCKSTEP_LANE: unknown: expected the name of a setting (lockstep node --help shows them); credentials may be kept in LOCKSTEP_SECRET_...",
      "databaseUrl (environment DATABASE_URL): expected postgres://user:password@host:port/database, got a text that is not shown",
      'kafkaBrokers (option --kafka-brokers): expected host:port, or several separated by commas, got "a:0"',
      `profile (${file}, line 1): expected one of published, steady, fast, got "slow"`,
      'capacity (option --capacity): expected a whole number from 0 to 16384, got "1e3"',
      `platforms (${file}, line 5): expected one or more of mt4, mt5, each once, separated by commas, got "mt4,mt4"`,
      'httpPort (environment LOCKSTEP_HTTP_PORT): expected a whole number from 0 to 65535, got "65536"',
      "httpToken (environment LOCKSTEP_HTTP_TOKEN): expected a reference env:NAME or file:PATH, got a text that is not shown",
    ]);
  });

  const refused: readonly (readonly [option: Parameters<typeof resolved>[0], line: RegExp])[] = [
    [{ options: { cell: "" } }, /^cell \(option --cell\): expected 1-64 letters.*, got ""$/],
    [{ options: { nodeName: "a b" } }, /^nodeName \(option --node-name\): .* got "a b"$/],
    [{ env: { LOCKSTEP_NODE_NAME: "-a" } }, /^nodeName \(environment LOCKSTEP_NODE_NAME\): /],
    [{ options: { lanes: "0" } }, /^lanes .*: expected a whole number from 1 to 1000, got "0"$/],
    [{ options: { lanes: " 1" } }, /^lanes .* got " 1"$/],
    [{ options: { httpHost: "a b" } }, /^httpHost .*: expected a host name or an IP address, got "a b"$/],
    [{ options: { stateDir: "" } }, /^stateDir .*: expected a path, got ""$/],
  ];
  for (const [input, line] of refused) {
    test(`refused: ${JSON.stringify(input)}`, () => {
      const [only, ...more] = faultsOf(input ?? {});
      assert.deepEqual(more, []);
      assert.match(only ?? "", line);
    });
  }

  test("relations between settings are refused too, each in its line", () => {
    const faults = faultsOf({ options: { profile: "fast", brokerTimeoutMs: "5000", settleMs: "4000" } });
    assert.equal(faults.length, 2);
    assert.match(faults[0] ?? "", /broker's time-out 5000 ms must be below the lease's margin 3000 ms/);
    assert.match(faults[1] ?? "", /settle time 4000 ms must not be below the broker's time-out 5000 ms/);
    assert.match(faultsOf({ options: { lanes: "1000", reserve: "100" } }).join("|"), /^executor reserve: expected a whole number from 1 to 24, got 100$/);
  });

  test("every profile makes a node whose relations hold", () => {
    for (const profile of ["published", "steady", "fast"]) checkNodeLimits(nodeLimitsOf(resolved({ options: { profile } }).config));
  });

  test("HTTP beyond the loopback needs a token, which needs to be there and long enough", async (t) => {
    const beyond = { httpHost: "0.0.0.0" };
    assert.match(faultsOf({ options: beyond }).join("|"), /^httpToken: expected a reference to a token, since httpHost 0\.0\.0\.0 is beyond the loopback; got none$/);
    assert.match(faultsOf({ options: { ...beyond, httpToken: "env:T" } }).join("|"), /^httpToken: credentials env:T: the environment has no T$/);
    assert.match(faultsOf({ options: { ...beyond, httpToken: "env:T" }, env: { T: "short" } }).join("|"), /^httpToken \(env:T\): expected a token of 16 characters or more, got one of 5$/);
    assert.deepEqual(faultsOf({ options: { ...beyond, httpToken: "env:T" }, env: { T: "0123456789abcdef" } }), []);
    assert.deepEqual(faultsOf({ options: { ...beyond, httpToken: `file:${await fileWith(t, "0123456789abcdef\n", "token")}` } }), []);
    for (const httpHost of ["127.0.0.1", "127.9.9.9", "::1", "localhost"]) assert.deepEqual(faultsOf({ options: { httpHost } }), []);
    for (const httpHost of ["::", "10.0.0.1", "localhost.example.org", "2130706433"]) assert.equal(faultsOf({ options: { httpHost } }).length, 1, httpHost);
  });

  test("a command that is no node asks for its own settings only", () => {
    const input = { options: {}, file: undefined, env: { LOCKSTEP_HTTP_TOKEN: "env:NOT_HERE", LOCKSTEP_LANES: "x" }, hostName: "host" };
    assert.deepEqual(resolveSettings(input, ["cell", "databaseUrl"]), { cell: "main", databaseUrl: null });
  });

  test("a host's name becomes a node's", () => {
    assert.deepEqual(["web-1.example.org", "_my host!", "ä", "x".repeat(80)].map(nodeNameOf), ["web-1.example.org", "my-host-", "node", "x".repeat(64)]);
  });
});
