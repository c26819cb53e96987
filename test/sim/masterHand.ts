// Owns a random hand at a master's broker, and the memory of which first ticket each trade has: the
// identity that copies must show, through all of MetaTrader 4's new tickets.

import type { Ticket } from "../../protocol/ids.ts";
import type { Random } from "../../protocol/ports/clock.ts";
import type { PendingOrder, Position, Side } from "../../protocol/trades.ts";
import type { Points } from "../../protocol/units.ts";
import { EURUSD, lots } from "./cell.ts";
import type { ModelBroker } from "./modelBroker.ts";

export class MasterHand {
  readonly #broker: ModelBroker;
  readonly #random: Random;
  /** By the comment a trade was born with, which is its own. */
  readonly #firstTickets = new Map<string, Ticket>();

  constructor(broker: ModelBroker, random: Random) {
    this.#broker = broker;
    this.#random = random;
  }

  /** The first ticket of what stands now. */
  firstTicket(trade: Position | PendingOrder): Ticket {
    const ticket = this.#firstTickets.get(this.#broker.bornAs.get(trade.ticket) ?? "");
    if (ticket === undefined) throw new Error(`no first ticket of ${trade.ticket}`);
    return ticket;
  }

  /** What stands now, by first ticket. */
  standing(): Map<Ticket, Position | PendingOrder> {
    return new Map([...this.#broker.positions.values(), ...this.#broker.pendings.values()].map((trade) => [this.firstTicket(trade), trade]));
  }

  act(): void {
    const { positions, pendings } = this.#broker;
    const position = this.#oneOf([...positions.values()]);
    const pending = this.#oneOf([...pendings.values()]);
    const dice = this.#random.next();
    if (position !== null && dice < 0.2) {
      const { stopLoss, takeProfit } = this.#stops(position.side);
      this.#broker.modify(position.ticket, stopLoss, takeProfit);
    } else if (position !== null && dice < 0.35 && position.volume > lots(0.1)) this.#broker.close(position.ticket, "manual", lots(0.1));
    else if (position !== null && dice < 0.55) this.#broker.close(position.ticket, dice < 0.5 ? "manual" : "stop_loss");
    else if (pending !== null && dice < 0.65) this.#broker.change(pending.ticket, (109_000 + Math.floor(this.#random.next() * 500)) as Points, null, this.#level(1_000));
    else if (pending !== null && dice < 0.72) this.#broker.fill(pending.ticket);
    else if (pending !== null && dice < 0.78) this.#broker.remove(pending.ticket, "cancelled");
    else this.#begin(dice < 0.9);
  }

  #begin(atMarket: boolean): void {
    const comment = `trade ${this.#firstTickets.size}`;
    const side = this.#random.next() < 0.5 ? "buy" : "sell";
    const volume = lots((1 + Math.floor(this.#random.next() * 5)) / 10);
    const trade = atMarket
      ? this.#broker.open({ symbol: EURUSD, side, volume, comment, ...this.#stops(side) })
      : this.#broker.place({ symbol: EURUSD, kind: "buy_limit", volume, price: 109_500 as Points, comment, ...this.#stops("buy") });
    this.#firstTickets.set(comment, trade.ticket);
  }

  /** Far enough from the market that no broker refuses them. */
  #stops(side: Side): { readonly stopLoss: Points | null; readonly takeProfit: Points | null } {
    const away = side === "buy" ? 1_000 : -1_000;
    return { stopLoss: this.#level(-away), takeProfit: this.#level(away) };
  }

  #level(around: number): Points | null {
    return this.#random.next() < 0.3 ? null : ((110_000 + around + Math.floor(this.#random.next() * 100)) as Points);
  }

  #oneOf<T>(values: readonly T[]): T | null {
    return values[Math.floor(this.#random.next() * values.length)] ?? null;
  }
}
