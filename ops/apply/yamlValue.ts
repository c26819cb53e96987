// Owns reading a YAML file value by value, with every fault noted at its line.
//
// 1. Every scalar is a text (YAML's failsafe schema): what it means is its reader's affair, and no
//    float ever stands for a decimal.
// 2. Nothing is corrected and nothing is ignored: a key that is not known is a fault.
// 3. A fault is noted and reading goes on, so that all of them are told at once; what could not be
//    read is null.
// 4. A text that may be a secret is never repeated, nor is anything under a key that is not known.

import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node, type YAMLError } from "yaml";
import type { Reader } from "../config/readers.ts";

export interface Fault {
  readonly line: number;
  /** Of what is at fault: `links/m-f1/magic`. */
  readonly path: string;
  /** What was expected, and what came. */
  readonly text: string;
}

interface Source {
  readonly document: Document;
  readonly lines: LineCounter;
  readonly faults: Fault[];
}

export class YamlValue {
  readonly path: string;
  readonly line: number;
  readonly #node: Node | null;
  readonly #source: Source;

  private constructor(node: unknown, path: string, line: number, source: Source) {
    const found = isNode(node) ? node : null;
    this.path = path;
    this.line = found?.range === null || found?.range === undefined ? line : source.lines.linePos(found.range[0]).line;
    this.#node = isAlias(found) ? (found.resolve(source.document) ?? null) : found;
    this.#source = source;
  }

  /** The whole of a file; null when it is no YAML at all. Faults are noted in `faults`. */
  static parse(text: string, faults: Fault[]): YamlValue | null {
    const lines = new LineCounter();
    // Not pretty: those texts repeat lines of the file (4).
    const document = parseDocument(text, { schema: "failsafe", lineCounter: lines, prettyErrors: false });
    const line = (error: YAMLError): number => lines.linePos(error.pos[0]).line;
    const twice = document.errors.filter(({ code }) => code === "DUPLICATE_KEY");
    const broken = document.errors.filter(({ code }) => code !== "DUPLICATE_KEY");
    for (const error of broken) faults.push({ line: line(error), path: "", text: `expected YAML, got: ${withoutSource(error.message)}` });
    if (broken.length > 0) return null;
    for (const error of twice) faults.push({ line: line(error), path: "", text: "expected each key once, got one that stands above already" });
    return new YamlValue(document.contents, "", 1, { document, lines, faults });
  }

  /** Notes a fault here. */
  fault(expected: string, came = this.#shown()): null {
    this.#source.faults.push({ line: this.line, path: this.path, text: `expected ${expected}, got ${came}` });
    return null;
  }

  /** The same value under the name that its item was found to have. */
  named(path: string): YamlValue {
    return new YamlValue(this.#node, path, this.line, this.#source);
  }

  /** The fields of a mapping that may have no others; those that are not there are absent from the answer. */
  fields<K extends string>(required: readonly K[], optional: readonly K[]): Partial<Readonly<Record<K, YamlValue>>> | null {
    const known = [...required, ...optional];
    const entries = this.entries(`a mapping with ${known.join(", ")}`);
    if (entries === null) return null;
    const fields: Partial<Record<K, YamlValue>> = {};
    for (const [key, value] of entries) {
      const name = known.find((each) => each === key);
      if (name === undefined) value.fault(`one of ${known.join(", ")}`, `the unknown key ${JSON.stringify(key)}`); // (2)
      else fields[name] = value;
    }
    const missing = required.filter((name) => fields[name] === undefined);
    if (missing.length > 0) this.fault(missing.join(", "), "nothing of that name");
    return fields;
  }

  /** The entries of a mapping whose keys are free. */
  entries(expected: string): readonly (readonly [string, YamlValue])[] | null {
    if (!isMap(this.#node)) return this.fault(expected);
    return this.#node.items.map(({ key, value }) => {
      const name = isScalar(key) ? String(key.value) : "?";
      const line = isNode(key) && key.range ? this.#source.lines.linePos(key.range[0]).line : this.line;
      // An unknown key is told where it stands, not where its value begins.
      return [name, new YamlValue(value, this.path === "" ? name : `${this.path}/${name}`, line, this.#source)] as const;
    });
  }

  /** A field's plain text without a word about what is wrong with it; null when there is none. */
  peek(key: string): string | null {
    const text = isMap(this.#node) ? this.#node.get(key) : null;
    return typeof text === "string" && text !== "" ? text : null;
  }

  list(): readonly YamlValue[] {
    if (!isSeq(this.#node)) {
      this.fault("a list, one \"- \" an item");
      return [];
    }
    return this.#node.items.map((item, index) => new YamlValue(item, `${this.path}[${index}]`, this.line, this.#source));
  }

  read<T>(reader: Reader<T>): T | null {
    const text = this.#text();
    const read = text === null ? null : reader(text);
    if (read?.kind === "value") return read.value;
    return this.fault(read?.expected ?? "a plain value");
  }

  /** Like `read`, of a text that is never repeated (4). */
  readSecretly<T>(reader: Reader<T>): T | null {
    const text = this.#text();
    const read = text === null ? null : reader(text);
    if (read?.kind === "value") return read.value;
    return this.fault(read?.expected ?? "a plain value", text === "" ? "nothing" : "something that is not shown, since it may be the secret itself");
  }

  #text(): string | null {
    if (this.#node === null) return "";
    if (!isScalar(this.#node)) return null;
    return typeof this.#node.value === "string" ? this.#node.value : "";
  }

  #shown(): string {
    if (isMap(this.#node)) return "a mapping";
    if (isSeq(this.#node)) return "a list";
    const text = this.#text() ?? "";
    if (text === "") return "nothing";
    return JSON.stringify(text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}...`);
  }
}

const SHOWN = 60;

/** What stands behind a colon may be the file's own text (4). */
const withoutSource = (message: string): string => (message.split("\n")[0] ?? "").split(": ")[0] ?? "";
