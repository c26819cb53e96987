// Owns how the text of one setting becomes its value. Wherever a text comes from (command line,
// environment, file), it is read by the same reader.

import { isIP } from "node:net";
import { isLockstepError } from "../../protocol/errors.ts";

export type Read<T> =
  | { readonly kind: "value"; readonly value: T }
  /** What was expected, to be followed by what came. */
  | { readonly kind: "expected"; readonly expected: string };

export type Reader<T> = (text: string) => Read<T>;

const value = <T>(read: T): Read<T> => ({ kind: "value", value: read });
const expected = (text: string): Read<never> => ({ kind: "expected", expected: text });

const NAME = "1-64 letters, digits, '.', '_' or '-', beginning with a letter or digit";
/** Underscores are for container names. */
const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?)*$/;
const MAX_PORT = 65_535;

/** A branded identifier, checked where it is defined. */
export function idOf<T>(make: (text: string) => T): Reader<T> {
  return (text) => {
    try {
      return value(make(text));
    } catch (error) {
      if (!isLockstepError(error, "invalid_value")) throw error;
      return expected(NAME);
    }
  };
}

/** Plain digits alone: neither 1e3 nor 0x10 nor a blank is a number. */
export function wholeNumber(min: number, max: number): Reader<number> {
  return (text) => {
    const read = Number(text);
    return /^\d{1,15}$/.test(text) && read >= min && read <= max ? value(read) : expected(`a whole number from ${min} to ${max}`);
  };
}

export function oneOf<T extends string>(choices: readonly T[]): Reader<T> {
  return (text) => {
    const choice = choices.find((each) => each === text);
    return choice === undefined ? expected(`one of ${choices.join(", ")}`) : value(choice);
  };
}

/** At least one, none twice, separated by commas. */
export function someOf<T extends string>(choices: readonly T[]): Reader<readonly T[]> {
  return (text) => {
    const read = text.split(",").map((part) => oneOf(choices)(part.trim()));
    const chosen = read.flatMap((each) => (each.kind === "value" ? [each.value] : []));
    return chosen.length === read.length && new Set(chosen).size === chosen.length ? value(chosen) : expected(`one or more of ${choices.join(", ")}, each once, separated by commas`);
  };
}

export const isHost = (text: string): boolean => isIP(text) !== 0 || HOST_NAME.test(text);

export const host: Reader<string> = (text) => (isHost(text) ? value(text) : expected("a host name or an IP address"));

/** `host:port` addresses, separated by commas. An IPv6 address stands in brackets. */
export const addresses: Reader<readonly string[]> = (text) => {
  const read = text.split(",").map((part) => part.trim());
  return read.every(isAddress) ? value(read) : expected("host:port, or several separated by commas");
};

function isAddress(text: string): boolean {
  const [, ipv6, name = "", port = ""] = /^(?:\[([^\]]*)\]|([^:]*)):(\d*)$/.exec(text) ?? [];
  return (ipv6 === undefined ? isHost(name) : isIP(ipv6) === 6) && wholeNumber(1, MAX_PORT)(port).kind === "value";
}

export const postgresUrl: Reader<string> = (text) => {
  const isOne = URL.canParse(text) && ["postgres:", "postgresql:"].includes(new URL(text).protocol);
  return isOne ? value(text) : expected("postgres://user:password@host:port/database");
};

/** Where a secret is, never the secret itself. */
export const reference: Reader<string> = (text) => (/^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$/.test(text) ? value(text) : expected("a reference env:NAME or file:PATH"));

export const path: Reader<string> = (text) => (text === "" || text.includes("\0") ? expected("a path") : value(text));
