// Owns the tests of the configuration file and of what is shown of settings.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { effectiveSettings, redactedUrl } from "../../../ops/config/effective.ts";
import { configFile } from "../../../ops/config/file.ts";
import { settingsTable } from "../../../ops/config/nodeOptions.ts";
import { faultsOf, fileWith, resolved } from "./settings.ts";

const texts = (text: string): Record<string, string> => Object.fromEntries([...configFile("f", text).texts].map(([name, found]) => [name, found.text]));

describe("the file", () => {
  test("scalars are texts as they were written, lists are joined", () => {
    assert.deepEqual(texts("cell: 007\nlanes: 0x10\nplatforms: [mt4, mt5]\nkafkaBrokers:\n  - a:1\n  - b:2\nnodeName: 'yes'\nprofile: yes\n"), { cell: "007", lanes: "0x10", platforms: "mt4,mt5", kafkaBrokers: "a:1,b:2", nodeName: "yes", profile: "yes" });
    assert.deepEqual(texts("# nothing\n"), {});
    assert.deepEqual(texts(""), {});
  });

  const refused: readonly (readonly [string, RegExp])[] = [
    ["cell: a\ncell: b\n", /^f, line 2: expected YAML, got: Map keys must be unique$/],
    ["cell: 'a\n", /^f, line [12]: expected YAML, got: /],
    ["- cell\n", /^f: expected keys with values/],
    ["just words\n", /^f: expected keys with values/],
    ["cell:\n  a: 1\n", /^cell \(f, line 1\): expected a plain value or a list of plain values$/],
    ["\nhttp:\n  port: 1\n", /^f, line 2: unknown key "http": expected one of cell, /],
    ["? [a]\n: 1\n", /^f, line 1: unknown key ""/],
    ["__proto__: 1\n", /^f, line 1: unknown key "__proto__"/],
    ["cell: *a\n", /^cell \(f, line 1\): expected a plain value/],
  ];
  for (const [text, line] of refused) {
    test(`refused: ${JSON.stringify(text)}`, () => {
      const { faults } = configFile("f", text);
      assert.equal(faults.length, 1, faults.join("|"));
      assert.match(faults[0] ?? "", line);
    });
  }

  test("a key without a value is refused by its reader", async (t) => {
    const file = await fileWith(t, "lanes:\ncell: main\n");
    assert.deepEqual(faultsOf({ file }), [`lanes (${file}, line 1): expected a whole number from 1 to 1000, got ""`]);
  });

  test("one that is not there is a fault beside the others", () => {
    const faults = faultsOf({ file: "not-there.yaml", options: { lanes: "x" } });
    assert.equal(faults.length, 2);
    assert.match(faults[0] ?? "", /^not-there\.yaml: expected a readable file, got ENOENT/);
  });
});

describe("what is shown", () => {
  test("no password leaves: not of the URL, not of a parameter named like one", () => {
    const databaseUrl = "postgres://user:hunter2@db.example:5432/x?sslpassword=hunter2&application_name=a";
    const shown = effectiveSettings(resolved({ env: { DATABASE_URL: databaseUrl, T: "hunter2hunter2hunter2" }, options: { httpToken: "env:T" } }));
    assert.doesNotMatch(JSON.stringify(shown), /hunter2/);
    assert.equal(shown.databaseUrl, "postgres://user:***@db.example:5432/x?sslpassword=***&application_name=a (environment)");
    assert.equal(shown.httpToken, "env:T (option)");
    assert.equal(shown.lanes, "128");
    assert.equal(redactedUrl("no url: hunter2"), "***");
  });

  test("a URL without a password is shown whole", () => {
    assert.equal(redactedUrl("postgres://user@db/x"), "postgres://user@db/x");
  });

  test("the README has the table of the settings as the code has it", async () => {
    const readme = await readFile(new URL("../../../ops/config/README.md", import.meta.url), "utf8");
    assert.ok(readme.includes(settingsTable()), `expected this table in ops/config/README.md:\n${settingsTable()}`);
  });

  test("a key of the file and an option of the same name mean the same", async (t) => {
    const file = await fileWith(t, "brokerTimeoutMs: 9000\nhttpHost: ::1\n");
    const { config } = resolved({ file });
    assert.deepEqual([config.brokerTimeoutMs, config.httpHost], [9_000, "::1"]);
  });
});
