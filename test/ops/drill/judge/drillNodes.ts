// Owns the nodes of the judge's stage and its time: each renews its lease as long as it may, and what is seen of that is kept.

import { FAST } from "../../../../actors/core/leaseProfile.ts";
import type { Owner } from "../../../../ops/drill/judge/leases.ts";
import type { LeaseChange } from "../../../../ops/drill/record.ts";

/** A row is seen so much later than it is written. */
export const POLL_MS = 60;

/** One node that renews its lease as long as it is alive and reaches the database. */
interface Node extends Owner {
  nextRenewalMs: number;
  renewing: boolean;
  acting: boolean;
}

export class DrillNodes {
  nowMs = 1_700_000_000_000;
  readonly leases: LeaseChange[] = [];
  readonly #nodes: Node[] = [];

  start(owner: Owner): void {
    this.#nodes.push({ ...owner, nextRenewalMs: this.nowMs, renewing: true, acting: true });
    this.renew();
  }

  node({ node, boot }: Owner): Node {
    const found = this.#nodes.find((each) => each.node === node && each.boot === boot);
    if (found === undefined) throw new Error(`no node ${node}`);
    return found;
  }

  /** A row is seen a little later than it is written. */
  seenLease({ node, boot }: Owner, leaseUntilMs: number, endedBoot: string | null = null): void {
    this.leases.push({ atMs: this.nowMs + POLL_MS, node, boot, leaseUntilMs, endedBoot });
  }

  /** What is left of a boot's lease. */
  leaseLeftMs({ node, boot }: Owner): number {
    return (this.leases.findLast((lease) => lease.node === node && lease.boot === boot)?.leaseUntilMs ?? 0) - this.nowMs;
  }

  end(owner: Owner): void {
    const node = this.node(owner);
    node.renewing = node.acting = false;
    this.seenLease(owner, this.nowMs, owner.boot);
  }

  protected renew(): void {
    for (const node of this.#nodes) {
      if (!node.renewing || this.nowMs < node.nextRenewalMs) continue;
      node.nextRenewalMs = this.nowMs + FAST.renewMs;
      this.seenLease(node, this.nowMs + FAST.ttlMs);
    }
  }
}
