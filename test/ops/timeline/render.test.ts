// Owns the cases of how a timeline looks on a screen, and how a moment is written on the command line.

import { test } from "node:test";
import assert from "node:assert/strict";
import { momentOf } from "../../../ops/timeline/moment.ts";
import { detailText, timelineLines } from "../../../ops/timeline/render.ts";
import { accountId, bootId, epoch, nodeId } from "../../../protocol/ids.ts";
import type { TimelineEntry } from "../../../protocol/timeline.ts";
import type { WallMs } from "../../../protocol/units.ts";

const FAULT_AT_MS = Date.UTC(2026, 0, 31, 12, 0, 0);
const at = (ms: number, more: Partial<TimelineEntry> = {}): TimelineEntry => ({ atMs: (FAULT_AT_MS + ms) as WallMs, node: nodeId("node-1"), boot: bootId("b1"), account: null, epoch: null, event: "renewed", detail: {}, ...more });

const STORY = [
  at(-2_512.4, { detail: { tookMs: 3.14159, wasLive: true } }),
  at(0, { node: null, boot: null, event: "fault", detail: {} }),
  at(61_000, { node: nodeId("node-20"), account: accountId("f1"), epoch: epoch(12), event: "claimed", detail: { settleLeftMs: 30_000, from: null } }),
  at(61_020.5, { node: nodeId("node-20"), account: accountId("f1"), epoch: epoch(12), event: "answer", detail: { text: "no money", code: 134 } }),
];

test("columns are aligned, times count from the fault, and nothing hangs over the end of a line", () => {
  assert.deepEqual(timelineLines(STORY, { kind: "at", atMs: FAULT_AT_MS }), [
    " -2.512  node-1           renewed  tookMs=3.142 wasLive=true",
    " +0.000  -                fault",
    "+61.000  node-20  f1 #12  claimed  settleLeftMs=30000 from=null",
    '+61.020  node-20  f1 #12  answer   text="no money" code=134',
  ]);
});

test("the time of day is UTC, with its milliseconds", () => {
  assert.match(timelineLines([at(1)], { kind: "wall" })[0] ?? "", /^2026-01-31 12:00:00\.001Z {2}node-1/);
});

test("an event that this release does not know is shown as it was told", () => {
  const entry = { ...at(0), event: "teleported" } as unknown as TimelineEntry;
  assert.match(timelineLines([entry], { kind: "at", atMs: FAULT_AT_MS })[0] ?? "", /teleported/);
});

test("what a broker says moves no cursor and turns no line around", () => {
  const text = detailText({ text: "a\u001b[2Jb\nc\u009bd\u202ee", ["na\u001bme"]: 'say "x"' });
  assert.equal(text, 'text="a\\u001b[2Jb\\nc\\u009bd\\u202ee" "na\\u001bme"="say \\"x\\""');
});

test("volumes are shown in lots", () => {
  assert.equal(detailText({ volume: 20_000_000, masterVolume: 100_000_000, volumes: 2, volumeOf: 3 }), "volume=0.20 masterVolume=1.00 volumes=2 volumeOf=3");
});

test("nothing is no lines", () => assert.deepEqual(timelineLines([], { kind: "wall" }), []));

test("a moment is a time with its zone, or so long ago", () => {
  const nowMs = Date.UTC(2026, 1, 1);
  assert.equal(momentOf("--from", "2026-01-31T12:00:00Z", nowMs), FAULT_AT_MS);
  assert.equal(momentOf("--from", "2026-01-31T14:00:00.250+02:00", nowMs), FAULT_AT_MS + 250);
  assert.equal(momentOf("--from", "2026-01-31T12:00Z", nowMs), FAULT_AT_MS);
  assert.deepEqual(["now", "-250ms", "-2s", "-10m", "-3h", "-1d"].map((text) => nowMs - momentOf("--to", text, nowMs)), [0, 250, 2_000, 600_000, 10_800_000, 86_400_000]);
});

for (const text of ["", "10m", "-10", "-10x", "- 10m", "-1.5h", "2026-01-31", "2026-01-31T12:00:00", "2026-02-30T12:00:00Z", "2026-13-01T00:00:00Z", "yesterday", "1767225600000"]) {
  test(`${JSON.stringify(text)} is no moment`, () => {
    assert.throws(() => momentOf("--from", text, 0), (error: Error & { code?: string }) => error.code === "configuration" && error.message.startsWith("--from: expected a time such as") && error.message.endsWith(JSON.stringify(text)));
  });
}
