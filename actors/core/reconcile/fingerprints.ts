// Owns what the copies of this link would look like without their comments: the last resort of
// identity, for brokers that rewrite or clear them.
//
// 1. A trade whose copy is not known is matched by what we would have sent for it: symbol, side,
//    volume, a price within the slippage, and an open time that follows the master's. Ages are
//    compared, since the two brokers' clocks are not.
// 2. Most copies are opened within seconds of their master's: what fits so is bound first, which tells alike trades
//    apart. Not while the barrier waits: a row that is still to come knows better. Nor by a snapshot that took its time: by so much
//    the clocks are read apart.

import { rescalePoints, type BrokerMs } from "../../../protocol/units.ts";
import { copyVolume } from "../sizing.ts";
import type { Fingerprint } from "./bind.ts";
import type { Pair } from "../../../protocol/pairs.ts";
import type { Target } from "../decide.ts";
import type { PlanInput } from "./input.ts";

/** Brokers count whole seconds, and two clocks are read. */
const CLOCK_SLACK_MS = 2_000;
/** A copy that was sent at once is open by then. */
const AT_ONCE_MS = 3_000;

type Grounds = Pick<PlanInput, "link" | "targets" | "snapshot" | "snapshotAgeMs" | "pairs" | "market" | "masterNowMs" | "barrier" | "limits">;

/** The prints of each pass, the stricter ones first (2). */
export function fingerprintsOf(input: Grounds): Fingerprint[][] {
  const prints = [...(input.targets ?? [])].flatMap(([masterTicket, target]) => {
    const pair = input.pairs.get(masterTicket)?.pair;
    // A pair that knows its ticket is found by it, an ended one is not looked for.
    const isLookedFor = pair === undefined || (pair.status === "Sending" && pair.followerTicket === null);
    return isLookedFor ? fingerprintOf(input, target, pair ?? null) : [];
  });
  return input.barrier === "waiting" || input.snapshotAgeMs > CLOCK_SLACK_MS ? [prints] : [prints.map(openedAtOnce), prints];
}

/** As it would be sent with the opening tick: sized by all that the master had. */
const openedAtOnce = (print: Fingerprint): Fingerprint => ({
  ...print,
  initialVolumes: print.initialVolumes.slice(0, 1),
  openedToMs: Math.min(print.openedToMs, print.openedFromMs + 2 * CLOCK_SLACK_MS + AT_ONCE_MS) as BrokerMs,
});

function fingerprintOf(input: Grounds, target: Target, pair: Pair | null): Fingerprint[] {
  const { masterNowMs, snapshot, link, limits } = input;
  const { symbol, spec } = input.market(target);
  if (target.kind !== "position" || masterNowMs === null || spec === null) return [];
  const { masterTicket, side, initialVolume, volume, openPrice, digits, openTimeMs } = target.position;
  // A late open was sized by what the master had left.
  const sized = [initialVolume, volume].map((held) => copyVolume(link.settings, held, spec)).flatMap((size) => (size.kind === "volume" ? [size.volume] : []));
  // When the master opened, on the follower's clock.
  const openedMs = snapshot.takenAtMs - (masterNowMs - openTimeMs);
  return [
    {
      masterTicket,
      symbol,
      side,
      initialVolumes: pair === null ? sized : [pair.initialVolume],
      openedFromMs: (openedMs - CLOCK_SLACK_MS) as BrokerMs,
      // Sent while it was fresh or to be opened late, executed within the settle time.
      openedToMs: (openedMs + Math.max(link.settings.ageLimitMs, link.settings.lateOpenMs) + limits.settleMs + CLOCK_SLACK_MS) as BrokerMs,
      openPrice: rescalePoints(openPrice, digits, spec.digits),
      tolerancePoints: link.settings.slippagePoints,
    },
  ];
}
