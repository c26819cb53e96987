// Owns the rules about the shape of the project and of its files: the top level, headers, names,
// lengths, exports.

import ts from "typescript";
import { at, inEachCode, type Rule, type Violation } from "./sources.ts";

const FOLDERS = ["actors", "log", "storage", "protocol", "ops", "test"];
const ROOT_FILES = ["package.json", "package-lock.json", "tsconfig.json", "Makefile", "README.md", "LICENSE"];
const MAX_LINES = 320;

const whole = (path: string, says: string): Violation => ({ path, line: 1, says });

/** A project that keeps the rules about the top level; samples change it. */
const tidy: Readonly<Record<string, string>> = Object.fromEntries([...FOLDERS.map((folder) => `${folder}/README.md`), ...ROOT_FILES].map((path) => [path, ""]));
const without = (path: string): Readonly<Record<string, string>> => Object.fromEntries(Object.entries(tidy).filter(([name]) => name !== path));

const topLevel: Rule = {
  name: "the top level is fixed: six folders, their root files, dot-files",
  check(sources) {
    const found = new Set(sources.map(({ path }) => path.split("/")[0] ?? path));
    const expected = new Set([...FOLDERS, ...ROOT_FILES]);
    const extra = [...found].filter((name) => !expected.has(name) && !name.startsWith("."));
    const missing = [...expected].filter((name) => !found.has(name));
    return [...extra.map((name) => whole(name, "does not belong at the top level")), ...missing.map((name) => whole(name, "is missing"))];
  },
  bad: [{ ...tidy, "eslint.config.js": "" }, { ...tidy, "docs/a.md": "" }, without("LICENSE")],
  good: [{ ...tidy, ".gitignore": "", ".ci/run": "" }],
};

const readmes: Rule = {
  name: "each folder at the top level has a README",
  check(sources) {
    const paths = new Set(sources.map(({ path }) => path));
    return FOLDERS.map((folder) => `${folder}/README.md`).filter((path) => !paths.has(path)).map((path) => whole(path, "is missing"));
  },
  bad: [without("log/README.md")],
  good: [tidy],
};

const header: Rule = {
  name: "a code file begins with what it owns",
  check: inEachCode(({ path, text }) => {
    const first = text.replace(/^#!.*\n/, "");
    return /^\/\/ Owns \S+/.test(first) ? [] : [whole(path, `expected "// Owns ..." at the top`)];
  }),
  bad: [{ "ops/a.ts": "export const a = 1;" }, { "ops/a.ts": "\n// Owns a." }, { "ops/a.ts": "/* Owns a. */" }, { "ops/bin/a.mjs": "#!/usr/bin/env node\nimport 'x';" }],
  good: [{ "ops/a.ts": "// Owns the letter a.\n", "ops/bin/a.mjs": "#!/usr/bin/env node\n// Owns the start.\n", "ops/a.sql": "select 1" }],
};

const EMPTY_NAMES = /^(?:utils?|helpers?|common|misc|shared|index)$/i;

const names: Rule = {
  name: "a name says what is in it: no utils, helpers, common, misc, index",
  check: (sources) =>
    sources.flatMap(({ path }) => {
      const empty = path.split("/").map((part) => part.replace(/\..*$/, "")).find((part) => EMPTY_NAMES.test(part));
      return empty === undefined || !/\.(?:ts|mts|mjs|js)$/.test(path) ? [] : [whole(path, `${empty} says nothing about what it owns`)];
    }),
  bad: [{ "ops/utils.ts": "" }, { "log/helpers/a.ts": "" }, { "actors/index.ts": "" }, { "test/common.test.ts": "" }],
  good: [{ "actors/core/commonStops.ts": "", "ops/dashboard/index.html": "" }],
};

const barrels: Rule = {
  name: "no barrel files: whoever needs a thing names the file that owns it",
  check: inEachCode(({ path, tree }) => {
    const passesOn = (statement: ts.Statement) => ts.isExportDeclaration(statement) || ts.isImportDeclaration(statement);
    const isBarrel = tree.statements.some(ts.isExportDeclaration) && tree.statements.every(passesOn);
    return isBarrel ? [whole(path, "only passes on what other files own")] : [];
  }),
  bad: [{ "log/log.ts": `export * from "./a.ts";\nexport { b } from "./b.ts";` }, { "log/log.ts": `import { a } from "./a.ts";\nexport { a };` }],
  good: [{ "log/a.ts": `import { b } from "./b.ts";\nexport const a = b;`, "ops/start.ts": `import "./a.ts";` }],
};

const lengths: Rule = {
  name: `no code file is longer than ${MAX_LINES} lines`,
  check: inEachCode(({ path, text }) => {
    const lines = text.replace(/\n$/, "").split("\n").length;
    return lines > MAX_LINES ? [{ path, line: MAX_LINES, says: `${lines} lines` }] : [];
  }),
  bad: [{ "ops/a.ts": "\n".repeat(MAX_LINES + 1) }],
  good: [{ "ops/a.ts": "\n".repeat(MAX_LINES), "ops/a.html": "\n".repeat(999) }],
};

const MAY_DEFAULT = /^actors\/executor\/[^/]*[hH]ost[^/]*\.(?:ts|mjs)$|\.config\.js$/;

const defaults: Rule = {
  name: "no default exports but those of Piscina hosts and configurations",
  check: inEachCode((source) => {
    if (MAY_DEFAULT.test(source.path)) return [];
    const isDefault = (statement: ts.Statement) =>
      ts.isExportAssignment(statement) ||
      (ts.canHaveModifiers(statement) && (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)) ||
      (ts.isExportDeclaration(statement) && statement.exportClause !== undefined && ts.isNamedExports(statement.exportClause) && statement.exportClause.elements.some(({ name }) => name.text === "default"));
    return source.tree.statements.filter(isDefault).map((statement) => at(source, statement, "export it by name"));
  }),
  bad: [{ "ops/a.ts": "export default 1;" }, { "ops/a.ts": "export default function a() {}" }, { "ops/a.ts": "const a = 1;\nexport { a as default };" }],
  good: [{ "actors/executor/host.ts": "export default 1;", "ops/eslint.config.js": "export default [];", "ops/a.ts": "export const a = 1;" }],
};

export const shapeRules: readonly Rule[] = [topLevel, readmes, header, names, barrels, lengths, defaults];
