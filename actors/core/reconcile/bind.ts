// Owns identity: which of our copies at the broker belongs to which of the master's trades.
//
// 1. The ways in the order of their strength: the ticket a pair knows, the whole tag, and as a last
//    resort the fingerprint, which must point at one copy and one trade only.
// 2. A copy that is bound to one trade is no candidate for another.
// 3. Of several copies that name one trade the oldest is the copy, also where a pair knows another: so
//    everybody who looks keeps the same one. What else stands is an extra. A pending order never
//    takes the place of a position, and what has ended never that of a copy which a pair knows.

import type { Ticket } from "../../../protocol/ids.ts";
import { isLive, type Pair } from "../../../protocol/pairs.ts";
import type { BrokerMs, VolumeUnits } from "../../../protocol/units.ts";
import type { Side } from "../../../protocol/trades.ts";
import { first, note, type OwnCopy } from "./copies.ts";

export interface Binding {
  /** By master ticket. */
  readonly copyOf: ReadonlyMap<Ticket, OwnCopy>;
  /** Standing orders that name a trade which has another copy. */
  readonly extras: ReadonlyMap<Ticket, readonly OwnCopy[]>;
  /** Standing orders under our magic that no pair, tag, chain or fingerprint explains. */
  readonly unexplained: readonly OwnCopy[];
}

/** What a copy of a trade would look like, whatever its comment says. */
export interface Fingerprint {
  readonly masterTicket: Ticket;
  readonly symbol: Pair["symbol"];
  readonly side: Side;
  /** Any of these. */
  readonly initialVolumes: readonly VolumeUnits[];
  /** Follower's clock: not opened before the first nor after the second. */
  readonly openedFromMs: BrokerMs;
  readonly openedToMs: BrokerMs;
  readonly openPrice: number;
  /** How far against us it may be from `openPrice`, in points; a better price is as good. */
  readonly tolerancePoints: number;
}

/** @param passes fingerprints of trades whose copy may have lost its tag, in the order of their strength; consulted only for those that have no copy otherwise */
export function bind(copies: readonly OwnCopy[], pairs: Iterable<Pair>, passes: readonly (readonly Fingerprint[])[]): Binding {
  const free = new Set(copies);
  const copyOf = new Map<Ticket, OwnCopy>();
  bindByTicket(pairs, free, copyOf);
  const extras = bindByTag(free, copyOf);
  for (const fingerprints of passes) bindByFingerprint(fingerprints, free, copyOf);
  return { copyOf, extras, unexplained: [...free].filter((copy) => copy.standing !== null && copy.tag === null) };
}

function bindByTicket(pairs: Iterable<Pair>, free: Set<OwnCopy>, copyOf: Map<Ticket, OwnCopy>): void {
  const byTicket = new Map([...free].flatMap((copy) => copy.tickets.map((ticket) => [ticket, copy] as const)));
  // Live pairs first: an ended one may know a number that a live one has inherited.
  for (const pair of [...pairs].sort((a, b) => Number(isLive(b.status)) - Number(isLive(a.status)))) {
    const copy = pair.followerTicket === null ? undefined : byTicket.get(pair.followerTicket);
    if (copy === undefined || !free.delete(copy)) continue;
    copyOf.set(pair.masterTicket, copy);
  }
}

/** Invariant 3. */
function bindByTag(free: Set<OwnCopy>, copyOf: Map<Ticket, OwnCopy>): Map<Ticket, OwnCopy[]> {
  const extras = new Map<Ticket, OwnCopy[]>();
  for (const copy of [...free].sort((a, b) => first(a) - first(b))) {
    if (copy.tag === null) continue;
    free.delete(copy);
    const rival = copyOf.get(copy.tag);
    if (rival === undefined) copyOf.set(copy.tag, copy);
    else if (copy.standing === null) continue;
    else if (rival.standing?.kind === copy.standing.kind && first(copy) < first(rival)) {
      copyOf.set(copy.tag, copy);
      note(extras, copy.tag, rival);
    } else note(extras, copy.tag, copy);
  }
  return extras;
}

/** Invariant 1: an answer of "perhaps" is no answer. */
function bindByFingerprint(fingerprints: readonly Fingerprint[], free: Set<OwnCopy>, copyOf: Map<Ticket, OwnCopy>): void {
  const open = fingerprints.filter(({ masterTicket }) => !copyOf.has(masterTicket));
  const untagged = [...free].filter((copy) => copy.tag === null && copy.standing !== null);
  const found = open.map((print) => ({ print, copies: untagged.filter((copy) => matches(print, copy)) }));
  for (const { print, copies } of found) {
    const [copy] = copies;
    if (copies.length !== 1 || copy === undefined) continue;
    if (found.some((other) => other.print !== print && other.copies.includes(copy))) continue;
    free.delete(copy);
    copyOf.set(print.masterTicket, copy);
  }
}

function matches(print: Fingerprint, { standing, initialVolume, openedMs }: OwnCopy): boolean {
  if (standing?.kind !== "position") return false;
  const { symbol, side, openPrice } = standing.position;
  return (
    symbol === print.symbol &&
    side === print.side &&
    print.initialVolumes.includes(initialVolume) &&
    openedMs >= print.openedFromMs &&
    openedMs <= print.openedToMs &&
    (side === "buy" ? openPrice - print.openPrice : print.openPrice - openPrice) <= print.tolerancePoints
  );
}
