// Owns a journal that keeps what it is told, so that a test can ask what was decided and why.

import type { Journal, Subject } from "../../protocol/ports/journal.ts";
import type { TimelineDetail, TimelineEvent } from "../../protocol/timeline.ts";

export interface Noted {
  readonly subject: Subject | null;
  readonly event: TimelineEvent;
  readonly detail: TimelineDetail;
}

export interface RecordingJournal extends Journal {
  readonly notes: Noted[];
  /** What was told of one event, in order. */
  of(event: TimelineEvent): TimelineDetail[];
}

export function recordingJournal(): RecordingJournal {
  const notes: Noted[] = [];
  return {
    notes,
    note: (subject, event, detail) => void notes.push({ subject, event, detail }),
    of: (event) => notes.filter((noted) => noted.event === event).map(({ detail }) => detail),
  };
}
