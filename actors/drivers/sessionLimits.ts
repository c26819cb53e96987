// Owns the bounds and times of a session with a broker.

export interface SessionLimits {
  readonly connectTimeoutMs: number;
  /** For logins and snapshots. */
  readonly requestTimeoutMs: number;
  /** For orders: from the call to `unknown`. Below the fence margin. */
  readonly brokerTimeoutMs: number;
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
  readonly reconnectMinMs: number;
  readonly reconnectMaxMs: number;
  /** Requests on the session channel without an answer, at most. */
  readonly maxInFlight: number;
  /** How far back the snapshot of a login looks into the history. */
  readonly historyMs: number;
}

export const DEFAULT_SESSION_LIMITS: SessionLimits = {
  connectTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  brokerTimeoutMs: 10_000,
  pingEveryMs: 5_000,
  pingTimeoutMs: 5_000,
  reconnectMinMs: 250,
  reconnectMaxMs: 10_000,
  maxInFlight: 64,
  historyMs: 24 * 3_600_000,
};
