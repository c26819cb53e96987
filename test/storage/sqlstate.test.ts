// Owns the table of database errors, case by case.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LockstepError } from "../../protocol/errors.ts";
import { databaseError, sqlstateOf } from "../../storage/sqlstate.ts";

const server = (code: string): Error => Object.assign(new Error("text"), { code, severity: "ERROR" });

const TABLE: Readonly<Record<string, readonly string[]>> = {
  row_fault: ["21000", "22003", "22021", "22P02", "22P05", "23502", "23503", "23505", "23514"],
  database_contended: ["40001", "40002", "40P01", "55P03"],
  database_busy: ["08006", "08P01", "25006", "53100", "53300", "57014", "57P01", "57P03"],
  database_fault: ["0A000", "25P02", "26000", "28P01", "3D000", "3F000", "42P01", "42703", "42501", "55000", "58030", "F0000"],
  row_suspect: ["09000", "27000", "44000", "54000", "P0001", "XX000", "XX001"],
};

for (const [expected, states] of Object.entries(TABLE)) {
  for (const state of states) {
    test(`SQLSTATE ${state} is a ${expected}`, () => {
      const cause = server(state);
      const error = databaseError(cause);
      assert.deepEqual({ code: error.code, message: error.message, cause: error.cause }, { code: expected, message: `${state}: text`, cause });
    });
  }
}

for (const code of ["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EAI_AGAIN", "ENOTFOUND", "EHOSTUNREACH"]) {
  test(`the socket's ${code} is database_busy`, () => {
    assert.equal(databaseError(Object.assign(new Error(code), { code })).code, "database_busy");
    assert.equal(sqlstateOf(Object.assign(new Error(code), { code })), null);
  });
}

test("a refused connection to several addresses has a text", () => {
  const error = databaseError(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }));
  assert.deepEqual([error.code, error.message], ["database_busy", "ECONNREFUSED"]);
});

test("a mistake of ours is a fault, never a row's", () => {
  assert.equal(databaseError(new TypeError("x is undefined")).code, "database_fault");
});

test("an error of ours stays what it is", () => {
  const error = new LockstepError("configuration", "x");
  assert.equal(databaseError(error), error);
});
