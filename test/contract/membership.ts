// Owns what a member of a group does in the contract's cases: it notes what it gets, holds it until it
// is told to go on, and commits it then.

import { isLockstepError } from "../../protocol/errors.ts";
import type { EventLog, Subscription } from "../../protocol/ports/log.ts";
import { latch, textOf, type MemberOptions, type SeenRecord } from "./logFixture.ts";

export interface Membership {
  readonly got: SeenRecord[];
  readonly commits: (string | null)[];
  release(): void;
}

export interface MembershipEvents {
  readonly onGot: (records: readonly SeenRecord[]) => void;
  readonly onCommit: (outcome: string | null) => void;
}

export async function membership(log: EventLog, { group, topic, holds }: MemberOptions, events: Partial<MembershipEvents> = {}): Promise<Membership> {
  const got: SeenRecord[] = [];
  const commits: (string | null)[] = [];
  const hold = latch();
  if (!holds) hold.open();
  const subscription: Subscription = await log.consume({
    group,
    topics: [topic],
    from: "committed",
    async onBatch({ partition, records, next }) {
      const seen = records.map((record) => ({ partition, offset: record.offset, text: textOf(record) }));
      got.push(...seen);
      events.onGot?.(seen);
      await hold.opened;
      const outcome = await subscription.commit([{ topic, partition, offset: next }]).then(() => null, codeOf);
      commits.push(outcome);
      events.onCommit?.(outcome);
    },
    onGap: () => undefined,
    onCrash: (error) => commits.push(codeOf(error)),
  });
  return { got, commits, release: () => hold.open() };
}

const codeOf = (error: unknown): string => (isLockstepError(error) ? error.code : String(error));
