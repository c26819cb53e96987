// Owns what an answer says that is no success: what is wrong, and what was expected.

import { LockstepError } from "../../protocol/errors.ts";

export interface Problem {
  readonly error: string;
  readonly expected: string;
}

export const problem = (error: string, expected: string): Problem => ({ error, expected });

/** Answered with 400. */
export class BadRequest extends LockstepError {
  readonly expected: string;

  constructor(message: string, expected: string) {
    super("invalid_value", message);
    this.expected = expected;
  }
}
