// Owns an account's standing quirks: what its broker does otherwise than others, until it is told
// to stop. A new one is a field of `Quirks`, its ordinary value, and the place that reads it.

import { LockstepError } from "../../protocol/errors.ts";
import type { AccountId } from "../../protocol/ids.ts";
import { isWhole } from "./accounts.ts";
import type { CommentQuirks } from "./engine/comments.ts";
import { COMMENT_CHARACTERS } from "./engine/platform.ts";
import type { SnapshotQuirk } from "./toldSnapshot.ts";

export interface Quirks extends CommentQuirks {
  /** An order's changes are told after its answer, and not before; whatever happens meanwhile waits with them. */
  readonly answerFirst: boolean;
  /** What clients are told in place of the true snapshot; null for the truth. */
  readonly snapshots: SnapshotQuirk | null;
}

export const ORDINARY: Quirks = { commentCharacters: COMMENT_CHARACTERS, stopComment: "platform", clearedComments: [], answerFirst: false, snapshots: null };

const MAX_AGE_MS = 600_000;

/** @throws LockstepError `invalid_value` */
export function checkQuirks(account: AccountId, { commentCharacters, snapshots }: Quirks): void {
  refuseUnless(isWhole(commentCharacters, 0, COMMENT_CHARACTERS), `account ${account}: commentCharacters ${commentCharacters}, expected 0 to ${COMMENT_CHARACTERS}`);
  if (snapshots === null) return;
  refuseUnless(snapshots.forMs === null || snapshots.forMs >= 0, `account ${account}: snapshots for ${snapshots.forMs} ms`);
  if (snapshots.kind === "stale") refuseUnless(isWhole(snapshots.ageMs, 0, MAX_AGE_MS), `account ${account}: snapshots ${snapshots.ageMs} ms old, expected 0 to ${MAX_AGE_MS}`);
}

function refuseUnless(holds: boolean, text: string): void {
  if (!holds) throw new LockstepError("invalid_value", text);
}
