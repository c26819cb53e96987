// Owns how the tests of refused files ask for the refusal.

import assert from "node:assert/strict";
import type { Statement } from "../../../ops/statement/model.ts";
import { readStatement } from "../../../ops/statement/read.ts";
import { isLockstepError } from "../../../protocol/errors.ts";

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The statement, or null where the bytes are refused as they should be: with one line. */
export function refusedOrRead(bytes: Uint8Array, name = "x.htm", refused: (line: string) => void = () => undefined): Statement | null {
  try {
    return readStatement(bytes, name);
  } catch (error) {
    assert.ok(isLockstepError(error, "bad_statement"), `${String(error)}\n${error instanceof Error ? error.stack : ""}`);
    assert.doesNotMatch(error.message, /\n/);
    assert.ok(error.message.startsWith(`${name}: `), error.message);
    refused(error.message);
    return null;
  }
}

/** The one line with which the bytes are refused. */
export function refusal(bytes: Uint8Array, name = "x.htm"): string {
  let message = "";
  assert.equal(refusedOrRead(bytes, name, (line) => (message = line)), null, "it was read");
  return message;
}
