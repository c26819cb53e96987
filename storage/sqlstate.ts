// Owns the one table from the database's error codes, and from the driver's own errors, to ours.
//
// 1. Only classes 21, 22 and 23 blame a row: whatever else goes wrong never costs a row.
// 2. An error that is in no table is a `database_fault`: kept, loud, retried slowly by its owner.

import { LockstepError, isLockstepError, messageOf, type ErrorCode } from "../protocol/errors.ts";

/** Whole classes: the first two characters of an SQLSTATE. */
const CLASSES: Readonly<Record<string, ErrorCode>> = {
  "08": "database_busy", // connection exception
  "21": "row_fault", // cardinality violation
  "22": "row_fault", // data exception
  "23": "row_fault", // integrity constraint violation
  "53": "database_busy", // insufficient resources
  "57": "database_busy", // operator intervention: cancelled, shutting down, starting up
};

/** Single codes whose class says less. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  "25006": "database_busy", // read-only transaction: the connection leads to a former primary
  "40001": "database_busy", // serialization failure
  "40P01": "database_busy", // deadlock
  "55P03": "database_busy", // lock not available
};

/** What the driver raises without a code when a connection could not be made, broke, or was too slow. */
const DRIVER_TEXTS: readonly string[] = [
  "Client has encountered a connection error and is not queryable",
  "Client was closed and is not queryable",
  "Connection terminated",
  "Connection terminated due to connection timeout",
  "Connection terminated unexpectedly",
  "Query read timeout",
  "timeout exceeded when trying to connect",
  "timeout expired",
];

const SQLSTATE = /^[0-9A-Z]{5}$/;
/** Node's names for what a socket or a name look-up can run into: `ECONNRESET`, `EAI_AGAIN`. */
const SYSTEM_CODE = /^E[A-Z_]{2,}$/;

/** The SQLSTATE of a server's error, or null where the server said nothing. */
export function sqlstateOf(error: unknown): string | null {
  const code = codeOf(error);
  // EPIPE and its like have five letters too; the server's errors always carry a severity.
  return code !== null && SQLSTATE.test(code) && typeof error === "object" && error !== null && "severity" in error ? code : null;
}

/** Any thrown value as one of ours, its cause kept and its SQLSTATE in front of the text. */
export function databaseError(error: unknown): LockstepError {
  if (isLockstepError(error)) return error;
  const state = sqlstateOf(error);
  if (state !== null) return new LockstepError(codeOfState(state), `${state}: ${messageOf(error)}`, error);
  return new LockstepError(isConnectionError(error) ? "database_busy" : "database_fault", textOf(error), error);
}

function codeOfState(state: string): ErrorCode {
  return CODES[state] ?? CLASSES[state.slice(0, 2)] ?? "database_fault";
}

function isConnectionError(error: unknown): boolean {
  const code = codeOf(error);
  return (code !== null && SYSTEM_CODE.test(code)) || DRIVER_TEXTS.includes(messageOf(error));
}

/** A refused connection to a name with several addresses is an AggregateError without a text. */
function textOf(error: unknown): string {
  return messageOf(error) || (codeOf(error) ?? "unknown error");
}

function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}
