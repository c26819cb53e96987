// Owns the house rules as tests: each holds for the project, and each can fail.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { callRules } from "./callRules.ts";
import { importRules } from "./importRules.ts";
import { shapeRules } from "./shapeRules.ts";
import { readSources, showViolations, sourcesOf } from "./sources.ts";
import { textRules } from "./textRules.ts";

const rules = [...shapeRules, ...importRules, ...callRules, ...textRules];
const project = readSources(fileURLToPath(new URL("../../", import.meta.url)));

describe("house rules", () => {
  for (const rule of rules) {
    test(rule.name, () => {
      const violations = rule.check(project);
      assert.ok(violations.length === 0, `${rule.name}\n${showViolations(violations)}`);
    });
  }
});

describe("house rules can fail", () => {
  for (const { name, check, bad, good } of rules) {
    test(`broken samples are found, sound ones are not: ${name}`, () => {
      assert.ok(bad.length > 0 && good.length > 0);
      for (const files of bad) assert.ok(check(sourcesOf(files)).length > 0, `not found in ${JSON.stringify(files)}`);
      for (const files of good) assert.equal(showViolations(check(sourcesOf(files))), "");
    });
  }

  test("a violation names its file and line", () => {
    const sample = sourcesOf({ "actors/a.ts": "// Owns a.\n\nexport const now = Date.now();\n" });
    assert.equal(showViolations(callRules.flatMap(({ check }) => check(sample))), "actors/a.ts:3: Date.now: ask the injected Clock or Random");
  });

  test("the project's files were found", () => {
    assert.ok(project.length > 20);
    assert.ok(project.some(({ path }) => path === "protocol/ids.ts"));
  });
});
