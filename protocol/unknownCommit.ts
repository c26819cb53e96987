// Owns the error of a commit whose answer was lost: it may have been done, and by what that can be seen.

import { LockstepError } from "./errors.ts";
import type { OwnerEvent } from "./accountState.ts";
import type { WriteResult } from "./ports/storage.ts";

export class UnknownCommit extends LockstepError {
  /** What it came to, if it was done. */
  readonly result: WriteResult;
  /** The events that are in the tables then: its markers, and the rows that neither the fence nor a newer version kept out. */
  readonly events: readonly OwnerEvent[];

  constructor(cause: Error, result: WriteResult, events: readonly OwnerEvent[]) {
    super("commit_unknown", cause.message, cause);
    this.name = "UnknownCommit";
    this.result = result;
    this.events = events;
  }
}
