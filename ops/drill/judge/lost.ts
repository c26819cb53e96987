// Owns what the log never heard of: orders that a struck boot sent, that its broker executed, and whose outcome is in no event
// of that boot's own epoch; how old the oldest of them was when the fault came, and how many the new owner found by their tag.
//
// 1. An event is about its pair, of the order's own epoch, and was made after the order came to the broker. An opening has to name the
//    ticket: `Sending` alone says that nobody knows.
// 2. An outcome is as old as its answer. One whose answer was not sent before the fault was known to nobody: then it is the order
//    itself that could have been told, and if that was, nothing is missing that anybody knew.
// 3. Adopted by tag: an event of a higher epoch names the ticket.

import type { Violation } from "../../demo/check/checkDemo.ts";
import type { Copy } from "../../demo/check/cases.ts";
import { firstTicketOf, type Request, type Trade } from "../../demo/check/history.ts";
import type { BrokerLogEntry } from "../../broker/log.ts";
import type { LinkId, Ticket } from "../../../protocol/ids.ts";
import type { PairEvent } from "../../../protocol/pairs.ts";
import type { DrillRecord } from "../record.ts";
import { copyOf, isStruck, notJudged, violation, wallMs, type Evidence, type FollowerEvidence, type SentOrder } from "./evidence.ts";

/** Between the clocks of a broker and a node on one machine. */
const CLOCKS_MS = 50;

export interface Lost {
  readonly events: number;
  readonly oldestMs: number;
  readonly adoptedByTag: number;
  readonly violations: readonly Violation[];
}

type Told = Extract<PairEvent, { kind: "pair" }>;

interface Missing {
  readonly ageMs: number;
  readonly isAdopted: boolean;
}

export function lostOf(evidence: Evidence): Lost {
  const { record } = evidence;
  const limitMs = record.expects.lostOldestMs;
  const told = toldOf(record);
  const executed = new Set(evidence.troupes.flatMap(({ troupe: { cast, log } }) => executedBy(log).map((n) => `${cast.master.account} ${n}`)));
  const sent = evidence.followers.flatMap((follower) => follower.orders.filter((order) => isBefore(evidence, follower, order) && executed.has(`${follower.master} ${order.n}`)).map((order) => ({ follower, order })));
  const missing = sent.flatMap(({ follower, order }) => missingOf(evidence, follower, order, told) ?? []);
  const oldestMs = Math.round(Math.max(0, ...missing.map(({ ageMs }) => ageMs)));
  const violations =
    limitMs === null
      ? []
      : [
          ...(record.said.length === 0 ? [notJudged("lost", "the log's pair events are not in the record")] : []),
          ...(sent.length === 0 ? [notJudged("lost", "no node that was struck had sent anything that was executed")] : []),
          // Whoever ends in order has said everything.
          ...(limitMs === 0 && missing.length > 0 ? [violation("lost", null, `the log lacks ${missing.length} events, and nothing had to be lost`)] : []),
          ...(oldestMs > limitMs ? [violation("lost-too-old", null, `the log lacks something that was ${oldestMs} ms old when the fault came, allowed are ${limitMs} ms`)] : []),
        ];
  return { events: missing.length, oldestMs, adoptedByTag: missing.filter(({ isAdopted }) => isAdopted).length, violations };
}

const tradeOn = (link: LinkId, masterTicket: Ticket): string => `${link}/${masterTicket}`;

/** By the trade they are about, in order. */
function toldOf({ said }: DrillRecord): ReadonlyMap<string, readonly Told[]> {
  const told = new Map<string, Told[]>();
  for (const { event } of said) {
    if (event.kind !== "pair") continue;
    const key = tradeOn(event.pair.link, event.pair.masterTicket);
    const ofTrade = told.get(key);
    if (ofTrade === undefined) told.set(key, [event]);
    else ofTrade.push(event);
  }
  return told;
}

/** The requests that brought something about. */
function executedBy(log: readonly BrokerLogEntry[]): number[] {
  return log.flatMap((entry) => ("causeN" in entry && entry.causeN !== null ? [entry.causeN] : []));
}

/** Of a boot that was struck, under the epoch at which it had the account then. */
function isBefore({ record, tenures }: Evidence, { id }: FollowerEvidence, { atMs, sender }: SentOrder): boolean {
  return sender !== null && isStruck(record, sender) && atMs >= record.fromMs && atMs < record.endAtMs && sender.epoch === tenures.at(id, record.faultAtMs)?.epoch;
}

function missingOf(evidence: Evidence, follower: FollowerEvidence, order: SentOrder, told: ReadonlyMap<string, readonly Told[]>): Missing | null {
  const { faultAtMs } = evidence.record;
  const copy = copyOf(follower, order.n);
  const request = follower.history.requests.get(order.n);
  if (copy === null || request === undefined) return null;
  const ofPair = told.get(tradeOn(follower.case.link.id, firstTicketOf(copy.master))) ?? [];
  const ofEpoch = ofPair.filter(({ epoch }) => epoch === order.sender?.epoch);
  const opened = openedBy(copy, order.n);
  const isTold = ofEpoch.some(({ pair }) => (opened === null ? pair.status !== "Sending" && pair.changedAtMs >= order.atMs - CLOCKS_MS : names(pair, opened))); // 1
  if (isTold) return null;
  const isAdopted = opened !== null && ofPair.some(({ epoch, pair }) => epoch > (order.sender?.epoch ?? 0) && names(pair, opened)); // 3
  return { ageMs: Math.max(0, faultAtMs - knownMs(evidence, order, request, ofEpoch)), isAdopted };
}

/** Since when the node knew what the log does not (2). */
function knownMs(evidence: Evidence, order: SentOrder, { answer }: Request, ofEpoch: readonly Told[]): number {
  const { faultAtMs } = evidence.record;
  const answeredMs = answer === null || answer.notSent !== null ? Infinity : wallMs(evidence, answer.atMs);
  if (answeredMs <= faultAtMs) return answeredMs;
  return ofEpoch.some(({ pair }) => pair.changedAtMs >= order.atMs - CLOCKS_MS || pair.status === "Sending") ? faultAtMs : order.atMs;
}

const openedBy = ({ lives }: Copy, n: number): Trade | null => lives.find(({ pending, position }) => (pending?.placed ?? position?.opened)?.causeN === n) ?? null;

const names = ({ followerTicket }: Told["pair"], { tickets }: Trade): boolean => followerTicket !== null && tickets.includes(followerTicket);
