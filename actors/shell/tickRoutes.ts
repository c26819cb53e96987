// Owns which of this node's followers hear of which master, and tells them: ticks, signs of life,
// books.
//
// 1. A tick that finds a follower's mailbox full is a gap for that follower.
// 2. A link that is new to a follower begins with the master's book of the moment.

import type { AccountId, Ticket } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Tick } from "../../protocol/ticks.ts";
import type { WallMs } from "../../protocol/units.ts";
import type { LiveTarget } from "../core/decide.ts";
import type { ClockReading, MasterFold } from "../core/masterFold.ts";
import type { FollowerActor } from "./followerActor.ts";
import type { TickReader } from "./tickReader.ts";

export class TickRoutes {
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #followersOf = new Map<AccountId, Set<FollowerActor>>();
  #reader: Pick<TickReader, "foldOf"> | null = null;

  constructor(clock: Pick<Clock, "wallMs">) {
    this.#clock = clock;
  }

  attach(reader: Pick<TickReader, "foldOf">): void {
    this.#reader = reader;
  }

  /** The follower has links to these masters that it had not before. */
  add(follower: FollowerActor, masters: Iterable<AccountId>): void {
    for (const master of new Set(masters)) {
      this.#followersOf.set(master, (this.#followersOf.get(master) ?? new Set()).add(follower));
      this.#tellFold(follower, master); // (2)
    }
  }

  remove(follower: FollowerActor): void {
    for (const followers of this.#followersOf.values()) followers.delete(follower);
  }

  onTick(tick: Tick, readAtMs: number): void {
    const readAtWallMs = this.#clock.wallMs() as WallMs;
    for (const follower of this.#of(tick.master)) {
      if (follower.tell({ kind: "tick", tick, readAtMs, readAtWallMs }) !== "full") continue;
      follower.tellSystem({ kind: "master_unsynced", master: tick.master }); // (1)
      this.#tellFold(follower, tick.master);
    }
  }

  onAlive(master: AccountId, clock: ClockReading): void {
    for (const follower of this.#of(master)) follower.tellSystem({ kind: "alive", master, clock });
  }

  onBook(master: AccountId, fold: MasterFold): void {
    for (const follower of this.#of(master)) tellBook(follower, master, fold);
  }

  onUnsynced(master: AccountId): void {
    for (const follower of this.#of(master)) follower.tellSystem({ kind: "master_unsynced", master });
  }

  #of(master: AccountId): Iterable<FollowerActor> {
    return this.#followersOf.get(master) ?? [];
  }

  #tellFold(follower: FollowerActor, master: AccountId): void {
    const fold = this.#reader?.foldOf(master) ?? null;
    if (fold !== null) tellBook(follower, master, fold);
  }
}

function tellBook(follower: FollowerActor, master: AccountId, fold: MasterFold): void {
  const targets = new Map<Ticket, LiveTarget>();
  for (const [masterTicket, position] of fold.positions) targets.set(masterTicket, { kind: "position", position });
  for (const [masterTicket, pending] of fold.pendings) targets.set(masterTicket, { kind: "pending", pending });
  follower.tellSystem({ kind: "book", master, targets, version: { epoch: fold.epoch, seq: fold.seq }, clock: fold.clock, heardAtMs: fold.heardAtMs });
}
