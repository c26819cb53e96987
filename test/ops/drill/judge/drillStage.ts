// Owns the stage of the judge's tests: a small cluster that keeps the rules, on the real broker without sockets, in time that passes
// only when told; and the record that a drill would make of it. A test breaks one thing, on the stage or in the record.

import type { Link } from "../../../../protocol/accounts.ts";
import { bootId, nodeId, type AccountId, type Epoch, type Ticket } from "../../../../protocol/ids.ts";
import type { Order } from "../../../../protocol/orders.ts";
import type { Pair } from "../../../../protocol/pairs.ts";
import type { TimelineDetail, TimelineEntry, TimelineEvent } from "../../../../protocol/timeline.ts";
import type { Position } from "../../../../protocol/trades.ts";
import type { BrokerMs, Points, VolumeUnits, WallMs } from "../../../../protocol/units.ts";
import { FAST } from "../../../../actors/core/leaseProfile.ts";
import { isOlderThanUs } from "../../../../actors/core/reconcile/rules.ts";
import { Broker } from "../../../../ops/broker/broker.ts";
import { resultCode } from "../../../../ops/broker/engine/refusals.ts";
import { BrokerLog, type BrokerLogFact } from "../../../../ops/broker/log.ts";
import { MemoryLogSink } from "../../../../ops/broker/logSinks.ts";
import { Trader } from "../../../../ops/broker/trader.ts";
import { judge } from "../../../../ops/drill/judge/judge.ts";
import type { Owner } from "../../../../ops/drill/judge/leases.ts";
import type { DrillRecord, Expectations, OwnerChange, SaidEvent } from "../../../../ops/drill/record.ts";
import type { DrillReport } from "../../../../ops/drill/report.ts";
import { blankRow } from "../../demo/check/copierRow.ts";
import { CAST, EUR, F1, F2, lots, M1, N1, N2 } from "./drillCast.ts";
import { DrillNodes, POLL_MS } from "./drillNodes.ts";

export const SETTLE_MS = 2_000;
const OFFSET_MS = 7_200_000;
const PLAN_MS = 100;
const STEP_MS = 20;
const HOLD_MS = 2_000;
const TRADE_MS = 200;
const SILENT: Expectations = { accounts: "any", copiesUntilDeadline: false, silentFrom: null, gap: false, longestGapMs: null, lostOldestMs: null };

interface Holding {
  owner: Owner | null;
  epoch: number;
  connection: number;
  /** From then on it answers its master's ticks. */
  readyMs: number;
  /** Since when its owner has it, who had it not before; else -Infinity. */
  sinceMs: number;
}

interface Told {
  readonly link: Link;
  row: Pair;
  epoch: number;
}

export class DrillStage extends DrillNodes {
  readonly owners: OwnerChange[] = [];
  readonly said: SaidEvent[] = [];
  readonly timeline: TimelineEntry[] = [];
  readonly sink = new MemoryLogSink(100_000);
  readonly broker: Broker;
  readonly #log: BrokerLog;
  readonly master: Trader;
  readonly #holdings = new Map<AccountId, Holding>();
  readonly #rows = new Map<string, Told>();
  readonly #standing = new Set<Told>();
  readonly #trades = new Map<Ticket, number>();
  readonly #kept = new Set<Ticket>();
  /** Closed ones, and when each was there. */
  readonly #gone = new Map<Ticket, { readonly openedMs: number; readonly position: Position }>();
  #connections = 0;
  #asked = 0;
  #n = 0;
  faultAtMs = 0;
  healAtMs: number | null = null;
  /** Nothing is done for these, whoever has them. */
  readonly mute = new Set<AccountId>();
  /** Events of these owners do not reach the log any more. */
  readonly cutOff = new Set<string>();

  constructor() {
    super();
    const nowMs = (): BrokerMs => (this.nowMs + OFFSET_MS) as BrokerMs;
    this.#log = new BrokerLog([this.sink], nowMs);
    this.broker = new Broker({ instruments: CAST.instruments, accounts: [CAST.master, ...CAST.followers.map(({ broker }) => broker)], log: this.#log, nowMs, maxOpen: 1_000, maxHistory: 10_000 });
    this.broker.listen({ changed() {}, quoted() {} });
    this.master = new Trader(this.broker, this.#log, M1);
    this.broker.setQuotes([{ instrument: "eurusd", bid: 108_500 as Points, ask: 108_500 as Points }]);
    this.start(N1);
    this.start(N2);
    this.acquire(M1, N2, 1);
    this.acquire(F1, N1, 1);
    this.acquire(F2, N2, 1);
    this.pass(3_000);
  }

  /** Nobody acts before he has acquired anew. */
  halt(): void {
    for (const holding of this.#holdings.values()) holding.readyMs = Infinity;
  }

  tell(owner: Owner | null, event: TimelineEvent, about: AccountId | null = null, epoch: number | null = null, detail: TimelineDetail = {}): void {
    const who = owner === null ? { node: null, boot: null } : { node: nodeId(owner.node), boot: bootId(owner.boot) };
    this.timeline.push({ atMs: this.nowMs as WallMs, ...who, account: about, epoch: epoch as Epoch | null, event, detail });
  }

  seenOwner(about: AccountId, owner: Owner | null, epoch: number): void {
    this.owners.push({ atMs: this.nowMs + POLL_MS, account: about, node: owner?.node ?? null, boot: owner?.boot ?? null, epoch });
  }

  /** Session and reconcile take PLAN_MS from here. `keepsSession`: a lift. */
  acquire(about: AccountId, owner: Owner, epoch: number, { keepsSession = false } = {}): void {
    const before = this.#holdings.get(about);
    this.seenOwner(about, owner, epoch);
    this.tell(owner, keepsSession ? "confirmed" : "claimed", about, epoch);
    const connection = keepsSession ? (before?.connection ?? 0) : this.login(about, owner, epoch);
    this.#holdings.set(about, { owner, epoch, connection, readyMs: this.nowMs + PLAN_MS, sinceMs: keepsSession ? -Infinity : this.nowMs });
    this.#tellReady(about);
  }

  /** All sessions are cut; nobody acts before he has logged in again. */
  cutSessions(): void {
    for (const [about, holding] of this.#holdings) {
      this.disconnect(about);
      this.tell(holding.owner, "session_lost", about, holding.epoch);
    }
    this.halt();
  }

  /** Its owner, who kept it, has a session again. */
  reconnect(about: AccountId): void {
    const holding = this.#holdings.get(about);
    if (holding === undefined || holding.owner === null) return;
    holding.connection = this.login(about, holding.owner, holding.epoch);
    this.resume(about);
  }

  /** Its owner acts again from PLAN_MS on, under what it had. */
  resume(about: AccountId): void {
    const holding = this.#holdings.get(about);
    if (holding === undefined) return;
    holding.readyMs = this.nowMs + PLAN_MS;
    this.#tellReady(about);
  }

  /** A follower makes a plan, on what it knows of its master; so do all of a master's. */
  #tellReady(about: AccountId): void {
    const told = (account: AccountId, event: TimelineEvent, detail: TimelineDetail): void => {
      const holding = this.#holdings.get(account);
      if (holding === undefined || holding.owner === null) return;
      const { owner, epoch } = holding;
      this.timeline.push({ atMs: (this.nowMs + PLAN_MS) as WallMs, node: nodeId(owner.node), boot: bootId(owner.boot), account, epoch: epoch as Epoch, event, detail });
    };
    if (about === M1) told(about, "session_open", {});
    for (const { follower } of about === M1 ? CAST.followers.map(({ link: one }) => one) : [{ follower: about }]) told(follower, "plan", { master: M1, masterEpoch: this.#holdings.get(M1)?.epoch ?? null });
  }

  release(about: AccountId): void {
    const holding = this.#holdings.get(about);
    if (holding === undefined) return;
    this.disconnect(about);
    this.seenOwner(about, null, holding.epoch);
    this.#holdings.delete(about);
  }

  login(about: AccountId, { node, boot }: Owner, epoch: number): number {
    this.#connections += 1;
    this.#log.append({ kind: "login", account: about, connection: this.#connections, login: this.broker.account(about).login, channel: "session", client: `${node}/${boot}#${epoch}`, refused: null });
    return this.#connections;
  }

  disconnect(about: AccountId): void {
    this.#log.append({ kind: "disconnect", account: about, connection: this.#holdings.get(about)?.connection ?? 0, cause: "closed by the client" });
  }

  /** Time passes; nodes renew and copy meanwhile. */
  pass(ms: number): void {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs; this.nowMs += STEP_MS) {
      this.renew();
      for (const { link: one } of CAST.followers) this.#follow(one);
    }
  }

  /** The master opens something every 200 ms and holds each for HOLD_MS. */
  trade(ms: number): void {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs; ) {
      this.open();
      for (const [ticket, atMs] of this.#trades) if (this.nowMs >= atMs + HOLD_MS && !this.#kept.has(ticket)) this.close(ticket);
      this.pass(TRADE_MS);
    }
  }

  /** `keep`: until the end. */
  open({ keep = false } = {}): Ticket {
    const { left } = this.master.open({ symbol: EUR, side: "buy", volume: lots("0.10"), comment: "by hand" });
    if (left === null) throw new Error("the master was refused");
    this.#trades.set(left, this.nowMs);
    if (keep) this.#kept.add(left);
    return left;
  }

  close(ticket: Ticket): void {
    this.#gone.set(ticket, { openedMs: this.#trades.get(ticket) ?? 0, position: this.#position(ticket) });
    this.#trades.delete(ticket);
    this.master.close(ticket);
  }

  rest(): void {
    for (const ticket of [...this.#trades.keys()]) this.close(ticket);
    this.pass(SETTLE_MS + 4_000);
  }

  fault(...struck: readonly Owner[]): void {
    this.faultAtMs = this.nowMs;
    for (const owner of struck) this.tell(owner, "fault");
  }

  append(fact: BrokerLogFact): void {
    this.#log.append(fact);
  }

  /** An order, whoever has the account. @returns the ticket that stands */
  ask(about: AccountId, sender: Owner, epoch: number, order: Order, connection: number = this.login(about, sender, epoch)): Ticket | null {
    const requestN = this.broker.receive(about, order, { kind: "connection", connection, id: ++this.#asked }, epoch as Epoch);
    const { refusal, ticket, volume, price, left } = this.broker.execute(about, order, requestN);
    this.#log.append({ kind: "answer", account: about, requestN, ...resultCode(this.broker.account(about).platform, refusal), ticket, volume, price, notSent: null });
    return left ?? ticket;
  }

  openOrder(about: AccountId, masterTicket: Ticket): Order {
    const { magic: number } = CAST.followers.find(({ broker }) => broker.account === about)!.link;
    return { kind: "open", symbol: EUR, side: "buy", volume: lots("0.10"), priceLimit: null, stopLoss: null, takeProfit: null, magic: number, comment: `mc${masterTicket}` };
  }

  #follow(one: Link): void {
    const holding = this.#holdings.get(one.follower);
    const hears = this.#acts(this.#holdings.get(M1)) && this.#acts(holding);
    if (!hears || this.mute.has(one.follower) || holding?.owner === undefined || holding.owner === null) return;
    for (const [ticket, openedMs] of this.#trades) {
      if (this.#rows.has(`${one.id}/${ticket}`)) continue;
      // What was there before, or may have been, is opened late.
      const isNew = openedMs >= holding.readyMs && !isOlderThanUs(0, { monotonicMs: openedMs, sinceMs: holding.sinceMs });
      if (isNew || this.nowMs >= holding.readyMs + SETTLE_MS) this.#copy(one, ticket, holding);
    }
    for (const [ticket, { openedMs, position }] of this.#gone) {
      if (openedMs < holding.readyMs - 30_000) this.#gone.delete(ticket);
      if (this.#rows.has(`${one.id}/${ticket}`) || openedMs > holding.readyMs) continue;
      this.#rows.set(`${one.id}/${ticket}`, { link: one, row: { ...blankRow(one, position, this.nowMs), reason: "gone_before_copy" }, epoch: holding.epoch });
    }
    for (const told of this.#standing) if (told.link.follower === one.follower && !this.#trades.has(told.row.masterTicket)) this.#end(told, holding);
  }

  #acts(holding: Holding | undefined): boolean {
    return holding?.owner !== undefined && holding.owner !== null && this.node(holding.owner).acting && this.nowMs >= holding.readyMs;
  }

  #copy(one: Link, masterTicket: Ticket, { owner, epoch, connection }: Holding): void {
    const followerTicket = this.ask(one.follower, owner!, epoch, this.openOrder(one.follower, masterTicket), connection);
    const row: Pair = { ...blankRow(one, this.#position(masterTicket), this.nowMs), status: "Open", followerTicket, initialVolume: lots("0.10"), volume: lots("0.10"), openPrice: 108_500 as Points };
    const told: Told = { link: one, row, epoch };
    this.#rows.set(`${one.id}/${masterTicket}`, told);
    this.#standing.add(told);
    this.#say(told, owner!);
  }

  #position(ticket: Ticket): Position {
    return [...this.broker.positions(M1).values()].find((position) => position.ticket === ticket)!;
  }

  #end(told: Told, { owner, epoch, connection }: Holding): void {
    const { row, link: one } = told;
    this.ask(one.follower, owner!, epoch, { kind: "close", ticket: row.followerTicket!, symbol: EUR, volume: row.volume, part: false }, connection);
    this.#standing.delete(told);
    Object.assign(told, { epoch, row: { ...row, status: "Closed", volume: 0 as VolumeUnits, masterVolume: 0 as VolumeUnits, reason: "master_closed", changedAtMs: this.nowMs as WallMs } });
    this.#say(told, owner!);
  }

  #say({ row: pair, epoch }: Told, { boot }: Owner): void {
    if (!this.cutOff.has(boot)) this.said.push({ atMs: this.nowMs, event: { kind: "pair", follower: pair.follower, epoch: epoch as Epoch, n: ++this.#n, pair } });
  }

  /** A new owner says of all copies that stand what it found at the broker. */
  tellAgain(follower: AccountId, epoch: number): void {
    for (const told of this.#rows.values()) {
      if (told.link.follower !== follower || told.row.status !== "Open") continue;
      told.epoch = epoch;
      this.#say(told, N2);
    }
  }

  record(drill: string, expects: Partial<Expectations>, more: Partial<DrillRecord> = {}): DrillRecord {
    return {
      drill,
      profile: "fast",
      lease: FAST,
      settleMs: SETTLE_MS,
      callMs: 1_500,
      clockOffsetMs: OFFSET_MS,
      round: 1,
      rounds: 1,
      expects: { ...SILENT, ...expects },
      fromMs: 1_700_000_000_000,
      faultAtMs: this.faultAtMs,
      healAtMs: this.healAtMs,
      endAtMs: this.nowMs,
      struck: [N1],
      troupes: [{ cast: CAST, log: this.sink.entries, rows: [...this.#rows.values()].map(({ row, epoch }, index) => ({ epoch: epoch as Epoch, n: index + 1, pair: row })) }],
      leases: this.leases,
      owners: this.owners,
      said: this.said,
      timeline: [...this.timeline].sort((a, b) => a.atMs - b.atMs),
      atEnd: [],
      ...more,
    };
  }
}

/** `rule account` of each violation, without repeats, sorted. */
export const rulesIn = ({ violations }: DrillReport): string[] => [...new Set(violations.map(({ rule, follower }) => `${rule} ${follower ?? "-"}`))].sort();
export const rulesOf = (record: DrillRecord): string[] => rulesIn(judge(record));
