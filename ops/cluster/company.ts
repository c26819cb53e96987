// Owns who plays in a cluster: masters with a troupe of followers each, at brokers of their own.
//
// 1. Follower j belongs to master j modulo the number of masters.
// 2. All accounts have one password, which is in no row and no file: nodes find it in their environment.

import { castOf, type Cast } from "../demo/cast.ts";
import type { Statement } from "../statement/model.ts";

/** Where every account's password is. */
export const PASSWORD_VARIABLE = "LOCKSTEP_SECRET_CLUSTER";
export const PASSWORD_REFERENCE = `env:${PASSWORD_VARIABLE}`;

export function companyOf(statement: Statement, masters: number, followers: number, password: string): Cast[] {
  return Array.from({ length: masters }, (_, index) => {
    const master = `m${index + 1}`;
    return castOf(statement, Math.ceil((followers - index) / masters), { master, prefix: `${master}-`, password }); // (1)
  });
}
