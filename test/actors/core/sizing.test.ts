// Owns the cases of volumes.

import { describe, test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { copyVolume, floorToGrid, remainingVolume, volumeToClose } from "../../../actors/core/sizing.ts";
import { DEFAULT_LINK_SETTINGS, type LinkSettings } from "../../../protocol/accounts.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";
import { lots, spec } from "./examples.ts";

const settings = (more: Partial<LinkSettings>): LinkSettings => ({ ...DEFAULT_LINK_SETTINGS, ...more });
const times = (factor: number): Partial<LinkSettings> => ({ sizing: { mode: "multiplier", factorMillionths: Math.round(factor * 1_000_000) } });
const volumeOf = (more: Partial<LinkSettings>, master: number, grid = spec()): number | string => {
  const sized = copyVolume(settings(more), lots(master), grid);
  return sized.kind === "volume" ? sized.volume : sized.reason;
};

describe("the volume of a new copy", () => {
  test("a multiplier is exact where floats are not: 0.07 times 1, 0.29 times 100", () => {
    assert.equal(volumeOf(times(1), 0.07), lots(0.07));
    assert.equal(volumeOf(times(100), 0.29), lots(29));
  });

  test("a product above 2^53 is exact, where floats are one unit off", () => {
    const master = 8_999_969_999_970 as VolumeUnits;
    const factorMillionths = 999_999_031;
    const finest = spec({ volumeMin: 1 as VolumeUnits, volumeStep: 1 as VolumeUnits, volumeMax: Number.MAX_SAFE_INTEGER as VolumeUnits });
    assert.equal(Math.floor((master * factorMillionths) / 1_000_000), 8_999_961_278_999_071);
    assert.deepEqual(copyVolume(settings({ sizing: { mode: "multiplier", factorMillionths } }), master, finest), { kind: "volume", volume: 8_999_961_278_999_070 });
  });

  test("a volume between two steps goes down", () => assert.equal(volumeOf(times(0.5), 0.05), lots(0.02)));
  test("a fixed volume does not depend on the master's", () => assert.equal(volumeOf({ sizing: { mode: "fixed", volume: lots(0.05) } }, 7), lots(0.05)));
  test("a grid that does not begin at a multiple of its step is counted from its minimum", () => {
    assert.equal(volumeOf(times(1), 0.35, spec({ volumeMin: lots(0.1), volumeStep: lots(0.2) })), lots(0.3));
  });
  test("below the minimum a trade is skipped, or copied with the minimum", () => {
    assert.equal(volumeOf({ ...times(0.1), belowMinimum: "skip" }, 0.05), "volume_below_minimum");
    assert.equal(volumeOf({ ...times(0.1), belowMinimum: "minimum" }, 0.05), lots(0.01));
  });
  test("above the maximum a trade is skipped, or copied with the maximum", () => {
    assert.equal(volumeOf({ aboveMaximum: "skip" }, 101), "volume_above_maximum");
    assert.equal(volumeOf({ aboveMaximum: "maximum" }, 101), lots(100));
  });
  test("a skip says the numbers that decided it", () => {
    const sized = copyVolume(settings({ ...times(0.1), belowMinimum: "skip" }), lots(0.05), spec());
    assert.deepEqual(sized.kind === "skip" ? sized.detail : null, { wantedLots: "0.005", minimumLots: "0.01", maximumLots: "100.00" });
  });
});

describe("what a part-close closes", () => {
  const share = (initial: number, masterInitial: number, master: number) => ({ initialVolume: lots(initial), masterInitialVolume: lots(masterInitial), masterVolume: lots(master) });

  test("the master's share of the copy's initial volume", () => assert.equal(volumeToClose(share(0.5, 1, 0.6), lots(0.5), spec(), "keep"), lots(0.2)));
  test("shares are not chained: thirds of 0.10 leave 0.06 and 0.03, not 0.06 and 0.02", () => {
    assert.equal(remainingVolume(share(0.1, 0.3, 0.2), spec(), "keep"), lots(0.06));
    assert.equal(volumeToClose(share(0.1, 0.3, 0.1), lots(0.06), spec(), "keep"), lots(0.03));
  });
  test("while the master holds anything the copy keeps its minimum", () => {
    assert.equal(remainingVolume(share(0.02, 1, 0.01), spec(), "keep"), lots(0.01));
    assert.equal(volumeToClose(share(0.01, 1, 0.5), lots(0.01), spec(), "keep"), 0);
  });
  test("a part below the minimum is left standing, and closed with the next part", () => {
    const coarse = spec({ volumeMin: lots(0.1), volumeStep: lots(0.05) });
    assert.equal(volumeToClose(share(0.5, 1, 0.9), lots(0.5), coarse, "keep"), 0);
    assert.equal(volumeToClose(share(0.5, 1, 0.7), lots(0.5), coarse, "keep"), lots(0.15));
  });
  test("nothing is closed when the master's volume grew", () => assert.equal(volumeToClose(share(0.5, 1, 1.2), lots(0.5), spec(), "keep"), 0));
  test("a share below the minimum is closed whole where residues are not kept, and no other is touched by that", () => {
    assert.equal(volumeToClose(share(0.01, 1, 0.5), lots(0.01), spec(), "close"), lots(0.01));
    assert.equal(volumeToClose(share(0.5, 1, 0.6), lots(0.5), spec(), "close"), lots(0.2));
  });
  test("all is closed when the master holds nothing", () => assert.equal(volumeToClose(share(0.5, 1, 0), lots(0.3), spec(), "keep"), lots(0.3)));
});

describe("for any grid, factor and volumes", () => {
  const grid = fc.record({ min: fc.integer({ min: 1, max: 50 }), step: fc.integer({ min: 1, max: 30 }), steps: fc.integer({ min: 0, max: 500 }) }).map(({ min, step, steps }) => {
    const unit = lots(0.01);
    return spec({ volumeMin: (min * unit) as VolumeUnits, volumeStep: (step * unit) as VolumeUnits, volumeMax: ((min + step * steps) * unit) as VolumeUnits });
  });
  const volume = fc.integer({ min: 1, max: 20_000 }).map((hundredths) => (hundredths * lots(0.01)) as VolumeUnits);
  const onGrid = (value: number, { volumeMin, volumeStep, volumeMax }: ReturnType<typeof spec>): boolean => value >= volumeMin && value <= volumeMax && (value - volumeMin) % volumeStep === 0;

  test("a copy's volume is on the grid, and not above what was wanted unless the minimum was asked for", () => {
    fc.assert(
      fc.property(grid, volume, fc.integer({ min: 1, max: 5_000_000 }), fc.constantFrom("skip", "minimum"), (on, master, factorMillionths, belowMinimum) => {
        const sized = copyVolume(settings({ sizing: { mode: "multiplier", factorMillionths }, belowMinimum }), master, on);
        if (sized.kind === "skip") return;
        assert.ok(onGrid(sized.volume, on));
        if (belowMinimum === "skip") assert.ok(BigInt(sized.volume) * 1_000_000n <= BigInt(master) * BigInt(factorMillionths));
      }),
    );
  });

  test("part-closes are on the grid, leave at least the share and the minimum, and end", () => {
    fc.assert(
      fc.property(grid, volume, volume, fc.double({ min: 0.001, max: 1, noNaN: true }), (on, wanted, masterInitialVolume, left) => {
        const initialVolume = floorToGrid(wanted, on);
        if (initialVolume === 0) return;
        const share = { initialVolume, masterInitialVolume, masterVolume: Math.max(1, Math.floor(masterInitialVolume * left)) as VolumeUnits };
        let rest = initialVolume;
        for (let part = volumeToClose(share, rest, on, "keep"); part !== 0; part = volumeToClose(share, rest, on, "keep")) {
          assert.ok(onGrid(part, on));
          rest = (rest - part) as VolumeUnits;
          assert.ok(rest >= on.volumeMin && rest >= remainingVolume(share, on, "keep"));
        }
        assert.ok(rest - remainingVolume(share, on, "keep") < on.volumeMin);
      }),
    );
  });
});
