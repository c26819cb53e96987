// Owns what Kafka's errors mean: the one place where its codes become ours.
//
// 1. A refusal is clear: the broker has read the request and has not done it. Everything else leaves
//    open whether it was done, and its connection is not used again.

import { LockstepError, messageOf, type ErrorCode } from "../../protocol/errors.ts";

/** Protocol errors by which a broker says that these records will never be taken, whoever asks again. */
const REFUSALS: Readonly<Record<string, ErrorCode>> = {
  MESSAGE_TOO_LARGE: "invalid_value",
  RECORD_LIST_TOO_LARGE: "invalid_value",
  INVALID_RECORD: "invalid_value",
  INVALID_TIMESTAMP: "invalid_value",
  INVALID_TOPIC_EXCEPTION: "configuration",
  TOPIC_AUTHORIZATION_FAILED: "configuration",
  CLUSTER_AUTHORIZATION_FAILED: "configuration",
  GROUP_AUTHORIZATION_FAILED: "configuration",
  POLICY_VIOLATION: "configuration",
};

/** Also said of a topic that was made a moment ago: only who knows that it cannot be there may conclude from it. */
export const isUnknownTopic = (error: unknown): boolean => typeOf(error) === "UNKNOWN_TOPIC_OR_PARTITION";

/** By these a group says that the caller is no member, or not of this generation. */
const NO_MEMBER: ReadonlySet<string> = new Set(["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "FENCED_INSTANCE_ID"]);

/** The protocol's name of an error, whatever it is wrapped in; null where it has none. */
export function typeOf(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { type } = cause as { readonly type?: unknown };
    if (typeof type === "string") return type;
  }
  return null;
}

/** Invariant 1. Null where it is not clear. */
export function refusalOf(error: unknown): LockstepError | null {
  const type = typeOf(error);
  const code = type === null ? undefined : REFUSALS[type];
  return code === undefined ? null : new LockstepError(code, `Kafka refuses: ${messageOf(error)} (${type})`, error);
}

export const isNoMember = (error: unknown): boolean => NO_MEMBER.has(typeOf(error) ?? "");

/** Any error of Kafka's as one of ours. */
export function logError(what: string, error: unknown): LockstepError {
  if (error instanceof LockstepError) return error;
  return refusalOf(error) ?? new LockstepError("unreachable", `${what}: ${messageOf(error)}`, error);
}
