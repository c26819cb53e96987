// Owns the cases of reading a node's log file: also that of a process that was killed while it wrote.

import { test, type TestContext } from "node:test";
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entryOfLine, readTimelineLog } from "../../../ops/timeline/fromLogs.ts";
import { openLogger } from "../../../ops/logging.ts";
import { accountId, bootId, epoch, nodeId } from "../../../protocol/ids.ts";
import type { TimelineEntry } from "../../../protocol/timeline.ts";
import type { WallMs } from "../../../protocol/units.ts";

const entry = (n: number): TimelineEntry => ({ atMs: (1_000.25 + n) as WallMs, node: nodeId("node-1"), boot: bootId("b1"), account: accountId("f1"), epoch: epoch(n), event: "claimed", detail: { n } });

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "lockstep-logs-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("what the logger wrote is read back whole, among other lines", async (t) => {
  const file = join(await folder(t), "node.log");
  const logger = openLogger({ level: "info", file });
  logger.info({ node: "node-1" }, "node starts");
  logger.info({ timeline: entry(1) }, "the account came to this node");
  logger.debug({ timeline: entry(2) }, "below the level");
  logger.warn({ timeline: "tomorrow" }, "not an entry");
  logger.info({ timeline: entry(3) }, "the account came to this node");
  assert.deepEqual(await readTimelineLog(file), [entry(1), entry(3)]);
});

test("a torn last line, wherever it is torn, costs that line alone", async (t) => {
  const file = join(await folder(t), "node.log");
  const line = JSON.stringify({ level: 30, time: 1, timeline: entry(2), msg: "x" });
  for (let length = 0; length < line.length; length += 7) {
    await writeFile(file, `${JSON.stringify({ timeline: entry(1) })}\n${line.slice(0, length)}`);
    assert.deepEqual(await readTimelineLog(file), [entry(1)], `torn at ${length}`);
  }
  await writeFile(file, `${JSON.stringify({ timeline: entry(1) })}\n${line}`);
  assert.deepEqual(await readTimelineLog(file), [entry(1), entry(2)], "whole, only its end of line is missing");
});

for (const [what, timeline] of Object.entries({ "no time": { ...entry(1), atMs: "now" }, "no event": { ...entry(1), event: 7 }, "no detail": { ...entry(1), detail: null }, "a list": [], nothing: null })) {
  test(`a line with ${what} for an entry is passed over`, () => assert.equal(entryOfLine(JSON.stringify({ timeline })), null));
}

test("a file that is not there is told", async (t) => {
  await assert.rejects(readTimelineLog(join(await folder(t), "none.log")), { code: "ENOENT" });
});
