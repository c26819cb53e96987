// Owns running some named cases of one test file, in a process of its own, and what became of each.
//
// 1. A case counts as failed only by what it asserts, or because what it waits for does not come. Whatever else
//    ends it (a syntax error, a module that is missing, an error nobody meant) makes it `crashed`.
// 2. A case of which nothing is heard, since the file could not be loaded or did not end in time, is `missing`.
// 3. When this resolves nothing of the process runs any more, nor of what it started.

import { spawn, type ChildProcess } from "node:child_process";

export type Outcome = "passed" | "failed" | "crashed" | "missing";

export interface CaseResult {
  readonly outcome: Outcome;
  /** What was said of it, or by the process; empty where it passed. */
  readonly detail: string;
}

export interface CaseRun {
  /** Where the sources are. */
  readonly folder: string;
  readonly file: string;
  readonly cases: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

const running = new Set<ChildProcess>();

/** Ends all that is running now; the runs resolve. */
export function endCases(): void {
  for (const child of running) endGroup(child);
}

export async function runCases({ folder, file, cases, env, timeoutMs }: CaseRun): Promise<ReadonlyMap<string, CaseResult>> {
  const patterns = cases.map((name) => `--test-name-pattern=^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);
  // A run inside a run would report to the outer one instead.
  const { NODE_TEST_CONTEXT: _context, ...own } = process.env;
  const child = spawn(process.execPath, ["--import", "tsx", "--test-reporter=tap", ...patterns, file], { cwd: folder, env: { ...own, ...env }, stdio: ["ignore", "pipe", "pipe"], detached: true });
  running.add(child);
  let out = "";
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const timer = setTimeout(() => {
    said += `\nnot over after ${timeoutMs} ms`;
    endGroup(child);
  }, timeoutMs);
  await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(timer);
  endGroup(child); // (3)
  running.delete(child);
  const results = resultsOf(out);
  return new Map(cases.map((name) => [name, results.get(name) ?? { outcome: "missing", detail: lastLines(said === "" ? out : said) }]));
}

/** The process leads a group, in which are all that it started. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left.
  }
}

/** Of what ran: by its name. */
export function resultsOf(tap: string): ReadonlyMap<string, CaseResult> {
  const results = new Map<string, CaseResult>();
  const lines = tap.split("\n");
  for (const [index, line] of lines.entries()) {
    const [, indent, not, name] = /^(\s*)(not )?ok \d+ - (.*)$/.exec(line) ?? [];
    if (name === undefined || name.includes(" # SKIP")) continue;
    const end = lines.findIndex((later, at) => at > index && later === `${indent}  ...`);
    const about = lines.slice(index + 1, end).join("\n");
    if (about.includes("type: 'suite'")) continue;
    results.set(name.replaceAll("\\#", "#").replaceAll("\\\\", "\\"), not === undefined ? { outcome: "passed", detail: "" } : { outcome: isMeant(about) ? "failed" : "crashed", detail: messageIn(about) });
  }
  return results;
}

/** (1) */
const isMeant = (about: string): boolean => /code: 'ERR_ASSERTION'|failureType: 'testTimeoutFailure'|Promise resolution is still pending|(?:read|statement) timeout/.test(about);

const MESSAGE_LINES = 12;

const messageIn = (about: string): string => {
  const from = about.indexOf("error:");
  return lastLines(about.slice(Math.max(from, 0)).split("\n").slice(0, MESSAGE_LINES).join("\n"));
};

const lastLines = (text: string): string => text.trim().split("\n").slice(-MESSAGE_LINES).map((line) => line.trim()).join("\n");
