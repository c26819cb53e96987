// Owns the demo's chaos: what goes wrong at the brokers while the master trades, drawn from a seed.
// Everything it does is in the brokers' log, where the checker finds it.
//
// 1. The same seed and script give the same acts in the same scenes; what they meet depends on the
//    moment.
// 2. The followers' owners act too: by hand they close a copy, or a part of one.

import type { Ticket } from "../../protocol/ids.ts";
import type { Random } from "../../protocol/ports/clock.ts";
import type { Position, SymbolSpec } from "../../protocol/trades.ts";
import type { VolumeUnits } from "../../protocol/units.ts";
import type { BrokerServer } from "../broker/server.ts";
import type { Cast } from "./cast.ts";

/** A small seeded generator (mulberry32): a failure is a seed. */
export function chaosRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}

/** How likely something goes wrong in a scene. */
const PER_SCENE = 0.35;
const LATE_MS = 700;
/** Shorter than an account must be empty before that is believed. */
const UNSYNCED_MS = 400;

interface Victim {
  readonly server: BrokerServer;
  readonly account: Cast["master"]["account"];
  readonly symbols: readonly SymbolSpec[];
  readonly random: Random;
}

/** By how often they are drawn. */
const ACTS: readonly (readonly [weight: number, act: (victim: Victim) => void])[] = [
  [3, ({ server, account }) => server.faults.strike(account, { kind: "kick", text: "logged in from elsewhere" })],
  [3, ({ server, account }) => server.faults.strike(account, { kind: "cut" })],
  [4, ({ server, account }) => server.faults.arm(account, { kind: "lose_answer" })],
  [2, ({ server, account }) => server.faults.arm(account, { kind: "execute_late", afterMs: LATE_MS, answer: "time_out" })],
  [2, ({ server, account }) => server.faults.arm(account, { kind: "execute_late", afterMs: LATE_MS, answer: "none" })],
  [2, (victim) => reconnectTo(victim, "unsynced")],
  [2, (victim) => reconnectTo(victim, "empty")],
  [2, (victim) => onPosition(victim, ({ server, account }, { ticket }) => server.trader(account).close(ticket))],
  [3, (victim) => onHalf(victim, ({ server, account }, ticket, volume) => server.trader(account).partClose(ticket, volume))],
  [3, (victim) => onHalf(victim, ({ server, account }, ticket, volume) => server.broker.serverPartClose(account, ticket, volume))],
];

const WEIGHT = ACTS.reduce((sum, [weight]) => sum + weight, 0);

export class Chaos {
  readonly #server: BrokerServer;
  readonly #cast: Cast;
  readonly #random: Random;

  constructor(server: BrokerServer, cast: Cast, seed: number) {
    this.#server = server;
    this.#cast = cast;
    this.#random = chaosRandom(seed);
  }

  /** What goes wrong in the next scene, if anything. */
  act(): void {
    if (this.#random.next() >= PER_SCENE) return;
    const { broker } = this.#oneOf(this.#cast.followers);
    let drawn = this.#random.next() * WEIGHT;
    const [, act] = ACTS.find(([weight]) => (drawn -= weight) < 0) ?? this.#oneOf(ACTS);
    act({ server: this.#server, account: broker.account, symbols: broker.symbols, random: this.#random });
  }

  /** Nothing goes wrong any more: faults that have met no order are taken back. */
  end(): void {
    for (const { broker } of this.#cast.followers) this.#server.faults.disarm(broker.account);
  }

  #oneOf<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.next() * list.length)] as T;
  }
}

/** The session is cut, and the next login is shown too little for a while. */
function reconnectTo({ server, account }: Victim, kind: "unsynced" | "empty"): void {
  server.broker.setQuirk(account, { snapshots: { kind, forMs: UNSYNCED_MS } });
  server.faults.strike(account, { kind: "cut" });
}

function onPosition(victim: Victim, act: (victim: Victim, position: Position) => unknown): void {
  const positions = [...victim.server.broker.positions(victim.account).values()];
  const position = positions[Math.floor(victim.random.next() * positions.length)];
  if (position !== undefined) act(victim, position);
}

/** About half of a position, if its grid allows a part. */
function onHalf(victim: Victim, act: (victim: Victim, ticket: Ticket, volume: VolumeUnits) => unknown): void {
  onPosition(victim, (of, { ticket, symbol, volume }) => {
    const spec = of.symbols.find((candidate) => candidate.symbol === symbol);
    if (spec === undefined || volume < 2 * spec.volumeMin) return;
    const steps = Math.floor((volume / 2 - spec.volumeMin) / spec.volumeStep);
    act(of, ticket, (spec.volumeMin + steps * spec.volumeStep) as VolumeUnits);
  });
}
