// Owns a small copier for the checker's tests that keeps the rules, and can be told to break them.
// It finds symbols by instrument and computes in floats, so that the checker's ways are not tested
// by themselves.

import type { AccountId, Epoch, Magic, Ticket } from "../../../../protocol/ids.ts";
import type { Order } from "../../../../protocol/orders.ts";
import type { Pair } from "../../../../protocol/pairs.ts";
import type { PairRow } from "../../../../protocol/ports/storage.ts";
import type { ReasonCode } from "../../../../protocol/reasons.ts";
import type { AccountChange, PendingOrder, Position } from "../../../../protocol/trades.ts";
import type { Points, VolumeUnits, WallMs } from "../../../../protocol/units.ts";
import type { BrokerSymbol } from "../../../../ops/broker/accounts.ts";
import type { Follower } from "../../../../ops/demo/cast.ts";
import type { Copier, Theatre } from "./theatre.ts";

/** What becomes of an order on its way out: nothing, itself, something else, or several. */
export type Bend = (order: Order, follower: AccountId, masterTicket: Ticket) => readonly Order[];

interface Copied {
  readonly follower: Follower;
  readonly masterTicket: Ticket;
  row: Pair;
}

export class HonestCopier implements Copier {
  bend: Bend = (order) => [order];
  /** Followers that hear of nothing. */
  readonly deaf = new Set<AccountId>();
  readonly #theatre: Theatre;
  readonly #copied = new Map<string, Copied>();
  readonly #firstTicket = new Map<Ticket, Ticket>();
  readonly #initial = new Map<Ticket, VolumeUnits>();
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
    if (account === this.#theatre.cast.master.account) this.#news.push(...changes);
  }

  work(): void {
    const news = this.#news;
    this.#news = [];
    for (const change of news) this.#follow(change);
    for (const copied of this.#copied.values()) this.#settle(copied);
  }

  #follow(change: AccountChange): void {
    switch (change.kind) {
      case "position_opened": {
        const from = Number(/^from #(\d+)/.exec(change.position.comment)?.[1] ?? 0) as Ticket;
        const first = this.#firstTicket.get(from) ?? change.position.ticket;
        this.#firstTicket.set(change.position.ticket, first);
        if (first === change.position.ticket) this.#initial.set(first, change.position.volume);
        return first === change.position.ticket ? this.#open(change.position) : this.#share(first, change.position.volume);
      }
      case "pending_placed":
        this.#firstTicket.set(change.pending.ticket, change.pending.ticket);
        return this.#place(change.pending);
      case "position_closed":
        if (!change.closed.position.comment.startsWith("to #")) this.#end(change.closed.position.ticket);
        return;
      case "pending_removed":
        return this.#end(change.removed.pending.ticket);
      case "position_changed":
      case "pending_changed":
      case "pending_filled":
        return; // `work` looks at the master itself
    }
  }

  #each(masterTicket: Ticket, act: (copied: Copied) => void): void {
    for (const copied of this.#copied.values()) if (copied.masterTicket === masterTicket) act(copied);
  }

  #open(position: Position): void {
    for (const follower of this.#hearing()) {
      const symbol = symbolOf(follower, position.symbol);
      const volume = symbol === null ? 0 : sizeOf(position.volume, follower, symbol);
      const quote = this.#theatre.broker.quotes(follower.broker.account).find((one) => one.symbol === symbol?.symbol);
      const wanted = symbol === null ? 0 : scaled(position.openPrice, position.digits, symbol.digits);
      const against = position.side === "buy" ? (quote?.ask ?? 0) - wanted : wanted - (quote?.bid ?? 0);
      const isGone = ![...this.#theatre.broker.positions(this.#theatre.cast.master.account).keys()].some((ticket) => this.#firstTicket.get(ticket) === position.ticket || ticket === position.ticket);
      if (symbol === null) this.#skip(follower, position, "symbol_unknown");
      else if (volume === 0) this.#skip(follower, position, "volume_below_minimum");
      else if (isGone) this.#skip(follower, position, "gone_before_copy");
      else if (against > follower.link.settings.slippagePoints) this.#skip(follower, position, "price_moved");
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
    const { follower, masterTicket, row } = copied;
    if (row.status === "Skipped") return;
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
    if (standing === null) copied.row = { ...row, status: "Closed", volume: 0 as VolumeUnits, reason: "master_closed" };
    else copied.row = { ...row, holds: "side" in standing ? "position" : "pending", followerTicket: standing.ticket, volume: standing.volume, stopLoss: standing.stopLoss, takeProfit: standing.takeProfit };
  }

  #positionOf(follower: Follower, masterTicket: Ticket): Position | null {
    const row = this.#copied.get(`${follower.link.id}/${masterTicket}`)?.row;
    return this.#theatre.broker.positions(follower.broker.account).get((row?.followerTicket ?? 0) as Ticket) ?? null;
  }

  #pendingOf(follower: Follower, masterTicket: Ticket): PendingOrder | null {
    const row = this.#copied.get(`${follower.link.id}/${masterTicket}`)?.row;
    return this.#theatre.broker.pendings(follower.broker.account).get((row?.followerTicket ?? 0) as Ticket) ?? null;
  }

  #send(follower: Follower, masterTicket: Ticket, order: Order): void {
    for (const sent of this.bend(order, follower.broker.account, masterTicket)) {
      const { left } = this.#theatre.ask(follower.broker.account, sent);
      const copied = this.#copied.get(`${follower.link.id}/${masterTicket}`);
      if (left !== null && copied !== undefined) copied.row = { ...copied.row, followerTicket: left };
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
    const none = 0 as VolumeUnits;
    const side = "side" in master ? master.side : master.kind.startsWith("buy") ? "buy" : "sell";
    const row: Pair = {
      link: follower.link.id,
      masterTicket: master.ticket,
      opening: 1,
      master: follower.link.master,
      follower: follower.link.follower,
      status: "Skipped",
      holds: "position",
      symbol: master.symbol,
      digits: master.digits,
      side,
      followerTicket: null,
      initialVolume: none,
      volume: none,
      masterInitialVolume: master.volume,
      masterVolume: master.volume,
      openPrice: null,
      stopLoss: null,
      takeProfit: null,
      reason: null,
      detail: {},
      changedAtMs: this.#theatre.nowMs as WallMs,
      ...more,
    };
    this.#copied.set(`${follower.link.id}/${master.ticket}`, { follower, masterTicket: master.ticket, row });
  }

  #hearing(): Follower[] {
    return this.#theatre.cast.followers.filter(({ broker }) => !this.deaf.has(broker.account));
  }
}

const tagOf = ({ link }: Follower, masterTicket: Ticket): { readonly magic: Magic; readonly comment: string } => ({ magic: link.magic, comment: `mc${masterTicket}` });

/** The cast names instruments by the master's symbols. */
const symbolOf = ({ broker }: Follower, masterSymbol: string): BrokerSymbol | null => broker.symbols.find(({ instrument }) => instrument === masterSymbol) ?? null;

const down = (volume: number, step: number): number => Math.floor(volume / step + 1e-9) * step;

/** 0: below the minimum. In this cast the minimum is a step. */
function sizeOf(master: VolumeUnits, { link }: Follower, symbol: BrokerSymbol): number {
  const { sizing } = link.settings;
  return down(sizing.mode === "fixed" ? sizing.volume : master * (sizing.factorMillionths / 1e6), symbol.volumeStep);
}

const scaled = (price: number, from: number, to: number): Points => Math.round(price / 10 ** (from - to)) as Points;

function stopsIn({ stopLoss, takeProfit, digits }: Position | PendingOrder, to: number) {
  return { stopLoss: stopLoss === null ? null : scaled(stopLoss, digits, to), takeProfit: takeProfit === null ? null : scaled(takeProfit, digits, to) };
}
