// Owns the cases about records as bytes: golden files, versions, and bytes that are none of ours.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import { Packr } from "msgpackr";
import { ACCOUNT_STATE, BOOK, decode, decodeOwnerEvent, encode, pack, PAIR_EVENT, REPLAY, TICK, unpackMap } from "../../protocol/codec.ts";
import { isLockstepError } from "../../protocol/errors.ts";
import { bytesOfHex, GOLDEN_RECORDS, goldenFile, hexLines } from "./goldenRecords.ts";

const malformed = { code: "malformed" };
const plain = new Packr({ useRecords: false });
const schemas = { tick: TICK, book: BOOK, "pair-event": PAIR_EVENT, "account-state": ACCOUNT_STATE, replay: REPLAY };
const goldenBytes = (name: string): Uint8Array => bytesOfHex(readFileSync(goldenFile(name), "utf8"));

describe("golden records", () => {
  for (const { name, value, encode: encoded, decode: decoded } of GOLDEN_RECORDS) {
    test(`${name} is written as in its file, and read from it`, () => {
      assert.ok(existsSync(goldenFile(name)), `golden/${name}.hex is missing; this build writes\n${hexLines(encoded())}`);
      assert.equal(hexLines(encoded()), readFileSync(goldenFile(name), "utf8"));
      assert.deepEqual(decoded(goldenBytes(name)), value);
    });
  }

  test("every schema has one, and no file is without its record", () => {
    assert.deepEqual(new Set(GOLDEN_RECORDS.map(({ schema }) => schema)), new Set(Object.keys(schemas)));
    const files = readdirSync(new URL("golden/", import.meta.url)).sort();
    assert.deepEqual(files, GOLDEN_RECORDS.map(({ name }) => `${name}.hex`).sort());
  });

  test("a process that has written nothing reads them all", async () => {
    const script = fileURLToPath(new URL("decodeGolden.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", script]);
    assert.deepEqual(JSON.parse(stdout), JSON.parse(JSON.stringify(Object.fromEntries(GOLDEN_RECORDS.map(({ name, value }) => [name, value])))));
  });

  test("they are plain msgpack: field names stand in the bytes, and a reader without our settings reads them", () => {
    for (const { name, value } of GOLDEN_RECORDS) {
      const [, version] = name.split(".");
      const found = plain.unpack(goldenBytes(name)) as { version: number; value: unknown };
      assert.equal(found.version, Number(version));
      assert.deepEqual(found.value, value);
    }
  });
});

describe("what is refused", () => {
  const alive = GOLDEN_RECORDS.find(({ name }) => name === "tick.1.alive")?.value as object;

  for (const version of [0, 2, "1", null]) {
    test(`a tick of version ${JSON.stringify(version)}: unknown, never guessed at`, () => {
      assert.throws(() => decode(TICK, pack({ schema: "tick", version, value: alive })), { code: "unknown_schema" });
    });
  }

  test("what owners say is read by its own name: to a release without account states they are nobody's, and no newer version of a pair event", () => {
    for (const name of ["pair-event.1.pair", "pair-event.1.adopted", "account-state.1"]) {
      assert.deepEqual(decodeOwnerEvent(goldenBytes(name)), GOLDEN_RECORDS.find((record) => record.name === name)?.value);
    }
    assert.throws(() => decode(PAIR_EVENT, goldenBytes("account-state.1")), malformed);
    assert.throws(() => decodeOwnerEvent(pack({ schema: "account-state", version: 2, value: {} })), { code: "unknown_schema" });
    assert.throws(() => decodeOwnerEvent(pack({ schema: "tick", version: 1, value: {} })), malformed);
  });

  test("a record of another schema", () => {
    for (const { name, schema, encode: encoded } of GOLDEN_RECORDS) {
      for (const [other, wanted] of Object.entries(schemas)) {
        if (other !== schema) assert.throws(() => decode(wanted as typeof TICK, encoded()), malformed, `${name} as ${other}`);
      }
    }
  });

  for (const field of TICK.fields) {
    test(`a tick without ${field}`, () => {
      const rest = Object.fromEntries(Object.entries(alive).filter(([name]) => name !== field));
      assert.throws(() => decode(TICK, pack({ schema: "tick", version: 1, value: rest })), { ...malformed, message: new RegExp(field) });
    });
  }

  const foreign = { nothing: [], "a number": plain.pack(7), "a text": plain.pack("tick"), "an array": plain.pack([1, 2]), null: plain.pack(null), bytes: plain.pack(Buffer.from("x")), "an empty map": plain.pack({}), "an unused token": [0xc1], "a time": plain.pack(new Date(0)), "two maps": [0x80, 0x80] };
  for (const [what, bytes] of Object.entries(foreign)) test(`${what} as a tick`, () => assert.throws(() => decode(TICK, Uint8Array.from(bytes)), malformed));

  for (const [what, bytes] of Object.entries(foreign)) {
    if (what !== "an empty map") test(`${what} as a message`, () => assert.throws(() => unpackMap(Uint8Array.from(bytes)), malformed));
  }

  test("a value that is no map", () => {
    for (const value of [null, 1, "x", []]) assert.throws(() => decode(TICK, pack({ schema: "tick", version: 1, value })), malformed);
  });

  test("a golden record cut anywhere", () => {
    for (const { name, decode: decoded } of GOLDEN_RECORDS) {
      const bytes = goldenBytes(name);
      for (let length = 0; length < bytes.length; length++) assert.throws(() => decoded(bytes.subarray(0, length)), malformed, `${name} cut to ${length}`);
    }
  });
});

describe("bytes from outside", () => {
  test("any bytes are a map or malformed, and leave no trace in what is read after them", () => {
    const after = GOLDEN_RECORDS[0];
    assert.ok(after !== undefined);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          assert.equal(Object.getPrototypeOf(unpackMap(bytes)), Object.prototype);
        } catch (error) {
          assert.ok(isLockstepError(error, "malformed"));
        }
        assert.deepEqual(after.decode(after.encode()), after.value);
      }),
      { numRuns: 500 },
    );
  });

  test("record structures that a foreign writer defines are not remembered", () => {
    const writer = new Packr({ structures: [] });
    const foreign = writer.pack({ a: { b: 1, c: 2 }, list: [{ b: 3, c: 4 }] });
    try {
      unpackMap(foreign);
    } catch (error) {
      assert.ok(isLockstepError(error, "malformed"));
    }
    assert.deepEqual(unpackMap(pack({ numbers: [64, 65, 100, 127] })), { numbers: [64, 65, 100, 127] });
  });

  test("a key __proto__ changes nobody's prototype", () => {
    const bytes = Uint8Array.from([0x81, 0xa9, ...Buffer.from("__proto__"), 0x81, 0xa8, ...Buffer.from("polluted"), 0xc3]);
    const map = unpackMap(bytes);
    assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
    assert.equal(map["polluted"], undefined);
  });

  test("any JSON-like map comes back as it was", () => {
    const value = fc.dictionary(fc.string({ maxLength: 8 }).filter((key) => key !== "__proto__"), fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true }).filter((number) => !Object.is(number, -0)), fc.string({ unit: "binary" }), fc.boolean(), fc.constant(null), fc.array(fc.integer())), { noNullPrototype: true });
    fc.assert(fc.property(value, (map) => assert.deepEqual(unpackMap(pack(map)), map)));
  });

  test("a zero has no sign in bytes, as in JSON", () => assert.deepEqual(unpackMap(pack({ zero: -0 })), { zero: 0 }));

  test("a record encoded by this build is decoded by it, whatever its numbers", () => {
    const record = { kind: "adopted", follower: "f", epoch: 0, n: 0 };
    fc.assert(
      fc.property(fc.maxSafeInteger(), (n) => {
        const event = { ...record, n } as never;
        assert.deepEqual(decode(PAIR_EVENT, encode(PAIR_EVENT, event)), event);
      }),
    );
  });
});
