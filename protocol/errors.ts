// Owns the closed set of errors that this system raises itself, each with what a caller may do
// about it. Vendor and database codes are mapped to these once, at the edge; an unknown code is
// never retried.

/** What a caller may do: `never` try again, try again `later` with back-off, or `fix` what it was given. */
export type ErrorRetry = "never" | "later" | "fix";

const RETRY = {
  /** A value from outside does not have the form it must have. */
  invalid_value: "fix",
  /** Options, environment or file do not make a working configuration: exit code 2. */
  configuration: "fix",
  /** A file is no statement, or is cut: exit code 2. */
  bad_statement: "fix",
  /** Bytes of the log or the wire that cannot be read. */
  malformed: "never",
  /** A record of a schema version this build does not know. */
  unknown_schema: "never",
  /** A bounded buffer is full. */
  full: "later",
  /** The thing was stopped and takes nothing more. */
  stopped: "never",
  /** The other side cannot be reached, or the connection broke. */
  unreachable: "later",
  /** The database refused one row for a reason that lies in the row (SQLSTATE 21, 22, 23). */
  row_fault: "never",
  /** Another session was in the way (40001, 40P01, 55P03): tried again soon, a few times. */
  database_contended: "later",
  /** The database refused for a reason that passes (08, 53, 57, 25006), or was not heard of. */
  database_busy: "later",
  /** The database refused for a reason that lies in itself: a missing column, a missing right. Kept, loud, retried slowly by whoever owns the batch. */
  database_fault: "later",
  /** The database refused by a class that blames neither rows nor itself: a row's only if others of its batch go in. */
  row_suspect: "later",
  /** The answer to a COMMIT was lost: it may have been done. */
  commit_unknown: "later",
  /** The broker refused a login. */
  login_refused: "fix",
  /** A host thread ended under a call, or the machine gave fewer threads than asked. */
  executor: "never",
} as const satisfies Record<string, ErrorRetry>;

export type ErrorCode = keyof typeof RETRY;

export class LockstepError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "LockstepError";
    this.code = code;
  }

  get retry(): ErrorRetry {
    return RETRY[this.code];
  }
}

export function isLockstepError(error: unknown, code?: ErrorCode): error is LockstepError {
  return error instanceof LockstepError && (code === undefined || error.code === code);
}

/** One line of text for any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Ends an exhaustive switch: a new variant that nobody handles does not compile. */
export function unreachable(value: never): never {
  throw new Error(`unhandled variant ${JSON.stringify(value)}`);
}
