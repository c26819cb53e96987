// Owns the gate of a node in memory that all its threads share: the fence's state, the deadline on
// both clocks, and one epoch slot for each account that is held.
//
// 1. The gate is a comparison made at every use, never a flag that a timer sets: it is open while the
//    fence is lifted, both clocks stand before their deadlines and the slot holds the permit's epoch.
// 2. A refusal by a clock trips the fence, so that only a lift opens it again. The trip is a
//    compare-and-set on the state that was judged: it cannot close a lift that came meanwhile.
// 3. Every lift and trip raises the state, so a lift that was prepared before a trip does nothing.
// 4. One thread writes (the lease keeper's); the others only check, and trip by (2).
// 5. An empty slot holds 0, and no permit of epoch 0 passes.
// 6. Memory is used again, slot numbers are not: slots that are congruent by the number of places share one place, which
//    names the slot that has it. A call that waits under a former one finds another's name, whatever the epoch. The name
//    is written before the epoch and read after it: who reads the epoch of a later slot reads its name too.

import { LockstepError } from "../../protocol/errors.ts";
import type { Brand, Epoch } from "../../protocol/ids.ts";
import type { Permit } from "../../protocol/orders.ts";
import type { Gate, GateVerdict } from "../../protocol/ports/gate.ts";
import type { Moment } from "../core/leaseDeadline.ts";
import type { TimeSource } from "./hostClock.ts";

/** What the fence is at: even while tripped, odd while lifted; never the same twice. */
export type FenceState = Brand<bigint, "FenceState">;

const STATE = 0;
const MONOTONIC_NS = 1;
const WALL_MS = 2;
const FIRST_PLACE = 3;
/** Of a place: the epoch, and the slot that has it. */
const PLACE_CELLS = 2;
const NS_PER_MS = 1e6;

export class SharedGate implements Gate {
  readonly #cells: BigInt64Array;
  readonly #time: TimeSource;

  private constructor(buffer: SharedArrayBuffer, time: TimeSource) {
    this.#cells = new BigInt64Array(buffer);
    this.#time = time;
  }

  /** A tripped gate with room for `places` accounts at once. */
  static create(places: number, time: TimeSource): SharedGate {
    if (!Number.isInteger(places) || places < 1) throw new LockstepError("configuration", `gate places: expected a whole number from 1, got ${places}`);
    return new SharedGate(new SharedArrayBuffer((FIRST_PLACE + places * PLACE_CELLS) * BigInt64Array.BYTES_PER_ELEMENT), time);
  }

  /** The same gate in another thread. */
  static attach(buffer: SharedArrayBuffer, time: TimeSource): SharedGate {
    return new SharedGate(buffer, time);
  }

  get buffer(): SharedArrayBuffer {
    return this.#cells.buffer as SharedArrayBuffer;
  }

  get places(): number {
    return (this.#cells.length - FIRST_PLACE) / PLACE_CELLS;
  }

  check(permit: Permit): GateVerdict {
    const state = this.state();
    if (!isLifted(state)) return "closed";
    if (!this.#inTime()) {
      Atomics.compareExchange(this.#cells, STATE, state, state + 1n); // (2)
      return "clock";
    }
    return permit.epoch > 0 && this.#epoch(permit.slot) === BigInt(permit.epoch) ? "open" : "epoch"; // (5)
  }

  /** What a lift must have seen before it began to confirm its accounts. */
  state(): FenceState {
    return Atomics.load(this.#cells, STATE) as FenceState;
  }

  get lifted(): boolean {
    return isLifted(this.state());
  }

  /** It is open, in time, and was open without a break since it was `seen` so. */
  isStill(seen: FenceState): boolean {
    return isLifted(seen) && this.state() === seen && this.#inTime();
  }

  /** Until the gate closes by itself, on the clock that comes first; 0 while it is closed. */
  leftMs(): number {
    if (!this.lifted) return 0;
    const monotonicMs = Number(Atomics.load(this.#cells, MONOTONIC_NS)) / NS_PER_MS - this.#time.monotonicMs();
    const wallMs = Number(Atomics.load(this.#cells, WALL_MS)) - this.#time.wallMs();
    return Math.max(0, Math.min(monotonicMs, wallMs));
  }

  /** Opens the gate until the deadline. False, and nothing is changed: the fence is not as `seen` any more, or was never tripped. */
  lift(seen: FenceState, deadline: Moment): boolean {
    if (isLifted(seen) || this.state() !== seen) return false;
    // Before the state: whoever sees it lifted must see these deadlines. While tripped nobody reads them.
    this.#setDeadline(deadline);
    return Atomics.compareExchange(this.#cells, STATE, seen, seen + 1n) === seen; // (3)
  }

  /** Moves the deadline. False: the gate was tripped, or its old deadline had passed on either clock, which trips it. */
  extend(deadline: Moment): boolean {
    const state = this.state();
    if (!isLifted(state)) return false;
    if (!this.#inTime()) {
      this.trip();
      return false;
    }
    this.#setDeadline(deadline);
    // A host may have tripped it between the two lines above; a moved deadline opens nothing then.
    return this.state() === state;
  }

  /** Closes the gate for all threads. Tripping a tripped gate still makes a lift under way useless. */
  trip(): void {
    for (;;) {
      const state = this.state();
      if (Atomics.compareExchange(this.#cells, STATE, state, state + (isLifted(state) ? 1n : 2n)) === state) return; // (3)
    }
  }

  /**
   * The account of this slot is ours at this epoch. A slot that is new to its place takes it from the one before.
   * @throws LockstepError `invalid_value` for a slot that is none, or whose place is a later one's
   */
  setEpoch(slot: number, epoch: Epoch): void {
    if (!Number.isSafeInteger(slot) || slot < 0 || this.#slotAt(slot) > slot) throw new LockstepError("invalid_value", `gate slot: expected a whole number from 0, the newest of its place, got ${slot}`);
    const cell = this.#cellOf(slot);
    if (this.#slotAt(slot) !== BigInt(slot)) {
      Atomics.store(this.#cells, cell, 0n);
      Atomics.store(this.#cells, cell + 1, BigInt(slot)); // (6)
    }
    Atomics.store(this.#cells, cell, BigInt(epoch));
  }

  /** At forget and release: nothing passes for this account from now on. */
  clearSlot(slot: number): void {
    if (this.#slotAt(slot) === BigInt(slot)) Atomics.store(this.#cells, this.#cellOf(slot), 0n);
  }

  #inTime(): boolean {
    const monotonicMs = Number(Atomics.load(this.#cells, MONOTONIC_NS)) / NS_PER_MS;
    return this.#time.monotonicMs() < monotonicMs && this.#time.wallMs() < Number(Atomics.load(this.#cells, WALL_MS));
  }

  #setDeadline(deadline: Moment): void {
    // Rounded down: a deadline may come early, never late.
    Atomics.store(this.#cells, MONOTONIC_NS, BigInt(Math.floor(deadline.monotonicMs * NS_PER_MS)));
    Atomics.store(this.#cells, WALL_MS, BigInt(Math.floor(deadline.wallMs)));
  }

  /** Invariant 6: the epoch first. */
  #epoch(slot: number): bigint {
    if (!Number.isSafeInteger(slot) || slot < 0) return 0n;
    const epoch = Atomics.load(this.#cells, this.#cellOf(slot));
    return this.#slotAt(slot) === BigInt(slot) ? epoch : 0n;
  }

  /** The slot that has this one's place now. */
  #slotAt(slot: number): bigint {
    return Atomics.load(this.#cells, this.#cellOf(slot) + 1);
  }

  #cellOf(slot: number): number {
    return FIRST_PLACE + (slot % this.places) * PLACE_CELLS;
  }
}

const isLifted = (state: bigint): boolean => (state & 1n) === 1n;
