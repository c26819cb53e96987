// Owns a journal that keeps what it is told, so that a test can ask what was decided and why.

import type { BootId, NodeId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Journal, Subject } from "../../protocol/ports/journal.ts";
import type { TimelineDetail, TimelineEntry, TimelineEvent } from "../../protocol/timeline.ts";
import type { WallMs } from "../../protocol/units.ts";

export interface Noted {
  readonly subject: Subject | null;
  readonly event: TimelineEvent;
  readonly detail: TimelineDetail;
}

export interface RecordingJournal extends Journal {
  readonly notes: Noted[];
  /** The same as entries of a timeline. */
  readonly entries: TimelineEntry[];
  /** What was told of one event, in order. */
  of(event: TimelineEvent): TimelineDetail[];
}

/** Who tells, and by which clock; for tests that show the timeline. */
export interface Teller {
  readonly node: NodeId | null;
  readonly boot: BootId | null;
  readonly clock: Pick<Clock, "wallMs">;
}

const NOBODY: Teller = { node: null, boot: null, clock: { wallMs: () => 0 } };

export function recordingJournal({ node, boot, clock }: Teller = NOBODY): RecordingJournal {
  const notes: Noted[] = [];
  const entries: TimelineEntry[] = [];
  return {
    notes,
    entries,
    note(subject, event, detail) {
      notes.push({ subject, event, detail });
      entries.push({ atMs: clock.wallMs() as WallMs, node, boot, account: subject?.account ?? null, epoch: subject?.epoch ?? null, event, detail });
    },
    of: (event) => notes.filter((noted) => noted.event === event).map(({ detail }) => detail),
  };
}
