// Owns the tests of a demo's pace.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { pace } from "../../../ops/demo/pace.ts";
import type { Scene } from "../../../ops/demo/script.ts";

const scenesAt = (times: readonly number[]): Scene[] => times.map((atMs) => ({ atMs, steps: [] }));
const HOUR_MS = 3_600_000;
const statementTimes = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 90 * 24 * HOUR_MS })), { minLength: 1, maxLength: 5_000 }).map((times) => times.sort((a, b) => a - b));

describe("at the default speed", () => {
  test("any statement takes 20 to 40 seconds", () => {
    fc.assert(
      fc.property(statementTimes, (times) => {
        const last = pace(scenesAt(times), "default").at(-1) ?? 0;
        assert.ok(last >= 20_000 && last <= 40_000, `${last} ms`);
      }),
      { numRuns: 50 },
    );
  });

  test("scenes keep their order", () => {
    fc.assert(
      fc.property(statementTimes, (times) => {
        const offsets = pace(scenesAt(times), "default");
        assert.equal(offsets.length, times.length);
        assert.ok(offsets.every((offset, index) => offset >= (offsets[index - 1] ?? 0)));
      }),
      { numRuns: 50 },
    );
  });

  test("a night is no longer than half an hour", () => {
    const [start, evening, morning] = pace(scenesAt([0, HOUR_MS / 2, 12 * HOUR_MS]), "default");
    assert.equal(((morning ?? 0) - (evening ?? 0)).toFixed(6), ((evening ?? 0) - (start ?? 0)).toFixed(6));
  });

  test("takes as long as it is told to", () => {
    fc.assert(
      fc.property(statementTimes, fc.integer({ min: 5_000, max: 600_000 }), (times, lengthMs) => {
        const last = pace(scenesAt(times), "default", lengthMs).at(-1) ?? 0;
        assert.ok(Math.abs(last - lengthMs) < 1, `${last} ms instead of ${lengthMs}`);
      }),
      { numRuns: 50 },
    );
  });

  test("what happens in one moment is spread evenly", () => assert.deepEqual(pace(scenesAt([5, 5, 5, 5]), "default"), [7_000, 14_000, 21_000, 28_000]));
});

test("max waits for nothing", () => assert.deepEqual(pace(scenesAt([0, 1_000, HOUR_MS]), "max"), [0, 0, 0]));
test("a number is how many seconds of the statement go by in one", () => assert.deepEqual(pace(scenesAt([500, 1_500, 61_500]), 60), [0, 1_000 / 60, 61_000 / 60]));
