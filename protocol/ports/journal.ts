// Owns the port through which actors tell what they decide and why. Telling is never awaited, never
// fails, and changes nothing: what cannot be kept is dropped and counted.

import type { AccountId, Epoch } from "../ids.ts";
import type { TimelineDetail, TimelineEvent } from "../timeline.ts";

/** About whom: null is the whole node. */
export interface Subject {
  readonly account: AccountId;
  readonly epoch: Epoch;
}

export interface Journal {
  /** The time is the one at which it is told. */
  note(subject: Subject | null, event: TimelineEvent, detail: TimelineDetail): void;
}
