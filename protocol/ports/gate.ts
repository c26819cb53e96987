// Owns the port of the gate: may this node trade this account now? Asked at every use, in the same
// turn as the call it guards.

import type { Permit } from "../orders.ts";

/** `clock`: a deadline passed. `epoch`: the account is no longer ours at that epoch. `closed`: tripped, or never lifted. */
export type GateVerdict = "open" | "closed" | "clock" | "epoch";

export interface Gate {
  check(permit: Permit): GateVerdict;
}
