// Owns the rules about what code may reach for: clocks, randomness, the environment, the console.
// They read the syntax tree, so that a comment or a text is never taken for a call.

import ts from "typescript";
import { importsOf } from "./importRules.ts";
import { at, inEachCode, isTest, nodesOf, type Code, type Rule, type Violation } from "./sources.ts";

const TIMERS = new Set(["setTimeout", "setInterval", "setImmediate"]);
/** Written `object.name`. */
const CLOCKS = new Set(["Date.now", "performance.now", "performance.timeOrigin", "process.hrtime", "process.uptime", "Math.random", "AbortSignal.timeout"]);
const RANDOM_BYTES = new Set(["randomUUID", "randomBytes", "randomInt", "getRandomValues"]);
const CLOCK_MODULES = new Set(["node:timers", "node:timers/promises", "node:perf_hooks", "timers", "timers/promises", "perf_hooks"]);
const OWN_CLOCK = new Set(["ops/clock.ts", "actors/executor/hostClock.ts"]);

/** `a.b` of a property access on a plain name; `globalThis` in front counts for nothing. */
function dotted(node: ts.Node): string | null {
  if (!ts.isPropertyAccessExpression(node)) return null;
  const { expression, name } = node;
  if (ts.isIdentifier(expression)) return expression.text === "globalThis" ? name.text : `${expression.text}.${name.text}`;
  const inner = dotted(expression);
  return inner === null || inner.includes(".") ? null : `${inner}.${name.text}`;
}

/** A name that is used as a value: neither a property's name nor a declaration. */
function isUse(node: ts.Node): node is ts.Identifier {
  if (!ts.isIdentifier(node)) return false;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  return !((ts.isMethodDeclaration(parent) || ts.isMethodSignature(parent) || ts.isPropertySignature(parent) || ts.isPropertyDeclaration(parent) || ts.isParameter(parent)) && parent.name === node);
}

function clockUse(node: ts.Node): string | null {
  const name = dotted(node) ?? (isUse(node) ? node.text : null);
  if (name !== null && (TIMERS.has(name) || CLOCKS.has(name))) return name;
  const isDate = (ts.isNewExpression(node) || ts.isCallExpression(node)) && ts.isIdentifier(node.expression) && node.expression.text === "Date";
  if (isDate && (node.arguments ?? []).length === 0) return "the current Date";
  return null;
}

const finds =
  (find: (node: ts.Node, source: Code) => string | null, isExempt: (path: string) => boolean): Rule["check"] =>
  (sources) =>
    inEachCode((source): Violation[] => {
      if (isExempt(source.path)) return [];
      return nodesOf(source.tree).flatMap((node) => {
        const says = find(node, source);
        return says === null ? [] : [at(source, node, says)];
      });
    })(sources);

const clock: Rule = {
  name: "time, timers and randomness come from the injected clock",
  check(sources) {
    const isExempt = (path: string) => OWN_CLOCK.has(path) || isTest(path);
    const calls = finds((node) => {
      const name = clockUse(node);
      return name === null ? null : `${name}: ask the injected Clock or Random`;
    }, isExempt)(sources);
    const modules = inEachCode((source) => {
      if (isExempt(source.path)) return [];
      return importsOf(source).filter(({ specifier }) => CLOCK_MODULES.has(specifier)).map(({ node, specifier }) => at(source, node, `${specifier}: ask the injected Clock`));
    })(sources);
    return [...calls, ...modules];
  },
  bad: [
    { "actors/a.ts": "const now = Date.now();" },
    { "actors/a.ts": "const now = new Date();" },
    { "ops/a.ts": "setTimeout(() => {}, 5);" },
    { "ops/a.ts": "await new Promise(setImmediate);" },
    { "ops/a.ts": "const later = { run: setInterval };" },
    { "log/a.ts": "globalThis.setTimeout(() => {}, 5);" },
    { "log/a.ts": "const at = globalThis.performance.now();" },
    { "storage/a.ts": "const n = Math.random();" },
    { "storage/a.ts": "const n = process.hrtime.bigint();" },
    { "storage/a.ts": "fetch(url, { signal: AbortSignal.timeout(5) });" },
    { "ops/a.ts": `import { setTimeout as sleep } from "node:timers/promises";` },
  ],
  good: [
    {
      "ops/clock.ts": "export const wallMs = () => Date.now();",
      "actors/executor/hostClock.ts": "export const nowNs = () => process.hrtime.bigint();",
      "test/a.ts": "setTimeout(() => {}, 5);",
      "actors/a.ts": `// Date.now()\nconst text = "setTimeout"; const at = new Date(clock.wallMs()); socket.setTimeout(5); const port = { setTimeout: 1, setTimeoutMs() {} };`,
    },
  ],
};

const randomBytes: Rule = {
  name: "the core's folders draw no random bytes of their own",
  check: finds((node) => (isUse(node) && RANDOM_BYTES.has(node.text) ? `${node.text}: ask the injected Random, or be given the value` : null), (path) => isTest(path) || path.startsWith("ops/")),
  bad: [{ "storage/a.ts": `import { randomUUID } from "node:crypto";\nconst id = randomUUID();` }],
  good: [{ "ops/a.ts": `import { randomUUID } from "node:crypto";\nconst boot = randomUUID();` }],
};

const environment: Rule = {
  name: "the environment is read in ops alone",
  check: finds((node) => {
    const isImported = ts.isImportSpecifier(node) && (node.propertyName ?? node.name).text === "env";
    return dotted(node) === "process.env" || isImported ? "process.env: configuration is resolved in ops and handed over" : null;
  }, (path) => isTest(path) || path.startsWith("ops/")),
  bad: [{ "log/a.ts": `const brokers = process.env["KAFKA_BROKERS"];` }, { "storage/a.ts": "const { DATABASE_URL } = process.env;" }, { "actors/a.ts": `import { env } from "node:process";` }],
  good: [{ "ops/a.ts": "const { env } = process; const url = process.env.DATABASE_URL;", "log/a.ts": "const env = options.env;" }],
};

const consoleRule: Rule = {
  name: "only commands write to the console",
  check: finds((node) => (isUse(node) && node.text === "console" ? "console: log through the Logger port" : null), (path) => /^ops\/(?:commands|bin)\//.test(path)),
  bad: [{ "actors/a.ts": `console.log("x");` }, { "test/a.test.ts": `console.error("x");` }],
  good: [{ "ops/commands/a.ts": `console.log("x");`, "ops/bin/a.mjs": `console.log("x");`, "ops/a.ts": `const view = { console: 1 }; view.console;` }],
};

const only: Rule = {
  name: "no test is singled out",
  check: finds((node) => (ts.isCallExpression(node) && /^(?:test|it|describe|suite)\.only$/.test(dotted(node.expression) ?? "") ? "the other tests do not run" : null), () => false),
  bad: [{ "test/a.test.ts": `test.only("x", () => {});` }, { "test/a.test.ts": `describe.only("x", () => {});` }],
  good: [{ "test/a.test.ts": `test("only", () => {}); set.only(1);` }],
};

export const callRules: readonly Rule[] = [clock, randomBytes, environment, consoleRule, only];
