// Owns how a batch of pair events is cut into statements, so that writing it is the same as
// writing its events one by one.
//
// 1. No layer holds two rows of one trade (link, master ticket), or two states of one account: within a layer
//    the order does not matter.
// 2. An `adopted` marker is in a later layer than every row of its follower before it, and rows after
//    it are in its layer or a later one. A layer's markers are written before its rows, so each
//    row meets the fence as it was at its place in the log.

import type { AccountStateEvent, OwnerEvent } from "../protocol/accountState.ts";
import type { PairEvent } from "../protocol/pairs.ts";

export type PairRowEvent = Extract<PairEvent, { kind: "pair" }>;
export type AdoptedEvent = Extract<PairEvent, { kind: "adopted" }>;

export interface Layer {
  readonly markers: readonly AdoptedEvent[];
  readonly rows: readonly PairRowEvent[];
  readonly states: readonly AccountStateEvent[];
}

/** While it is made. */
interface Making {
  readonly markers: AdoptedEvent[];
  readonly rows: PairRowEvent[];
  readonly states: AccountStateEvent[];
}

/** As few layers as the order allows: a copy that was sent, opened and closed within the batch makes three. */
export function layersOf(events: readonly OwnerEvent[]): readonly Layer[] {
  const layers: Making[] = [];
  const at = (depth: number): Making => (layers[depth] ??= { markers: [], rows: [], states: [] });
  /** The first layer free for the next row of a trade (or state of an account), and of a follower after its marker. */
  const tradeFloor = new Map<string, number>();
  const markerFloor = new Map<string, number>();
  /** One more than the deepest layer with a row of the follower. */
  const followerDepth = new Map<string, number>();

  for (const event of events) {
    if (event.kind === "adopted") {
      const depth = Math.max(followerDepth.get(event.follower) ?? 0, markerFloor.get(event.follower) ?? 0);
      at(depth).markers.push(event);
      markerFloor.set(event.follower, depth);
    } else {
      const follower = event.kind === "pair" ? event.pair.follower : event.follower;
      const trade = event.kind === "pair" ? `${event.pair.link}/${event.pair.masterTicket}` : follower;
      const depth = Math.max(tradeFloor.get(trade) ?? 0, markerFloor.get(follower) ?? 0);
      if (event.kind === "pair") at(depth).rows.push(event);
      else at(depth).states.push(event);
      tradeFloor.set(trade, depth + 1);
      followerDepth.set(follower, Math.max(followerDepth.get(follower) ?? 0, depth + 1));
    }
  }
  return layers;
}
