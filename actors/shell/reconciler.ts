// Owns when a follower reconciles, and what the pure plan is given: it asks for snapshots, one at a
// time, and leaves out what moved since the snapshot was asked for.
//
// 1. While the gate is closed nothing is asked: nothing could be carried out.
// 2. What a plan could not conclude is looked at again; nobody has to remember it.

import type { Ticket } from "../../protocol/ids.ts";
import { isLive } from "../../protocol/pairs.ts";
import type { BrokerSession } from "../../protocol/ports/broker.ts";
import { wallNow, type Clock, type Random, type Timer } from "../../protocol/ports/clock.ts";
import type { Gate } from "../../protocol/ports/gate.ts";
import type { Journal } from "../../protocol/ports/journal.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { AccountSnapshot } from "../../protocol/trades.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { BrokerMs } from "../../protocol/units.ts";
import type { Market, Target } from "../core/decide.ts";
import { emptySince, isEmptinessBelieved } from "../core/emptiness.ts";
import type { Action, KnownPair, PlanInput } from "../core/reconcile/input.ts";
import { distrust, plan } from "../core/reconcile/plan.ts";
import type { LinkCopies } from "./linkCopies.ts";
import type { Ownership } from "./ownership.ts";

export interface ReconcilerOptions {
  readonly session: BrokerSession;
  readonly gate: Gate;
  readonly ownership: Ownership;
  /** Since when nobody else sends orders for the account, and until when what was sent before may be executed; monotonic. */
  readonly sinceMs: number;
  readonly settledAtMs: number;
  readonly barrier: () => PlanInput["barrier"];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly journal: Journal;
  readonly limits: { readonly reconcileEveryMs: number; readonly settleMs: number };
  readonly ask: (message: SnapshotMessage) => void;
  /** The actor's change counter. */
  readonly changes: () => number;
}

/** `askedAt`: the change counter, and `askedAtMs` the monotonic clock, when it was asked for. */
export interface SnapshotMessage {
  readonly kind: "snapshot";
  readonly snapshot: AccountSnapshot | null;
  readonly askedAt: number;
  readonly askedAtMs: number;
  readonly cause: string;
}

export const DRIFT_CHECK = "drift check";
/** How far back history is read: further than any outage we recover from, and than a weekend. */
const HISTORY_MS = 7 * 86_400_000;
const ASK_AGAIN_MS = 1_000;
const STALE_AFTER_MS = 15_000;
const MAX_ORDERS = 200;

/** From when on a snapshot shows what has ended. */
export const historyFrom = (session: BrokerSession): BrokerMs => Math.floor((session.brokerNowMs() ?? HISTORY_MS) - HISTORY_MS) as BrokerMs;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  #next: { readonly atMs: number; readonly timer: Timer; readonly cause: string } | null = null;
  #periodic: Timer | null = null;
  #asking = false;
  #stopped = false;
  /** Monotonic: since when every snapshot of this session has shown nothing. */
  #emptySinceMs: number | null = null;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** A snapshot is awaited: it may show what has ended since as still standing. */
  get asking(): boolean {
    return this.#asking;
  }

  /** A look is under way or to come, beside the one that comes every minute: something was left open. */
  get due(): boolean {
    return this.#asking || this.#next !== null;
  }

  /** Reconciles `delayMs` from now, or earlier if that was wanted already. */
  look(cause: string, delayMs: number): void {
    const atMs = this.#options.clock.monotonicMs() + delayMs;
    if (this.#stopped || (this.#next !== null && this.#next.atMs <= atMs)) return;
    this.#next?.timer.cancel();
    this.#next = { atMs, cause, timer: this.#options.clock.after(delayMs, () => this.#ask(cause)) };
  }

  /** Looks for drift regularly, jittered so that followers do not ask in step. */
  everyMinute(): void {
    const { clock, random, limits } = this.#options;
    if (this.#stopped) return;
    this.#periodic = clock.after(limits.reconcileEveryMs * (0.75 + random.next() / 2), () => {
      this.look(DRIFT_CHECK, 0);
      this.everyMinute();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#next?.timer.cancel();
    this.#periodic?.cancel();
  }

  #ask(cause: string): void {
    this.#next = null;
    const { session, gate, ownership, ask, changes, logger, clock } = this.#options;
    if (this.#asking || gate.check(ownership.permit) !== "open") return this.look(cause, ASK_AGAIN_MS); // 1
    const askedAt = changes();
    const askedAtMs = clock.monotonicMs();
    this.#asking = true;
    void session
      .snapshot(historyFrom(session))
      .catch((error: unknown) => {
        logger.warn({ account: session.account, cause, error: messageOf(error) }, "no snapshot");
        return null;
      })
      .then((snapshot) => {
        this.#asking = false;
        if (this.#stopped) return;
        // Without a connection the next `connected` asks by itself.
        if (snapshot?.synced !== true) this.look(cause, ASK_AGAIN_MS);
        this.#note(snapshot, askedAtMs);
        ask({ kind: "snapshot", snapshot, askedAt, askedAtMs, cause });
      });
  }

  /** A new session's emptiness has to be confirmed anew. */
  forgetSession(): void {
    this.#emptySinceMs = null;
  }

  #note(snapshot: AccountSnapshot | null, askedAtMs: number): void {
    if (snapshot === null) return;
    this.#emptySinceMs = snapshot.synced ? emptySince(this.#emptySinceMs, snapshot, askedAtMs) : null;
  }

  /** The plan of one link; null while nothing can be concluded. */
  plan(state: LinkCopies, { snapshot, askedAt, askedAtMs, cause }: SnapshotMessage, market: (target: Target) => Market): readonly Action[] | null {
    const { clock, metrics, logger, limits, sinceMs, settledAtMs, barrier } = this.#options;
    if (snapshot === null) return null;
    const monotonicMs = clock.monotonicMs();
    const pairs = new Map<Ticket, KnownPair>();
    for (const copy of state.copies.values()) if (copy.pair !== null) pairs.set(copy.masterTicket, { pair: copy.pair, busy: copy.flight !== null || copy.changedAt > askedAt, settlesAtMs: copy.settlesAtMs });
    const input: PlanInput = {
      link: state.link,
      targets: state.targets,
      masterSilentMs: state.silentMs(monotonicMs),
      snapshot,
      snapshotAgeMs: monotonicMs - askedAtMs,
      emptinessConfirmed: this.#emptySinceMs !== null && isEmptinessBelieved(this.#emptySinceMs, monotonicMs),
      pairs,
      market,
      masterNowMs: state.masterNowMs(monotonicMs),
      monotonicMs,
      nowMs: wallNow(clock),
      settledAtMs,
      sinceMs,
      barrier: barrier(),
      // Until then a former owner's order may have been executed, and have ended, since the last look.
      isFirstLook: state.shownAtMs < settledAtMs,
      limits: { staleAfterMs: STALE_AFTER_MS, settleMs: limits.settleMs, maxOrders: MAX_ORDERS },
    };
    const why = distrust(input);
    if (why !== null) {
      logger.info({ link: state.link.id, cause, why }, "nothing concluded");
      this.look(cause, ASK_AGAIN_MS); // 2
      return null;
    }
    const actions = plan(input);
    metrics.count("reconcile_runs");
    const moving = actions.filter((action) => action.kind !== "again");
    if (cause === DRIFT_CHECK && moving.length > 0) metrics.count("reconcile_drift");
    if (cause !== DRIFT_CHECK || moving.length > 0) this.#tell(state, cause, input, actions);
    if ([...pairs.values()].some((known) => known.busy && isLive(known.pair.status))) this.look("was under way", ASK_AGAIN_MS); // 2
    return actions;
  }

  /** What a plan rested on, and what it does. */
  #tell(state: LinkCopies, cause: string, input: PlanInput, actions: readonly Action[]): void {
    const { ownership, journal } = this.#options;
    const count = (...kinds: readonly string[]): number => actions.filter((action) => kinds.includes(action.kind === "order" ? action.order.kind : action.kind)).length;
    journal.note(ownership.subject, "plan", {
      link: state.link.id,
      master: state.link.master,
      cause,
      masterEpoch: state.version?.epoch ?? null,
      masterSeq: state.version?.seq ?? null,
      snapshotAgeMs: Math.round(input.snapshotAgeMs),
      barrier: input.barrier,
      settleLeftMs: Math.max(0, Math.round(input.settledAtMs - input.monotonicMs)),
      pairs: input.pairs.size,
      rows: count("row"),
      closes: count("close", "cancel"),
      modifies: count("modify", "change"),
      opens: count("open", "place"),
      loose: count("loose"),
      missing: count("missing"),
      again: count("again"),
    });
  }
}
