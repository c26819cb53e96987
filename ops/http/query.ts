// Owns reading what a request asks for: identifiers, filters, pages. What is not understood is
// refused, never ignored: a misspelt filter must not look like an answer.

import type { Page } from "../../protocol/ports/overview.ts";
import { BadRequest } from "./problem.ts";

const DEFAULT_LIMIT = 100;
export const MAX_LIMIT = 1_000;

/** The parameters of a query, each at most once, none that is not known. */
export function parametersOf(query: unknown, known: readonly string[]): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
    if (!known.includes(name)) throw new BadRequest("unknown parameter", known.length === 0 ? "none" : `one of ${known.join(", ")}`);
    if (typeof value !== "string") throw new BadRequest(`${name} is given more than once`, "it once");
    parameters.set(name, value);
  }
  return parameters;
}

/** @throws BadRequest unless `make` takes it */
export function idFrom<T>(name: string, text: string, make: (text: string) => T): T {
  try {
    return make(text);
  } catch {
    throw new BadRequest(`${name} is no identifier`, "1-64 letters, digits, '.', '_' or '-', beginning with a letter or digit");
  }
}

export function optional<T>(parameters: ReadonlyMap<string, string>, name: string, read: (text: string) => T): T | null {
  const text = parameters.get(name);
  return text === undefined ? null : read(text);
}

export function pageOf<K>(parameters: ReadonlyMap<string, string>, readKey: (text: string) => K): Page<K> {
  const text = parameters.get("limit") ?? String(DEFAULT_LIMIT);
  const limit = Number(text);
  if (!/^\d{1,4}$/.test(text) || limit < 1 || limit > MAX_LIMIT) throw new BadRequest("limit is out of bounds", `a whole number from 1 to ${MAX_LIMIT}`);
  return { limit, after: optional(parameters, "after", readKey) };
}

/** One page as it is answered: `next` is what `after` must be for the page behind it, null when this is the last. */
export interface PageAnswer<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

export async function answerPage<T, K>(page: Page<K>, read: (page: Page<K>) => Promise<readonly T[]>, keyOf: (item: T) => string): Promise<PageAnswer<T>> {
  // One more than asked for shows whether there is more.
  const found = await read({ ...page, limit: page.limit + 1 });
  const items = found.slice(0, page.limit);
  const last = items.at(-1);
  return { items, next: found.length > page.limit && last !== undefined ? keyOf(last) : null };
}
