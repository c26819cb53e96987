// Owns the one table from the database's error codes, and from the driver's own errors, to ours.
//
// 1. Only classes 21, 22 and 23 blame a row by themselves.
// 2. What has no SQLSTATE, and is not known to be a connection's, is a `database_fault`: kept, loud, retried slowly by its owner.
// 3. A class that is in no table (a trigger's own error, a limit of the server) says neither: `row_suspect`.

import { LockstepError, isLockstepError, messageOf, type ErrorCode } from "../protocol/errors.ts";

/** Whole classes: the first two characters of an SQLSTATE. */
const CLASSES: Readonly<Record<string, ErrorCode>> = {
  "08": "database_busy", // connection exception
  "0A": "database_fault", // feature not supported: a cached plan that no longer fits is one
  "21": "row_fault", // cardinality violation
  "22": "row_fault", // data exception
  "23": "row_fault", // integrity constraint violation
  "25": "database_fault", // invalid transaction state
  "26": "database_fault", // a prepared statement that is not there
  "28": "database_fault", // invalid authorization
  "3D": "database_fault", // no such database
  "3F": "database_fault", // no such schema
  "40": "database_contended", // transaction rollback
  "42": "database_fault", // a column, a table, a right that is missing: nobody's row
  "53": "database_busy", // insufficient resources
  "55": "database_fault", // object not in the state that is needed
  "57": "database_busy", // operator intervention: cancelled, shutting down, starting up
  "58": "database_fault", // the system under the server: disks
  "F0": "database_fault", // configuration file
};

/** Single codes whose class says less. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  "25006": "database_busy", // read-only transaction: the connection leads to a former primary
  "55P03": "database_contended", // lock not available
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
  return CODES[state] ?? CLASSES[state.slice(0, 2)] ?? "row_suspect";
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
