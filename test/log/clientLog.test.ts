// Owns the cases of the Kafka client's own log lines: what it calls an error is an ordinary rebalance.

import { test } from "node:test";
import assert from "node:assert/strict";
import kafkajs from "kafkajs";
import { clientLog } from "../../log/kafka/clientLog.ts";
import { limitsBelowMargin } from "../../log/kafka/limits.ts";
import { FAST, PUBLISHED, STEADY } from "../../actors/core/leaseProfile.ts";
import { recordingLogger } from "../support/recordingLogger.ts";

const { logLevel } = kafkajs;

for (const [level, ours] of [[logLevel.ERROR, "warn"], [logLevel.WARN, "info"], [logLevel.INFO, "debug"], [logLevel.DEBUG, "debug"]] as const) {
  test(`the client's ${logLevel[level]} is our ${ours}, with its fields and without its stack`, () => {
    const logger = recordingLogger();
    const log = clientLog(logger)(logLevel.DEBUG);
    log({ namespace: "Runner", level, label: "x", log: { message: "The group is rebalancing", timestamp: "t", groupId: "g", stack: "at" } });
    assert.deepEqual(logger.lines.map(({ level: at, fields, text }) => ({ at, fields, text })), [{ at: ours, fields: { groupId: "g", part: "Runner" }, text: "kafka client: The group is rebalancing" }]);
  });
}

test("sends are over before a lease with the margin of each profile lets others in", () => {
  for (const { marginMs } of [FAST, STEADY, PUBLISHED]) {
    const { requestMs, sendMs } = limitsBelowMargin(marginMs);
    assert.ok(requestMs < sendMs && sendMs < marginMs, `${requestMs} < ${sendMs} < ${marginMs}`);
  }
});
