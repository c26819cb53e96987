// Owns waiting for a condition instead of for a guessed time.

import assert from "node:assert/strict";

const LIMIT_MS = 15_000;

/** Resolves as soon as the condition holds; fails with its text when it does not in 15 s. */
export async function until(text: string, condition: () => boolean): Promise<void> {
  const endMs = Date.now() + LIMIT_MS;
  while (!condition()) {
    if (Date.now() > endMs) assert.fail(`waited ${LIMIT_MS} ms in vain until ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
