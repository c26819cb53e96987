// Owns a small copier for the checker's tests that keeps the rules, and can be told to break them.
// What was in the way of its work it makes up for: it looks at the broker, after an order of unknown
// outcome only when that must have settled.

import type { AccountId, Epoch, Ticket } from "../../../../protocol/ids.ts";
import type { Order } from "../../../../protocol/orders.ts";
import type { Pair } from "../../../../protocol/pairs.ts";
import type { PairRow } from "../../../../protocol/ports/storage.ts";
import type { ReasonCode } from "../../../../protocol/reasons.ts";
import type { AccountChange, PendingOrder, Position } from "../../../../protocol/trades.ts";
import type { VolumeUnits } from "../../../../protocol/units.ts";
import type { BrokerSymbol } from "../../../../ops/broker/accounts.ts";
import type { Follower } from "../../../../ops/demo/cast.ts";
import { blankRow } from "./copierRow.ts";
import { down, scaled, sizeOf, stopsIn, symbolOf, tagOf } from "./copierArithmetic.ts";
import { SETTLE_MS, type Copier, type Theatre } from "./theatre.ts";

/** What becomes of an order on its way out: nothing, itself, something else, or several. */
export type Bend = (order: Order, follower: AccountId, masterTicket: Ticket) => readonly Order[];

interface Copied {
  readonly follower: Follower;
  readonly masterTicket: Ticket;
  row: Pair;
}

const keyOf = ({ link }: Follower, masterTicket: Ticket): string => `${link.id}/${masterTicket}`;

export class HonestCopier implements Copier {
  bend: Bend = (order) => [order];
  /** Accounts of which nothing is heard: for a follower nothing is done then. */
  readonly deaf = new Set<AccountId>();
  /** Opens at the market what fills, where pendings are not copied. */
  opensFills = false;
  readonly #theatre: Theatre;
  readonly #copied = new Map<string, Copied>();
  readonly #firstTicket = new Map<Ticket, Ticket>();
  readonly #initial = new Map<Ticket, VolumeUnits>();
  readonly #known = new Map<Ticket, Position>();
  /** Trades with an order of unknown outcome, and when they may be looked at again. */
  readonly #unsettled = new Map<string, number>();
  #news: AccountChange[] = [];
  /** What stands of an opening that has no row yet. */
  #opened: Ticket | null = null;

  constructor(theatre: Theatre) {
    this.#theatre = theatre;
  }

  rows(): PairRow[] {
    return [...this.#copied.values()].map(({ row }, index) => ({ epoch: 1 as Epoch, n: index + 1, pair: row }));
  }

  heard(account: AccountId, changes: readonly AccountChange[]): void {
    if (account === this.#theatre.cast.master.account && !this.deaf.has(account)) this.#news.push(...changes);
  }

  work(): void {
    const news = this.#news;
    this.#news = [];
    for (const change of news) this.#follow(change);
    for (const [key, untilMs] of this.#unsettled) if (this.#theatre.nowMs >= untilMs) this.#look(key);
    for (const copied of this.#copied.values()) this.#settle(copied);
  }

  #follow(change: AccountChange): void {
    switch (change.kind) {
      case "position_opened": {
        const from = Number(/^from #(\d+)/.exec(change.position.comment)?.[1] ?? 0) as Ticket;
        const first = this.#firstTicket.get(from) ?? change.position.ticket;
        this.#firstTicket.set(change.position.ticket, first);
        if (first === change.position.ticket) this.#learn(change.position);
        return first === change.position.ticket ? this.#open(change.position, this.#hearing()) : this.#share(first, change.position.volume);
      }
      case "pending_placed":
        this.#firstTicket.set(change.pending.ticket, change.pending.ticket);
        return this.#place(change.pending);
      case "position_closed":
        if (!change.closed.position.comment.startsWith("to #")) this.#end(change.closed.position.ticket);
        return;
      case "pending_removed":
        return this.#end(change.removed.pending.ticket);
      case "pending_filled":
        this.#learn(change.position);
        if (this.opensFills) this.#open(change.position, this.#hearing().filter(({ link }) => !link.settings.copyPendings));
        return;
      case "position_changed":
        return this.#share(change.position.ticket, change.position.volume); // MT5
      case "pending_changed":
        return; // `work` looks at the master itself
    }
  }

  #each(masterTicket: Ticket, act: (copied: Copied) => void): void {
    for (const copied of this.#copied.values()) if (copied.masterTicket === masterTicket && copied.row.status === "Open" && this.#isFree(copied)) act(copied);
  }

  #isFree({ follower, masterTicket }: Pick<Copied, "follower" | "masterTicket">): boolean {
    return !this.deaf.has(follower.broker.account) && !this.#unsettled.has(keyOf(follower, masterTicket));
  }

  #learn(position: Position): void {
    this.#firstTicket.set(position.ticket, position.ticket);
    this.#initial.set(position.ticket, position.volume);
    this.#known.set(position.ticket, position);
  }

  /** Makes up for what was not heard, with what stands at the brokers now. */
  catchUp(accounts: readonly AccountId[]): void {
    const { broker, cast } = this.#theatre;
    const standing = new Map<Ticket, Position>();
    for (const position of broker.positions(cast.master.account).values()) {
      const from = Number(/^from #(\d+)/.exec(position.comment)?.[1] ?? position.ticket) as Ticket;
      const first = this.#firstTicket.get(position.ticket) ?? this.#firstTicket.get(from) ?? position.ticket;
      if (first === position.ticket && !this.#known.has(first)) this.#learn(position);
      this.#firstTicket.set(position.ticket, first);
      standing.set(first, position);
    }
    for (const follower of cast.followers.filter(({ broker: { account } }) => accounts.includes(account))) {
      for (const [first, opened] of this.#known) {
        const copied = this.#copied.get(keyOf(follower, first));
        const now = standing.get(first);
        if (!this.#isFree({ follower, masterTicket: first })) continue;
        if (copied === undefined) this.#open(opened, [follower], true);
        else if (now === undefined) this.#end(first);
        else this.#share(first, now.volume);
      }
    }
    this.work();
  }

  /** After an order of unknown outcome: what it left has our tag, or nothing of it is there. */
  #look(key: string): void {
    this.#unsettled.delete(key);
    const { broker, cast } = this.#theatre;
    const follower = cast.followers.find(({ link }) => key.startsWith(`${link.id}/`));
    const masterTicket = Number(key.split("/")[1]) as Ticket;
    const master = this.#known.get(masterTicket);
    if (follower === undefined || master === undefined) return;
    const { magic, comment } = tagOf(follower, masterTicket);
    const ours = [...broker.positions(follower.broker.account).values()].find((position) => position.magic === magic && position.comment === comment);
    const symbol = symbolOf(follower, master.symbol);
    if (ours !== undefined && symbol !== null && !this.#copied.has(key)) {
      this.#opened = ours.ticket;
      this.#begin(follower, master, symbol, ours.volume, "position");
    }
    this.catchUp([follower.broker.account]);
  }

  #open(position: Position, followers: readonly Follower[], isLate = false): void {
    for (const follower of followers) {
      const symbol = symbolOf(follower, position.symbol);
      const volume = symbol === null ? 0 : sizeOf(position.volume, follower, symbol);
      const quote = this.#theatre.broker.quotes(follower.broker.account).find((one) => one.symbol === symbol?.symbol);
      const wanted = symbol === null ? 0 : scaled(position.openPrice, position.digits, symbol.digits);
      const against = position.side === "buy" ? (quote?.ask ?? 0) - wanted : wanted - (quote?.bid ?? 0);
      const isGone = ![...this.#theatre.broker.positions(this.#theatre.cast.master.account).keys()].some((ticket) => this.#firstTicket.get(ticket) === position.ticket || ticket === position.ticket);
      if (symbol === null) this.#skip(follower, position, "symbol_unknown");
      else if (volume === 0) this.#skip(follower, position, "volume_below_minimum");
      else if (isGone) this.#skip(follower, position, "gone_before_copy");
      else if (isLate && this.#theatre.nowMs - position.openTimeMs > follower.link.settings.lateOpenMs) this.#skip(follower, position, "too_old");
      else if (against > follower.link.settings.slippagePoints) this.#skip(follower, position, isLate ? "late_open_price_moved" : "price_moved");
      else {
        const trade = { symbol: symbol.symbol, volume: volume as VolumeUnits, stopLoss: null, takeProfit: null, ...tagOf(follower, position.ticket) };
        this.#send(follower, position.ticket, { kind: "open", side: position.side, priceLimit: null, ...trade });
        this.#begin(follower, position, symbol, volume as VolumeUnits, "position");
      }
    }
  }

  #place(pending: PendingOrder): void {
    for (const follower of this.#hearing()) {
      const symbol = symbolOf(follower, pending.symbol);
      const volume = symbol === null ? 0 : sizeOf(pending.volume, follower, symbol);
      if (symbol === null) this.#skip(follower, pending, "symbol_unknown");
      else if (!follower.link.settings.copyPendings) this.#skip(follower, pending, "pendings_off");
      else if (volume === 0) this.#skip(follower, pending, "volume_below_minimum");
      else if (!this.#theatre.broker.pendings(follower.link.master).has(pending.ticket)) this.#skip(follower, pending, "gone_before_copy");
      else {
        const trade = { symbol: symbol.symbol, volume: volume as VolumeUnits, stopLoss: null, takeProfit: null, ...tagOf(follower, pending.ticket) };
        this.#send(follower, pending.ticket, { kind: "place", pending: pending.kind, price: scaled(pending.price, pending.digits, symbol.digits), ...trade });
        this.#begin(follower, pending, symbol, volume as VolumeUnits, "pending");
      }
    }
  }

  #share(masterTicket: Ticket, masterVolume: VolumeUnits): void {
    this.#each(masterTicket, ({ follower, row }) => {
      const position = this.#positionOf(follower, masterTicket);
      const symbol = follower.broker.symbols.find((one) => one.symbol === position?.symbol);
      if (position === null || symbol === undefined) return;
      const share = (row.initialVolume * masterVolume) / (this.#initial.get(masterTicket) ?? 1);
      const part = position.volume - Math.max(symbol.volumeMin, down(share, symbol.volumeStep));
      if (part >= symbol.volumeMin) this.#send(follower, masterTicket, { kind: "close", ticket: position.ticket, symbol: position.symbol, volume: part as VolumeUnits, part: true });
    });
  }

  #end(ticket: Ticket): void {
    const masterTicket = this.#firstTicket.get(ticket) ?? ticket;
    this.#each(masterTicket, ({ follower }) => {
      const position = this.#positionOf(follower, masterTicket);
      if (position !== null) this.#send(follower, masterTicket, { kind: "close", ticket: position.ticket, symbol: position.symbol, volume: position.volume, part: false });
      const pending = this.#pendingOf(follower, masterTicket);
      if (pending !== null) this.#send(follower, masterTicket, { kind: "cancel", ticket: pending.ticket, symbol: pending.symbol });
    });
  }

  /** Brings stops and pending prices up to the master's, asking again as long as they are refused; then notes how it stands. */
  #settle(copied: Copied): void {
    const { follower, masterTicket } = copied;
    if (copied.row.status !== "Open" || !this.#isFree(copied)) return;
    this.#rename(copied);
    const { broker, cast } = this.#theatre;
    const position = this.#positionOf(follower, masterTicket);
    const held = [...broker.positions(cast.master.account).values()].find(({ ticket }) => this.#firstTicket.get(ticket) === masterTicket);
    if (position !== null && held !== undefined) {
      const stops = stopsIn(held, position.digits);
      const isRight = stops.stopLoss === position.stopLoss && stops.takeProfit === position.takeProfit;
      if (!isRight) this.#send(follower, masterTicket, { kind: "modify", ticket: position.ticket, symbol: position.symbol, ...stops });
    }
    const pending = this.#pendingOf(follower, masterTicket);
    const working = broker.pendings(cast.master.account).get(masterTicket);
    if (pending !== null && working !== undefined) {
      const price = scaled(working.price, working.digits, pending.digits);
      const stops = stopsIn(working, pending.digits);
      const isRight = price === pending.price && stops.stopLoss === pending.stopLoss && stops.takeProfit === pending.takeProfit;
      if (!isRight) this.#send(follower, masterTicket, { kind: "change", ticket: pending.ticket, symbol: pending.symbol, price, ...stops });
    }
    this.#note(copied);
  }

  #note(copied: Copied): void {
    const { follower, masterTicket, row } = copied;
    const standing = this.#positionOf(follower, masterTicket) ?? this.#pendingOf(follower, masterTicket);
    if (standing === null) copied.row = { ...row, status: "Closed", volume: 0 as VolumeUnits, reason: this.#reasonOf(copied) };
    else copied.row = { ...row, holds: "side" in standing ? "position" : "pending", followerTicket: standing.ticket, volume: standing.volume, stopLoss: standing.stopLoss, takeProfit: standing.takeProfit };
  }

  /** MT4's rest of a part-close that was not ours, or whose answer was lost. */
  #rename(copied: Copied): void {
    for (let isFound = true; isFound; ) {
      const rest = [...this.#theatre.broker.positions(copied.follower.broker.account).values()].find(({ comment }) => comment === `from #${copied.row.followerTicket}`);
      isFound = rest !== undefined;
      if (rest !== undefined) copied.row = { ...copied.row, followerTicket: rest.ticket };
    }
  }

  #reasonOf({ follower, row }: Copied): ReasonCode {
    const account = follower.broker.account;
    const closed = this.#theatre.broker.snapshot(account, 0 as never).closed.findLast(({ position }) => position.ticket === row.followerTicket);
    if (closed === undefined) return "master_cancelled";
    if (closed.reason !== "manual") return closed.reason;
    return this.#theatre.closedByRequest.has(closed.position.ticket) ? "master_closed" : "manual";
  }

  #positionOf(follower: Follower, masterTicket: Ticket): Position | null {
    const row = this.#copied.get(keyOf(follower, masterTicket))?.row;
    return this.#theatre.broker.positions(follower.broker.account).get((row?.followerTicket ?? 0) as Ticket) ?? null;
  }

  #pendingOf(follower: Follower, masterTicket: Ticket): PendingOrder | null {
    const row = this.#copied.get(keyOf(follower, masterTicket))?.row;
    return this.#theatre.broker.pendings(follower.broker.account).get((row?.followerTicket ?? 0) as Ticket) ?? null;
  }

  #send(follower: Follower, masterTicket: Ticket, order: Order): void {
    for (const sent of this.bend(order, follower.broker.account, masterTicket)) {
      const outcome = this.#theatre.ask(follower.broker.account, sent);
      if (outcome === "unknown") {
        this.#unsettled.set(keyOf(follower, masterTicket), this.#theatre.nowMs + SETTLE_MS);
        continue;
      }
      const { left } = outcome;
      const copied = this.#copied.get(keyOf(follower, masterTicket));
      if (left !== null && copied?.row.status === "Open") copied.row = { ...copied.row, followerTicket: left };
      else if (left !== null) this.#opened = left;
    }
  }

  /** After its opening was sent. One that did not come to stand leaves no row. */
  #begin(follower: Follower, master: Position | PendingOrder, symbol: BrokerSymbol, volume: VolumeUnits, holds: Pair["holds"]): void {
    const opened = this.#opened;
    this.#opened = null;
    if (opened === null) return;
    const standing = this.#theatre.broker.positions(follower.broker.account).get(opened) ?? this.#theatre.broker.pendings(follower.broker.account).get(opened);
    this.#write(follower, master, { status: "Open", holds, symbol: standing?.symbol ?? symbol.symbol, ...(standing !== undefined && "side" in standing ? { side: standing.side } : {}), digits: symbol.digits, followerTicket: opened, initialVolume: standing?.volume ?? volume, volume });
  }

  #skip(follower: Follower, master: Position | PendingOrder, reason: ReasonCode): void {
    this.#write(follower, master, { status: "Skipped", reason });
  }

  #write(follower: Follower, master: Position | PendingOrder, more: Partial<Pair>): void {
    const row: Pair = { ...blankRow(follower.link, master, this.#theatre.nowMs), ...more };
    this.#copied.set(keyOf(follower, master.ticket), { follower, masterTicket: master.ticket, row });
  }

  #hearing(): Follower[] {
    return this.#theatre.cast.followers.filter(({ broker }) => !this.deaf.has(broker.account));
  }
}
