// Owns the rules about who may import what. The table is the architecture: the README's picture and
// this must say the same.

import { posix } from "node:path";
import { isBuiltin } from "node:module";
import ts from "typescript";
import { at, inEachCode, isCode, isTest, nodesOf, type Code, type Rule, type Source, type Violation } from "./sources.ts";

/** Per folder the folders that it may import. `package.json` stands for the root's own files. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: ["protocol"],
  actors: ["actors", "protocol"],
  log: ["log", "protocol"],
  storage: ["storage", "protocol"],
  ops: ["ops", "actors", "log", "storage", "protocol", "package.json"],
  test: ["test", "ops", "actors", "log", "storage", "protocol", "package.json"],
};

interface Import {
  readonly node: ts.Node;
  readonly specifier: string;
  /** The imported file from the project's root; null for a package. */
  readonly path: string | null;
}

/** Static, dynamic and type imports, and re-exports. */
export function importsOf(source: Code): Import[] {
  return nodesOf(source.tree).flatMap((node) => {
    const specifier = specifierOf(node);
    if (specifier === null) return [];
    return [{ node, specifier, path: specifier.startsWith(".") ? posix.join(posix.dirname(source.path), specifier) : null }];
  });
}

function specifierOf(node: ts.Node): string | null {
  let named: ts.Node | undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) named = node.moduleSpecifier;
  else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) named = node.arguments[0];
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) named = node.argument.literal;
  return named !== undefined && ts.isStringLiteralLike(named) ? named.text : null;
}

const folderOf = (path: string): string => path.split("/")[0] ?? path;
const packageOf = (specifier: string): string => specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");

const eachImport = (check: (found: Import, source: Code) => string | null): Rule["check"] =>
  inEachCode((source) =>
    importsOf(source).flatMap((found) => {
      const says = check(found, source);
      return says === null ? [] : [at(source, found.node, says)];
    }),
  );

const folders: Rule = {
  name: "a folder imports only what the table allows",
  check: eachImport(({ path, specifier }, source) => {
    const allowed = MAY_IMPORT[folderOf(source.path)];
    if (path === null || allowed === undefined || allowed.includes(folderOf(path))) return null;
    return `${folderOf(source.path)} must not import ${specifier}: it may import ${allowed.join(", ")}`;
  }),
  bad: [
    { "protocol/a.ts": `import { a } from "../actors/a.ts";` },
    { "actors/a.ts": `export { a } from "../log/a.ts";` },
    { "log/memory/a.ts": `import type { A } from "../../storage/a.ts";` },
    { "storage/a.ts": `const a = await import("../ops/a.ts");` },
    { "ops/a.ts": `type A = import("../test/a.ts").A;` },
    { "actors/shell/a.ts": `import "../../ops/clock.ts";` },
  ],
  good: [{ "ops/a.ts": `import { a } from "../actors/a.ts";`, "test/a.ts": `import { a } from "../ops/a.ts";`, "log/a.ts": `// import "../storage/a.ts"\nconst text = 'import "../ops/a.ts"';` }],
};

const PURE = /^(?:protocol|actors\/core)\//;

const pure: Rule = {
  name: "protocol and the actors' core do no input or output, and the core knows no shell",
  check: eachImport(({ path, specifier }, source) => {
    if (!PURE.test(source.path)) return null;
    if (isBuiltin(specifier)) return `${specifier} does input or output, or waits: that belongs behind a port`;
    if (!source.path.startsWith("actors/core/")) return null;
    if (path === null) return `the core decides with nothing but its input: ${specifier} is a package`;
    return path.startsWith("actors/core/") || path.startsWith("protocol/") ? null : `the core must not import ${specifier}`;
  }),
  bad: [
    { "actors/core/decide.ts": `import { mailbox } from "../shell/mailbox.ts";` },
    { "actors/core/decide.ts": `import type { Lane } from "../executor/lane.ts";` },
    { "actors/core/decide.ts": `import { connect } from "../drivers/wire.ts";` },
    { "actors/core/decide.ts": `import { readFileSync } from "node:fs";` },
    { "actors/core/decide.ts": `import pino from "pino";` },
    { "protocol/codec.ts": `import net from "net";` },
  ],
  good: [{ "actors/core/a.ts": `import { b } from "./b.ts";\nimport type { T } from "../../protocol/ticks.ts";`, "protocol/codec.ts": `import { Packr } from "msgpackr";`, "actors/shell/a.ts": `import net from "node:net";` }],
};

const endings: Rule = {
  name: "an import names its file with its ending",
  check: eachImport(({ path, specifier }) => (path === null || /\.(?:ts|mjs|json)$/.test(path) ? null : `${specifier} has no ending`)),
  bad: [{ "ops/a.ts": `import { b } from "./b";` }, { "ops/a.ts": `import { b } from "./b.js";` }, { "ops/a.ts": `import { b } from "..";` }],
  good: [{ "ops/a.ts": `import { b } from "./b.ts";\nimport info from "../package.json" with { type: "json" };` }],
};

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

const manifestOf = (sources: readonly Source[]): Manifest => JSON.parse(sources.find(({ path }) => path === "package.json")?.text ?? "{}") as Manifest;
const isTool = (path: string): boolean => isTest(path) || path.endsWith(".config.js");

const imported: Rule = {
  name: "an imported package is in package.json, under dependencies where the product needs it",
  check(sources) {
    const { dependencies = {}, devDependencies = {} } = manifestOf(sources);
    return eachImport(({ path, specifier }, source) => {
      if (path !== null || isBuiltin(specifier)) return null;
      const name = packageOf(specifier);
      if (name in dependencies) return null;
      if (!(name in devDependencies)) return `${name} is not in package.json`;
      return isTool(source.path) ? null : `${name} is only a devDependency`;
    })(sources);
  },
  bad: [
    { "package.json": "{}", "ops/a.ts": `import pino from "pino";` },
    { "package.json": `{"devDependencies":{"@x/y":"1"}}`, "ops/a.ts": `import y from "@x/y/z";` },
  ],
  good: [{ "package.json": `{"dependencies":{"pino":"1"},"devDependencies":{"fast-check":"1"}}`, "ops/a.ts": `import pino from "pino";\nimport fs from "node:fs";`, "test/a.ts": `import fc from "fast-check";` }],
};

const used: Rule = {
  name: "a package in package.json is imported, or run by a script",
  check(sources) {
    const { dependencies = {}, devDependencies = {}, scripts = {} } = manifestOf(sources);
    const code = sources.filter(isCode);
    const names = new Set(code.flatMap(importsOf).map(({ specifier }) => packageOf(specifier)));
    // A tool such as tsx is named in a text: `--import tsx`.
    const texts = [...code.flatMap((source) => nodesOf(source.tree).filter(ts.isStringLiteralLike).map((literal) => literal.text)), ...Object.values(scripts)];
    const words = new Set(texts.flatMap((text) => text.split(/[\s=/]+/)));
    const isUsed = (name: string) => names.has(name) || words.has(name) || name === "@types/node" || (name.startsWith("@types/") && names.has(name.slice("@types/".length)));
    const idle = Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !isUsed(name));
    const lines = sources.find(({ path }) => path === "package.json")?.text.split("\n") ?? [];
    return idle.map((name): Violation => ({ path: "package.json", line: lines.findIndex((line) => line.includes(`"${name}"`)) + 1, says: `nothing imports or runs ${name}` }));
  },
  bad: [{ "package.json": `{"dependencies":{"pino":"1"}}`, "ops/a.ts": `// pino\nexport {};` }, { "package.json": `{"devDependencies":{"@types/pg":"1"}}` }],
  good: [{ "package.json": `{"dependencies":{"pino":"1","tsx":"1"},"devDependencies":{"eslint":"1","@types/node":"1"},"scripts":{"lint":"eslint ."}}`, "ops/a.ts": `import pino from "pino";\nexport const args = ["--import", "tsx"];` }],
};

export const importRules: readonly Rule[] = [folders, pure, endings, imported, used];
