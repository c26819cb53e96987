// Owns reading a configuration file: a flat YAML mapping from keys to plain values.
//
// 1. Every scalar is a text (YAML's failsafe schema): what it means is the key's reader's affair.
// 2. Whatever is wrong is named with its line; what is not wrong is read all the same.

import { readFileSync } from "node:fs";
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node, type Pair, type Scalar } from "yaml";
import { messageOf } from "../../protocol/errors.ts";
import { isKeyName, KEY_NAMES, type KeyName } from "./keys.ts";

export interface FileText {
  readonly text: string;
  readonly line: number;
}

export interface ConfigFile {
  readonly path: string;
  readonly texts: ReadonlyMap<KeyName, FileText>;
  readonly faults: readonly string[];
}

const LONGEST_BYTES = 1_000_000;

export function readConfigFile(path: string): ConfigFile {
  try {
    const text = readFileSync(path, "utf8");
    if (text.length > LONGEST_BYTES) return { path, texts: new Map(), faults: [`${path}: expected a configuration of at most ${LONGEST_BYTES} characters, got ${text.length}`] };
    return configFile(path, text);
  } catch (error) {
    return { path, texts: new Map(), faults: [`${path}: expected a readable file, got ${messageOf(error)}`] };
  }
}

/** `path` is for messages. */
export function configFile(path: string, text: string): ConfigFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { schema: "failsafe", lineCounter: lines, prettyErrors: false }); // (1)
  const texts = new Map<KeyName, FileText>();
  const faults = document.errors.map((error) => `${path}, line ${lines.linePos(error.pos[0]).line}: expected YAML, got: ${firstLine(error.message)}`);
  const { contents } = document;
  if (contents === null || faults.length > 0) return { path, texts, faults };
  if (!isMap(contents)) return { path, texts, faults: [`${path}: expected keys with values, one "key: value" a line`] };
  for (const pair of contents.items as Pair<Node, Node | null>[]) {
    const line = lines.linePos(pair.key.range?.[0] ?? 0).line;
    const name = isScalar(pair.key) ? String(pair.key.value) : "";
    const value = textOf(pair.value);
    if (!isKeyName(name)) faults.push(`${path}, line ${line}: unknown key ${JSON.stringify(name)}: expected one of ${KEY_NAMES.join(", ")}`);
    else if (value === null) faults.push(`${name} (${path}, line ${line}): expected a plain value or a list of plain values`);
    else texts.set(name, { text: value, line });
  }
  return { path, texts, faults };
}

/** A list is as good as its items with commas between them. Null: nested, or nothing. */
function textOf(node: Node | null): string | null {
  if (isScalar(node)) return scalarText(node);
  if (!isSeq(node)) return null;
  const items = node.items.map((item) => (isScalar(item) ? scalarText(item) : null));
  return items.includes(null) ? null : items.join(",");
}

const scalarText = (node: Scalar): string | null => (typeof node.value === "string" ? node.value : null);
const firstLine = (text: string): string => text.split("\n")[0] ?? "";
