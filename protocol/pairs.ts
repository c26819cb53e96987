// Owns the pair (one copied trade) and the events that carry it to the writers.
//
// 1. A pair's id is (link, master ticket, opening counter); its version is (epoch, n), rising.
// 2. An event holds the whole row as it then was, so that every event is idempotent.
// 3. An ended pair is final, a skipped one for the owner that skipped it: a later one may decide otherwise.

import type { AccountId, Epoch, LinkId, SymbolName, Ticket } from "./ids.ts";
import type { ReasonCode, ReasonDetail } from "./reasons.ts";
import type { Side } from "./trades.ts";
import type { Points, VolumeUnits, WallMs } from "./units.ts";

/** `Sending`: asked, not settled. `Open`: a position or a pending order of ours stands. The rest are ended. */
export type PairStatus = "Sending" | "Open" | "Closed" | "Skipped" | "Superseded";

export interface Pair {
  readonly link: LinkId;
  readonly masterTicket: Ticket;
  /** 1 for the first opening of this master ticket on this link. */
  readonly opening: number;
  readonly master: AccountId;
  readonly follower: AccountId;
  readonly status: PairStatus;
  /** What stands at the follower's broker, or was asked for. */
  readonly holds: "position" | "pending";
  /** The follower's symbol; the master's where it has none. */
  readonly symbol: SymbolName;
  readonly digits: number;
  readonly side: Side;
  /** The current ticket; null until the broker named it. */
  readonly followerTicket: Ticket | null;
  /** What the copy was opened with, and what is still open of it. */
  readonly initialVolume: VolumeUnits;
  readonly volume: VolumeUnits;
  readonly masterInitialVolume: VolumeUnits;
  /** The master's volume that `volume` answers to. */
  readonly masterVolume: VolumeUnits;
  readonly openPrice: Points | null;
  /** What the broker holds now. */
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
  /** Why it was not copied, or has ended. On a live one: on whose word its end is under way, where that is a person's. */
  readonly reason: ReasonCode | null;
  readonly detail: ReasonDetail;
  readonly changedAtMs: WallMs;
}

export type PairEvent =
  | { readonly kind: "pair"; readonly follower: AccountId; readonly epoch: Epoch; readonly n: number; readonly pair: Pair }
  /** The new owner's marker: what an older epoch says after it is a zombie's. */
  | { readonly kind: "adopted"; readonly follower: AccountId; readonly epoch: Epoch; readonly n: number };

/** A person asked us to close it, and as far as is known it has not ended yet. */
export const isClosedOnRequest = ({ reason }: Pick<Pair, "reason">): boolean => reason === "closed_on_request";

export const isLive = (status: PairStatus): boolean => status === "Sending" || status === "Open";

/** A row's key as text: `link/masterTicket/opening`. */
export const pairKey = (pair: Pick<Pair, "link" | "masterTicket" | "opening">): string => `${pair.link}/${pair.masterTicket}/${pair.opening}`;
