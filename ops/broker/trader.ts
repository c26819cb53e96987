// Owns the trader's hand: the person at the terminal of one account. Everything is done at once
// and passes the same engine and log as an order over the network.
//
// 1. The person sees the terminal: an outcome names what stands afterwards, also after MT4's
//    part-close, whose answer does not.

import type { AccountId, Magic, SymbolName, Ticket } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { PendingKind, PendingOrder, Position, Quote, Side } from "../../protocol/trades.ts";
import { NO_VOLUME, type Points, type VolumeUnits } from "../../protocol/units.ts";
import type { Broker } from "./broker.ts";
import type { Outcome } from "./engine/orders.ts";
import { resultCode, type ResultCode } from "./engine/refusals.ts";
import type { Stops } from "./engine/validation.ts";
import type { BrokerLog } from "./log.ts";

/** `left`: the ticket that stands afterwards, null where nothing is left. */
export type TraderOutcome = Outcome & ResultCode;

interface NewTrade extends Partial<Stops> {
  readonly symbol: SymbolName;
  readonly volume: VolumeUnits;
  readonly magic?: Magic;
  readonly comment?: string;
}

export interface OpenRequest extends NewTrade {
  readonly side: Side;
  readonly priceLimit?: Points | null;
}

export interface PlaceRequest extends NewTrade {
  readonly pending: PendingKind;
  readonly price: Points;
}

/** A ticket that is not there has no symbol; the engine refuses it for the ticket. */
const NO_SYMBOL = "" as SymbolName;

export class Trader {
  readonly #broker: Broker;
  readonly #log: BrokerLog;
  readonly account: AccountId;

  /** @throws LockstepError `invalid_value` for an account the broker does not have */
  constructor(broker: Broker, log: BrokerLog, account: AccountId) {
    this.#broker = broker;
    this.#log = log;
    this.account = broker.account(account).account;
  }

  positions(): readonly Position[] {
    return [...this.#broker.positions(this.account).values()];
  }

  pendings(): readonly PendingOrder[] {
    return [...this.#broker.pendings(this.account).values()];
  }

  quote(symbol: SymbolName): Quote | null {
    return this.#broker.quotes(this.account).find((quote) => quote.symbol === symbol) ?? null;
  }

  open({ side, priceLimit = null, ...trade }: OpenRequest): TraderOutcome {
    return this.#ask({ kind: "open", side, priceLimit, ...resolved(trade) });
  }

  /** Closes all of a position. */
  close(ticket: Ticket): TraderOutcome {
    const position = this.#position(ticket);
    return this.#ask({ kind: "close", ticket, symbol: position?.symbol ?? NO_SYMBOL, volume: position?.volume ?? NO_VOLUME, part: false });
  }

  partClose(ticket: Ticket, volume: VolumeUnits): TraderOutcome {
    return this.#ask({ kind: "close", ticket, symbol: this.#position(ticket)?.symbol ?? NO_SYMBOL, volume, part: true });
  }

  modify(ticket: Ticket, { stopLoss, takeProfit }: Stops): TraderOutcome {
    return this.#ask({ kind: "modify", ticket, symbol: this.#position(ticket)?.symbol ?? NO_SYMBOL, stopLoss, takeProfit });
  }

  place({ pending, price, ...trade }: PlaceRequest): TraderOutcome {
    return this.#ask({ kind: "place", pending, price, ...resolved(trade) });
  }

  change(ticket: Ticket, price: Points, { stopLoss, takeProfit }: Stops): TraderOutcome {
    return this.#ask({ kind: "change", ticket, symbol: this.#pending(ticket)?.symbol ?? NO_SYMBOL, price, stopLoss, takeProfit });
  }

  cancel(ticket: Ticket): TraderOutcome {
    return this.#ask({ kind: "cancel", ticket, symbol: this.#pending(ticket)?.symbol ?? NO_SYMBOL });
  }

  #position(ticket: Ticket): Position | undefined {
    return this.#broker.positions(this.account).get(ticket);
  }

  #pending(ticket: Ticket): PendingOrder | undefined {
    return this.#broker.pendings(this.account).get(ticket);
  }

  #ask(order: Order): TraderOutcome {
    const requestN = this.#broker.receive(this.account, order, { kind: "trader" }, null);
    const outcome = this.#broker.execute(this.account, order, requestN);
    const result = resultCode(this.#broker.account(this.account).platform, outcome.refusal);
    const { ticket, volume, price } = outcome;
    this.#log.append({ kind: "answer", account: this.account, requestN, ...result, ticket, volume, price, notSent: null });
    return { ...outcome, ...result };
  }
}

function resolved({ symbol, volume, stopLoss = null, takeProfit = null, magic = 0 as Magic, comment = "" }: NewTrade): Required<NewTrade> {
  return { symbol, volume, stopLoss, takeProfit, magic, comment };
}
