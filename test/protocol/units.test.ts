// Owns the cases about volumes, prices and their decimal text.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { decimalToInteger, integerToDecimal, LOT, lotsText, pointsFromPrice, priceText, rescalePoints, volumeFromLots, type Points, type VolumeUnits } from "../../protocol/units.ts";

const digits = fc.integer({ min: 0, max: 8 });
const points = fc.integer({ min: 0, max: 1_000_000_000_000 }) as fc.Arbitrary<Points>;

describe("decimal text to whole numbers", () => {
  const read = [
    { text: "1.29307", digits: 5, value: 129_307 },
    { text: "0.07", digits: 8, value: 7_000_000 },
    { text: "113.5", digits: 3, value: 113_500 },
    { text: "42", digits: 2, value: 4_200 },
    { text: "42.", digits: 2, value: 4_200 },
    { text: "007.10", digits: 1, value: 71 },
    { text: "-12.50", digits: 2, value: -1_250 },
    { text: "-0", digits: 2, value: 0 },
    { text: "1.2000000000", digits: 1, value: 12 },
    { text: "90071992.54740991", digits: 8, value: Number.MAX_SAFE_INTEGER },
  ];
  for (const { text, digits: places, value } of read) {
    test(`${text} with ${places} digits is ${value}`, () => assert.ok(Object.is(decimalToInteger(text, places), value)));
  }

  for (const text of ["", " 1", "1 ", "1,5", "1e5", ".5", "+1", "--1", "0x10", "NaN", "1.2.3", "1 000"]) {
    test(`${JSON.stringify(text)} is no decimal`, () => assert.throws(() => decimalToInteger(text, 2), { code: "invalid_value" }));
  }

  test("a digit that does not fit is refused, never rounded away", () => {
    assert.throws(() => decimalToInteger("1.234", 2), { code: "invalid_value" });
    assert.throws(() => volumeFromLots("0.000000001"), { code: "invalid_value" });
  });

  test("a number above 2^53 is refused", () => {
    assert.throws(() => decimalToInteger("9007199254740993", 0), { code: "invalid_value" });
    assert.throws(() => volumeFromLots("90071992.54740992"), { code: "invalid_value" });
  });

  test("whole numbers go to text and back", () => {
    fc.assert(fc.property(fc.maxSafeInteger(), digits, (value, places) => Object.is(decimalToInteger(integerToDecimal(value, places), places), value)));
  });

  test("the text has exactly the asked digits", () => {
    fc.assert(
      fc.property(points, fc.integer({ min: 1, max: 8 }), (value, places) => {
        assert.equal(priceText(value, places).split(".")[1]?.length, places);
      }),
    );
    assert.equal(priceText(7 as Points, 5), "0.00007");
    assert.equal(priceText(7 as Points, 0), "7");
  });
});

describe("volumes", () => {
  test("0.07 lots are seven times 0.01 lots", () => {
    assert.equal(volumeFromLots("0.07") / volumeFromLots("0.01"), 7);
    assert.equal(volumeFromLots("1"), LOT);
  });

  const shown = [
    { lots: "0.1", text: "0.10" },
    { lots: "1", text: "1.00" },
    { lots: "10", text: "10.00" },
    { lots: "0.015", text: "0.015" },
    { lots: "0.00000001", text: "0.00000001" },
    { lots: "100.5", text: "100.50" },
    { lots: "0", text: "0.00" },
  ];
  for (const { lots, text } of shown) test(`${lots} lots are shown as ${text}`, () => assert.equal(lotsText(volumeFromLots(lots)), text));

  test("any volume is shown so that it reads back the same", () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }) as fc.Arbitrary<VolumeUnits>, (volume) => volumeFromLots(lotsText(volume)) === volume));
  });
});

describe("prices in points of other digits", () => {
  test("more digits lose nothing: there and back is the same price", () => {
    fc.assert(
      fc.property(points, digits, fc.integer({ min: 0, max: 3 }), (value, from, more) => {
        assert.equal(rescalePoints(rescalePoints(value, from, from + more), from + more, from), value);
      }),
    );
  });

  test("fewer digits round to the nearest point, half up, as exact arithmetic does", () => {
    fc.assert(
      fc.property(points, fc.integer({ min: 1, max: 8 }), (value, fewer) => {
        const unit = 10n ** BigInt(fewer);
        assert.equal(BigInt(rescalePoints(value, fewer, 0)), (2n * BigInt(value) + unit) / (2n * unit));
      }),
    );
    assert.equal(rescalePoints(pointsFromPrice("1.29305", 5), 5, 4), 12_931);
    assert.equal(rescalePoints(pointsFromPrice("1.29304", 5), 5, 4), 12_930);
  });
});
