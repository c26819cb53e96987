// Owns the tests of the gate in shared memory.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { Moment } from "../../../actors/core/leaseDeadline.ts";
import { SharedGate } from "../../../actors/executor/sharedGate.ts";
import { isLockstepError } from "../../../protocol/errors.ts";
import type { Epoch } from "../../../protocol/ids.ts";

const EPOCH = 7 as Epoch;
const PERMIT = { slot: 1, epoch: EPOCH };
const IN_A_SECOND: Moment = { monotonicMs: 1_000, wallMs: 5_001_000 };

/** A gate with one account, at a time that the test sets. */
function gateAt() {
  const time = { monotonic: 0, wall: 5_000_000, onRead: () => undefined as void };
  const gate = SharedGate.create(4, {
    monotonicMs: () => {
      time.onRead();
      return time.monotonic;
    },
    wallMs: () => time.wall,
  });
  gate.setEpoch(PERMIT.slot, EPOCH);
  return { gate, time };
}

function lifted() {
  const made = gateAt();
  assert.ok(made.gate.lift(made.gate.state(), IN_A_SECOND));
  return made;
}

describe("the gate", () => {
  test("starts closed: a node starts fenced", () => {
    assert.equal(gateAt().gate.check(PERMIT), "closed");
  });

  test("is open after a lift, and closed after a trip", () => {
    const { gate } = lifted();
    assert.equal(gate.check(PERMIT), "open");
    gate.trip();
    assert.equal(gate.check(PERMIT), "closed");
  });

  test("refuses at the deadline of the monotonic clock", () => {
    const { gate, time } = lifted();
    time.monotonic = 999.9;
    assert.equal(gate.check(PERMIT), "open");
    time.monotonic = 1_000;
    assert.equal(gate.check(PERMIT), "clock");
  });

  test("refuses at the deadline of the wall clock, although the monotonic one stood still in a suspend", () => {
    const { gate, time } = lifted();
    time.wall = 5_001_000;
    assert.equal(gate.check(PERMIT), "clock");
  });

  test("a refusal by comparison trips it: clocks that go back do not open it, a lift does", () => {
    const { gate, time } = lifted();
    time.wall = 5_002_000;
    assert.equal(gate.check(PERMIT), "clock");
    time.wall = 5_000_000;
    assert.equal(gate.check(PERMIT), "closed");
    assert.ok(gate.lift(gate.state(), IN_A_SECOND));
    assert.equal(gate.check(PERMIT), "open");
  });

  test("a refusal that was judged before a new lift does not close that lift", () => {
    const { gate, time } = lifted();
    time.monotonic = 2_000;
    time.onRead = () => {
      // Between the reading of the state and the comparison the keeper trips and lifts again.
      time.onRead = () => undefined;
      gate.trip();
      assert.ok(gate.lift(gate.state(), IN_A_SECOND));
    };
    assert.equal(gate.check(PERMIT), "clock");
    time.monotonic = 0;
    assert.equal(gate.check(PERMIT), "open");
  });

  test("a lift that was prepared before a trip does nothing, also when the gate was closed all the time", () => {
    const { gate } = gateAt();
    const seen = gate.state();
    gate.trip();
    assert.equal(gate.lift(seen, IN_A_SECOND), false);
    assert.equal(gate.check(PERMIT), "closed");
  });

  test("a lift whose window has closed meanwhile trips again at its first use", () => {
    const { gate, time } = gateAt();
    time.monotonic = 3_000;
    assert.ok(gate.lift(gate.state(), IN_A_SECOND));
    assert.equal(gate.check(PERMIT), "clock");
    assert.equal(gate.lifted, false);
  });

  test("an extension holds only while the old deadline does; a late one trips", () => {
    const { gate, time } = lifted();
    time.monotonic = 900;
    assert.ok(gate.extend({ monotonicMs: 2_000, wallMs: 5_002_000 }));
    time.monotonic = 1_500;
    assert.equal(gate.check(PERMIT), "open");
    time.monotonic = 2_500;
    assert.equal(gate.extend({ monotonicMs: 9_000, wallMs: 5_009_000 }), false);
    assert.equal(gate.check(PERMIT), "closed");
  });

  test("an extension of a tripped gate opens nothing", () => {
    const { gate } = lifted();
    gate.trip();
    assert.equal(gate.extend({ monotonicMs: 9_000, wallMs: 5_009_000 }), false);
    assert.equal(gate.check(PERMIT), "closed");
  });
});

describe("what is known of the gate", () => {
  test("what is left is what the clock that comes first leaves; nothing is while it is closed", () => {
    const { gate, time } = lifted();
    time.monotonic = 400;
    assert.equal(gate.leftMs(), 600);
    time.wall = 5_000_700;
    assert.equal(gate.leftMs(), 300);
    time.wall = 5_003_000;
    assert.equal(gate.leftMs(), 0);
    time.wall = 5_000_000;
    assert.equal(gate.leftMs(), 600);
    gate.trip();
    assert.equal(gate.leftMs(), 0);
  });

  test("it is still as it was seen only while it is open, in time, and was open without a break", () => {
    const { gate, time } = lifted();
    const seen = gate.state();
    assert.equal(gate.isStill(seen), true);
    time.wall = 5_001_000;
    assert.equal(gate.isStill(seen), false, "out of time");
    time.wall = 5_000_000;
    gate.trip();
    assert.equal(gate.isStill(gate.state()), false, "closed");
    assert.ok(gate.lift(gate.state(), IN_A_SECOND));
    assert.equal(gate.isStill(seen), false, "opened again since");
  });

  test("a deadline between two readings of a clock comes early, never late", () => {
    const { gate, time } = gateAt();
    assert.ok(gate.lift(gate.state(), { monotonicMs: 1_000.0000005, wallMs: 6_000_000 }));
    time.monotonic = 1_000;
    assert.equal(gate.check(PERMIT), "clock");
    assert.ok(gate.lift(gate.state(), { monotonicMs: 2_000, wallMs: 5_001_000.5 }));
    time.wall = 5_001_000;
    assert.equal(gate.check(PERMIT), "clock");
  });

  test("a lift on a fence that is open is none, and gives no more time", () => {
    const { gate, time } = lifted();
    assert.equal(gate.lift(gate.state(), { monotonicMs: 9_000, wallMs: 5_009_000 }), false);
    assert.equal(gate.check(PERMIT), "open");
    time.monotonic = 1_000;
    assert.equal(gate.check(PERMIT), "clock");
  });
});

describe("another thread at the same time", () => {
  /** Another thread trips the gate while this one writes a deadline. */
  function trippedMeanwhile(t: TestContext, gate: SharedGate): void {
    const other = SharedGate.attach(gate.buffer, { monotonicMs: () => 0, wallMs: () => 0 });
    const write = t.mock.method(Atomics, "store", (cells: BigInt64Array, index: number, value: bigint) => {
      write.mock.restore();
      other.trip();
      return Atomics.store(cells, index, value);
    });
  }

  test("a trip while a lift writes its deadline: the lift opens nothing, and says so", (t) => {
    const { gate } = gateAt();
    trippedMeanwhile(t, gate);
    assert.equal(gate.lift(gate.state(), IN_A_SECOND), false);
    assert.equal(gate.check(PERMIT), "closed");
  });

  test("a trip while an extension writes its deadline: it does not hold, and says so", (t) => {
    const { gate } = lifted();
    trippedMeanwhile(t, gate);
    assert.equal(gate.extend({ monotonicMs: 2_000, wallMs: 5_002_000 }), false);
    assert.equal(gate.check(PERMIT), "closed");
  });
});

describe("the account's epoch slot", () => {
  test("refuses another epoch, an older one and a newer one", () => {
    const { gate } = lifted();
    assert.equal(gate.check({ slot: 1, epoch: 6 as Epoch }), "epoch");
    assert.equal(gate.check({ slot: 1, epoch: 8 as Epoch }), "epoch");
  });

  test("is zeroed at forget and release, and epoch 0 never passes", () => {
    const { gate } = lifted();
    gate.clearSlot(1);
    assert.equal(gate.check(PERMIT), "epoch");
    assert.equal(gate.check({ slot: 1, epoch: 0 as Epoch }), "epoch");
  });

  test("one account's slot says nothing of another's", () => {
    const { gate } = lifted();
    assert.equal(gate.check({ slot: 2, epoch: EPOCH }), "epoch");
  });

  test("refusing an epoch does not trip the fence of the others", () => {
    const { gate } = lifted();
    gate.check({ slot: 2, epoch: EPOCH });
    assert.equal(gate.check(PERMIT), "open");
  });

  test("holds epochs up to 2^53", () => {
    const { gate } = lifted();
    const highest = Number.MAX_SAFE_INTEGER as Epoch;
    gate.setEpoch(3, highest);
    assert.equal(gate.check({ slot: 3, epoch: highest }), "open");
    assert.equal(gate.check({ slot: 3, epoch: (Number.MAX_SAFE_INTEGER - 1) as Epoch }), "epoch");
  });

  test("a slot that is none is refused by the check and by the writer", () => {
    const { gate } = lifted();
    for (const slot of [-1, 0.5, NaN, -3, Infinity]) {
      assert.equal(gate.check({ slot, epoch: EPOCH }), "epoch");
      assert.throws(() => gate.setEpoch(slot, EPOCH), (error) => isLockstepError(error, "invalid_value"));
    }
  });

  test("its place is used again: nothing passes under the slot before, whatever the epoch, and clearing that one clears nothing", () => {
    const { gate } = lifted();
    const next = { slot: PERMIT.slot + gate.places, epoch: EPOCH };
    assert.equal(gate.check(next), "epoch", "it has not been given yet");
    gate.setEpoch(next.slot, EPOCH);
    gate.clearSlot(PERMIT.slot);
    assert.deepEqual([gate.check(PERMIT), gate.check(next)], ["epoch", "open"]);
    assert.throws(() => gate.setEpoch(PERMIT.slot, EPOCH), (error) => isLockstepError(error, "invalid_value"));
    assert.equal(gate.check(next), "open");
  });

  test("its place goes to the next slot while a host compares: it reads the former epoch, or another's name, never the next one's epoch", (t) => {
    const load = Atomics.load.bind(Atomics) as (cells: BigInt64Array, index: number) => bigint;
    for (let before = 1; ; before++) {
      const { gate } = lifted();
      let loads = 0;
      let wasHeld = true;
      const mock = t.mock.method(Atomics, "load", (cells: BigInt64Array, index: number) => {
        if (++loads === before) {
          mock.mock.restore();
          gate.clearSlot(PERMIT.slot);
          wasHeld = false;
          gate.setEpoch(PERMIT.slot + gate.places, EPOCH);
        }
        return load(cells, index);
      });
      const verdict = gate.check(PERMIT);
      mock.mock.restore();
      if (loads < before) return assert.ok(before > 5, "each reading was tried");
      assert.deepEqual([wasHeld, verdict], [false, "epoch"], `before reading ${before}`);
    }
  });
});
