// Owns how a batch of pair events is cut into statements, so that writing it is the same as
// writing its events one by one.
//
// 1. No layer holds two rows of one trade (link, master ticket): within a layer the order of rows
//    does not matter.
// 2. An `adopted` marker is in a later layer than every row of its follower before it, and rows after
//    it are in its layer or a later one. A layer's markers are written before its rows, so each
//    row meets the fence as it was at its place in the log.

import type { PairEvent } from "../protocol/pairs.ts";

export type PairRowEvent = Extract<PairEvent, { kind: "pair" }>;
export type AdoptedEvent = Extract<PairEvent, { kind: "adopted" }>;

export interface Layer {
  readonly markers: readonly AdoptedEvent[];
  readonly rows: readonly PairRowEvent[];
}

/** As few layers as the order allows: a copy that was sent, opened and closed within the batch makes three. */
export function layersOf(events: readonly PairEvent[]): readonly Layer[] {
  const layers: { markers: AdoptedEvent[]; rows: PairRowEvent[] }[] = [];
  const at = (depth: number): { markers: AdoptedEvent[]; rows: PairRowEvent[] } => (layers[depth] ??= { markers: [], rows: [] });
  /** The first layer free for the next row of a trade, and of a follower after its marker. */
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
      const { follower, link, masterTicket } = event.pair;
      const trade = `${link}/${masterTicket}`;
      const depth = Math.max(tradeFloor.get(trade) ?? 0, markerFloor.get(follower) ?? 0);
      at(depth).rows.push(event);
      tradeFloor.set(trade, depth + 1);
      followerDepth.set(follower, Math.max(followerDepth.get(follower) ?? 0, depth + 1));
    }
  }
  return layers;
}
