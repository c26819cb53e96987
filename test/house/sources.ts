// Owns how the house rules see the project: its files as text and, where they are code, as syntax
// trees. A rule is a function from files to violations, so that a sample in memory can break it.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

export interface Source {
  /** From the project's root, with slashes. */
  readonly path: string;
  readonly text: string;
  /** Null where the file is no code. */
  readonly tree: ts.SourceFile | null;
}

export interface Violation {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly says: string;
}

export interface Rule {
  /** What holds, as the test is named. */
  readonly name: string;
  readonly check: (sources: readonly Source[]) => readonly Violation[];
  /** Each is a small project that breaks the rule: path to text. */
  readonly bad: readonly Readonly<Record<string, string>>[];
  /** Small projects that come close and keep it. */
  readonly good: readonly Readonly<Record<string, string>>[];
}

const NOT_OURS = new Set(["node_modules", ".git", ".lockstep"]);
const CODE = /\.(?:ts|mts|mjs|js)$/;

export function sourceOf(path: string, text: string): Source {
  return { path, text, tree: CODE.test(path) ? ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true) : null };
}

export const sourcesOf = (files: Readonly<Record<string, string>>): Source[] => Object.entries(files).map(([path, text]) => sourceOf(path, text));

/** Every text file of the project. Files with a zero byte are data and left out. */
export function readSources(root: string, folder = ""): Source[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (NOT_OURS.has(entry.name)) return [];
    if (entry.isDirectory()) return readSources(root, path);
    if (!entry.isFile()) return [];
    const text = readFileSync(join(root, path), "utf8");
    return text.includes("\u0000") ? [] : [sourceOf(path, text)];
  });
}

export type Code = Source & { readonly tree: ts.SourceFile };
export const isCode = (source: Source): source is Code => source.tree !== null;

/** A rule that looks at one code file at a time. */
export const inEachCode =
  (check: (source: Code) => readonly Violation[]): Rule["check"] =>
  (sources) =>
    sources.filter(isCode).flatMap(check);

/** A rule that looks at one line of text at a time, of every file. */
export const inEachLine =
  (check: (line: string, source: Source) => string | null): Rule["check"] =>
  (sources) =>
    sources.flatMap((source) =>
      source.text.split("\n").flatMap((line, index) => {
        const says = check(line, source);
        return says === null ? [] : [{ path: source.path, line: index + 1, says }];
      }),
    );

/** Every node of a tree, outermost first. */
export function nodesOf(tree: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = [tree];
  ts.forEachChild(tree, (child) => void nodes.push(...nodesOf(child)));
  return nodes;
}

export function at(source: Code, node: ts.Node, says: string): Violation {
  return { path: source.path, line: source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree)).line + 1, says };
}

export const showViolations = (violations: readonly Violation[]): string => violations.map(({ path, line, says }) => `${path}:${line}: ${says}`).join("\n");

export const isTest = (path: string): boolean => path.startsWith("test/");
