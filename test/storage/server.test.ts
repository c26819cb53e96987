// Owns the tests of what a server says of itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Database, SqlRow } from "../../storage/database.ts";
import { openDatabase } from "../../storage/database.ts";
import { NOT_TOLD, timelineExpression, warnOfStandbys } from "../../storage/server.ts";
import { databaseError } from "../../storage/sqlstate.ts";
import { isLockstepError } from "../../protocol/errors.ts";
import { recordingLogger } from "../support/recordingLogger.ts";
import { silent } from "../support/silent.ts";
import { CONNECTION, migratedDatabase } from "./postgresStorage.ts";

/** A database that answers every query so. */
const answering = (answer: () => SqlRow): Database => ({ query: async () => [answer()], transaction: () => Promise.reject(new Error("no")), close: () => Promise.resolve() });
const refusing = (code: string): Database =>
  answering(() => {
    throw databaseError(Object.assign(new Error("refused"), { code, severity: "ERROR" }));
  });

test("a real server tells its timeline, which is a number from 1", async () => {
  const database = openDatabase({ ...CONNECTION, url: await migratedDatabase(), applicationName: "timeline", logger: silent });
  try {
    const [row] = await database.query(`SELECT ${await timelineExpression(database)} AS timeline`);
    assert.ok(Number.isInteger(row?.["timeline"]) && Number(row?.["timeline"]) >= 1, String(row?.["timeline"]));
  } finally {
    await database.close();
  }
});

test("one that has no such function, or lets us not use it, is one without a timeline; any other failure is told", async () => {
  for (const code of ["42883", "42501", "0A000"]) assert.equal(await timelineExpression(refusing(code)), NOT_TOLD);
  for (const code of ["25006", "55000", "57P01"]) await assert.rejects(timelineExpression(refusing(code)), (error) => isLockstepError(error));
});

test("standbys that a commit does not wait for are warned about, and no others", async () => {
  for (const [standbys, waitedFor, commit, warned] of [
    [0, "", "on", 0],
    [1, "", "on", 1],
    [2, "s1", "local", 1],
    [1, "s1", "on", 0],
    [1, "s1", "remote_apply", 0],
  ] as const) {
    const logger = recordingLogger();
    await warnOfStandbys(answering(() => ({ standbys, waited_for: waitedFor, commit })), logger);
    assert.equal(logger.lines.filter((line) => line.level === "warn").length, warned, `${standbys} ${waitedFor} ${commit}`);
  }
});
