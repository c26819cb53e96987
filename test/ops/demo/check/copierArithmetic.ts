// Owns what the copier of the checker's tests computes: in floats, and with symbols found by instrument,
// so that the checker's ways are not tested by themselves.

import type { Magic, Ticket } from "../../../../protocol/ids.ts";
import type { PendingOrder, Position } from "../../../../protocol/trades.ts";
import type { Points, VolumeUnits } from "../../../../protocol/units.ts";
import type { BrokerSymbol } from "../../../../ops/broker/accounts.ts";
import type { Follower } from "../../../../ops/demo/cast.ts";

export const tagOf = ({ link }: Follower, masterTicket: Ticket): { readonly magic: Magic; readonly comment: string } => ({ magic: link.magic, comment: `mc${masterTicket}` });

/** The cast names instruments by the master's symbols. */
export const symbolOf = ({ broker }: Follower, masterSymbol: string): BrokerSymbol | null => broker.symbols.find(({ instrument }) => instrument === masterSymbol) ?? null;

export const down = (volume: number, step: number): number => Math.floor(volume / step + 1e-9) * step;

/** 0: below the minimum. In this cast the minimum is a step. */
export function sizeOf(master: VolumeUnits, { link }: Follower, symbol: BrokerSymbol): number {
  const { sizing } = link.settings;
  return down(sizing.mode === "fixed" ? sizing.volume : master * (sizing.factorMillionths / 1e6), symbol.volumeStep);
}

export const scaled = (price: number, from: number, to: number): Points => Math.round(price / 10 ** (from - to)) as Points;

export function stopsIn({ stopLoss, takeProfit, digits }: Position | PendingOrder, to: number) {
  return { stopLoss: stopLoss === null ? null : scaled(stopLoss, digits, to), takeProfit: takeProfit === null ? null : scaled(takeProfit, digits, to) };
}
