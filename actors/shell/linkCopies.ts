// Owns one link's memory in its follower's actor: what the master holds, and what has become of
// each trade here. Changed in place by the one actor that owns it; decides nothing.

import type { Link } from "../../protocol/accounts.ts";
import type { Ticket } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import { isLive, type Pair } from "../../protocol/pairs.ts";
import type { Timer } from "../../protocol/ports/clock.ts";
import { chainFrom, masterTicketOfComment } from "../../protocol/tags.ts";
import { compareVersions, type MasterPending, type MasterPosition, type MasterVersion, type Tick } from "../../protocol/ticks.ts";
import type { AccountChange } from "../../protocol/trades.ts";
import { unreachable } from "../../protocol/errors.ts";
import type { BrokerMs } from "../../protocol/units.ts";
import { openedAtMs, type LiveTarget, type Target } from "../core/decide.ts";

/** One trade of the master on this link. */
export interface Copy {
  readonly masterTicket: Ticket;
  pair: Pair | null;
  /** The actor's change counter when `pair` last changed: a snapshot asked for earlier may not know it. */
  changedAt: number;
  /** The broker's clock at the last answer that changed it: an older report shows what was before. */
  answeredAtMs: BrokerMs;
  /** The order whose answer is awaited: work on one trade is serial. */
  flight: Order | null;
  /** By whose word it may be opened: its own opening tick's, a plan's, which found it late, or nobody's. */
  opening: "fresh" | "late" | null;
  /** The pair is `Sending`, but its order certainly never reached the broker: it may be sent again. */
  unsent: boolean;
  /** Monotonic: until then an order whose answer was unknown may still be executed. */
  settlesAtMs: number | null;
  /** A refused order is tried again when this runs. */
  pause: Timer | null;
  /** Levels wait for the market: looked at again when this runs. Nothing else waits for it. */
  later: Timer | null;
  attempts: number;
  /** Open without stops: they were refused once. */
  plain: boolean;
  /** Levels the broker refused for good: not asked for again. */
  refusedLevels: string | null;
  /** Its newest row has not been taken by the log's buffer yet. */
  unpublished: boolean;
  /** What the master last held of it: a skip is written with it when the trade is gone. */
  lastTarget: LiveTarget | null;
}

const GONE_CLOSED: Target = { kind: "gone", reason: "master_closed" };
const GONE_CANCELLED: Target = { kind: "gone", reason: "master_cancelled" };

export class LinkCopies {
  /** As it is configured now; id, ends and magic never change. */
  link: Link;
  readonly copies = new Map<Ticket, Copy>();
  /** What the master holds, by master ticket; null while the master is not synced. */
  targets: Map<Ticket, LiveTarget> | null = null;
  /** A plan was carried out since the last connect and the last book: new ticks may be traded. */
  planned = false;
  /** Monotonic: when the snapshot was asked for that the last plan was made on. */
  shownAtMs = Number.NEGATIVE_INFINITY;
  #masterOffsetMs: number | null = null;
  #version: MasterVersion | null = null;
  /** Monotonic. */
  #heardAtMs: number | null = null;

  constructor(link: Link) {
    this.link = link;
  }

  /** A sign of life of the master, with a reading of its broker's clock. The best reading is the least delayed, so the offset only rises within a sync. */
  readMasterClock(brokerNowMs: BrokerMs, monotonicMs: number): void {
    this.hear(monotonicMs);
    const offsetMs = brokerNowMs - monotonicMs;
    if (this.#masterOffsetMs === null || offsetMs > this.#masterOffsetMs) this.#masterOffsetMs = offsetMs;
  }

  /** A sign of life of the master. */
  hear(monotonicMs: number): void {
    this.#heardAtMs = Math.max(this.#heardAtMs ?? monotonicMs, monotonicMs);
  }

  /** A hole in the master's ticks: nothing of it is known until the next book. */
  forgetMaster(): void {
    this.targets = null;
    this.planned = false;
    this.#masterOffsetMs = null;
    this.#heardAtMs = null;
  }

  /** How long the master has not been heard of; for ever while it never was. */
  silentMs(monotonicMs: number): number {
    return this.#heardAtMs === null ? Number.POSITIVE_INFINITY : monotonicMs - this.#heardAtMs;
  }

  /** Null while no reading of the master broker's clock has come live. */
  masterNowMs(monotonicMs: number): BrokerMs | null {
    return this.#masterOffsetMs === null ? null : ((this.#masterOffsetMs + monotonicMs) as BrokerMs);
  }

  /** By two readings of the master broker's clock; 0 while it is not known. */
  ageMs(target: Target, monotonicMs: number): number {
    const nowMs = this.masterNowMs(monotonicMs);
    return target.kind === "gone" || nowMs === null ? 0 : nowMs - openedAtMs(target);
  }

  copy(masterTicket: Ticket): Copy {
    let copy = this.copies.get(masterTicket);
    if (copy === undefined) {
      copy = { masterTicket, pair: null, changedAt: 0, answeredAtMs: 0 as BrokerMs, flight: null, opening: null, unsent: false, settlesAtMs: null, pause: null, later: null, attempts: 0, plain: false, refusedLevels: null, unpublished: false, lastTarget: null };
      this.copies.set(masterTicket, copy);
    }
    return copy;
  }

  /** What the targets contain; null while none were taken. */
  get version(): MasterVersion | null {
    return this.#version;
  }

  target(masterTicket: Ticket): Target {
    const live = this.targets?.get(masterTicket);
    if (live !== undefined) return live;
    return this.copies.get(masterTicket)?.lastTarget?.kind === "pending" ? GONE_CANCELLED : GONE_CLOSED;
  }

  /** Folds a tick into the targets; the master ticket it is about, null where it tells nothing new. */
  fold(tick: Tick): Ticket | null {
    const { body } = tick;
    if (this.#version !== null && compareVersions(tick, this.#version) <= 0) return null;
    this.#version = { epoch: tick.epoch, seq: tick.seq };
    switch (body.kind) {
      case "opened":
      case "part_closed":
      case "modified":
      case "pending_filled":
        return this.#hold({ kind: "position", position: body.position }, body.position);
      case "pending_placed":
      case "pending_changed":
        return this.#hold({ kind: "pending", pending: body.pending }, body.pending);
      case "closed":
      case "pending_cancelled":
        this.targets?.delete(body.masterTicket);
        return body.masterTicket;
      case "alive":
        return null;
      default:
        return unreachable(body);
    }
  }

  #hold(target: LiveTarget, trade: MasterPosition | MasterPending): Ticket {
    this.targets?.set(trade.masterTicket, target);
    this.copy(trade.masterTicket).lastTarget = target;
    return trade.masterTicket;
  }

  replaceTargets(targets: ReadonlyMap<Ticket, LiveTarget>, version: MasterVersion): void {
    this.targets = new Map(targets);
    this.#version = version;
    for (const [masterTicket, target] of targets) this.copy(masterTicket).lastTarget = target;
    this.planned = false;
  }

  /** The copy that a report of the follower's broker may be about. */
  candidate(change: AccountChange): Copy | null {
    const order = orderOf(change);
    const old = chainFrom(order.comment);
    for (const copy of this.copies.values()) {
      const ticket = copy.pair?.followerTicket ?? null;
      if (ticket !== null && (ticket === order.ticket || ticket === order.identifier || ticket === old || (change.kind === "pending_filled" && ticket === change.pendingTicket))) return copy;
    }
    const masterTicket = this.carriesTag(order) ? masterTicketOfComment(order.comment) : null;
    return masterTicket === null ? null : (this.copies.get(masterTicket) ?? null);
  }

  /** Whether an order says that it is this link's. */
  carriesTag(order: { readonly magic: number; readonly comment: string }): boolean {
    return order.magic === this.link.magic && masterTicketOfComment(order.comment) !== null;
  }

  /** Ended here and gone at the master: nothing can come of it any more. */
  forgetIfOver(copy: Copy): void {
    const over = copy.flight === null && !copy.unpublished && copy.pause === null && (copy.pair === null || !isLive(copy.pair.status));
    if (!over || this.targets === null || this.targets.has(copy.masterTicket)) return;
    copy.later?.cancel();
    this.copies.delete(copy.masterTicket);
  }

  get settled(): boolean {
    return [...this.copies.values()].every((copy) => copy.flight === null && copy.pause === null && !copy.unsent && copy.settlesAtMs === null);
  }
}

function orderOf(change: AccountChange): { readonly ticket: Ticket; readonly identifier?: Ticket; readonly magic: number; readonly comment: string } {
  switch (change.kind) {
    case "position_opened":
    case "position_changed":
    case "pending_filled":
      return change.position;
    case "position_closed":
      return change.closed.position;
    case "pending_placed":
    case "pending_changed":
      return change.pending;
    case "pending_removed":
      return change.removed.pending;
    default:
      return unreachable(change);
  }
}
