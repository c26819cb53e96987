// Owns the reading of a JSON value whose faults are named by their path: `accounts[0].login:
// expected ..., got ...`.
//
// 1. Nothing is corrected and nothing is ignored: a key that is not known is a fault.

import { LockstepError } from "../../protocol/errors.ts";

export class ConfigValue {
  readonly #value: unknown;
  readonly #file: string;
  readonly #path: string;

  constructor(value: unknown, file: string, path = "") {
    this.#value = value;
    this.#file = file;
    this.#path = path;
  }

  /** @throws LockstepError `configuration`, always */
  fail(expected: string): never {
    throw new LockstepError("configuration", `${this.#file}: ${this.#path === "" ? "the file" : this.#path}: expected ${expected}, got ${shown(this.#value)}`);
  }

  /** The fields of an object that has no others; one that is not there is a ConfigValue of undefined. */
  object<K extends string>(keys: readonly K[]): Readonly<Record<K, ConfigValue>> {
    if (typeof this.#value !== "object" || this.#value === null || Array.isArray(this.#value)) this.fail("an object");
    const value = this.#value as Record<string, unknown>;
    const unknown = Object.keys(value).find((key) => !keys.some((known) => known === key)); // 1
    if (unknown !== undefined) this.#child(unknown, value[unknown]).fail(`no such key (known: ${keys.join(", ")})`);
    return Object.fromEntries(keys.map((key) => [key, this.#child(key, value[key])])) as Record<K, ConfigValue>;
  }

  list(): readonly ConfigValue[] {
    const value = this.#value;
    if (!Array.isArray(value)) return this.fail("a list");
    return value.map((item, index) => new ConfigValue(item, this.#file, `${this.#path}[${index}]`));
  }

  string(): string {
    return typeof this.#value === "string" && this.#value !== "" ? this.#value : this.fail("a string that is not empty");
  }

  boolean(): boolean {
    return typeof this.#value === "boolean" ? this.#value : this.fail("true or false");
  }

  whole(min: number, max: number): number {
    const value = this.#value;
    return typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max ? value : this.fail(`a whole number from ${min} to ${max}`);
  }

  oneOf<T extends string>(values: readonly T[]): T {
    return values.find((value) => value === this.#value) ?? this.fail(values.map((value) => JSON.stringify(value)).join(" or "));
  }

  /** A string that `read` understands; what it throws becomes a fault at this path. */
  text<T>(read: (text: string) => T): T {
    try {
      return read(this.string());
    } catch (error) {
      if (!(error instanceof LockstepError) || error.code === "configuration") throw error;
      throw new LockstepError("configuration", `${this.#file}: ${this.#path}: ${error.message}`, error);
    }
  }

  /** What `read` makes of it, or `absent` where the key is not there. */
  optional<T>(read: (value: ConfigValue) => T, absent: T): T {
    return this.#value === undefined ? absent : read(this);
  }

  #child(key: string, value: unknown): ConfigValue {
    return new ConfigValue(value, this.#file, this.#path === "" ? key : `${this.#path}.${key}`);
  }
}

function shown(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
