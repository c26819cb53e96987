// Owns the cases about cutting a stream of bytes into messages.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { encodeFrame, FRAME_HEADER_BYTES, FrameReader, MAX_FRAME_BYTES } from "../../protocol/frames.ts";

const malformed = { code: "malformed" };
const header = (length: number): Uint8Array => {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES);
  new DataView(bytes.buffer).setUint32(0, length);
  return bytes;
};
const join = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

describe("a stream of frames", () => {
  test("the header is the body's length, big-endian", () => {
    const frame = encodeFrame({ t: "ping", id: 1 });
    assert.equal(new DataView(frame.buffer).getUint32(0), frame.length - FRAME_HEADER_BYTES);
  });

  test("however the stream is cut, the messages are the same, in order", () => {
    const message = fc.record({ t: fc.constant("m"), id: fc.nat(), text: fc.string({ maxLength: 40 }) }, { noNullPrototype: true });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 30 }), (messages, cuts) => {
        const stream = join(messages.map(encodeFrame));
        const reader = new FrameReader();
        const found: unknown[] = [];
        for (let at = 0, n = 0; at < stream.length; n++) {
          const length = cuts[n % cuts.length] ?? 1;
          const chunk = stream.slice(at, at + length);
          found.push(...reader.push(chunk));
          chunk.fill(0xff); // The reader of the socket may use its memory again.
          at += length;
        }
        assert.deepEqual(found, messages);
      }),
    );
  });

  test("byte by byte, a message comes with its last byte and not before", () => {
    const frame = encodeFrame({ t: "ping", id: 300 });
    const reader = new FrameReader();
    for (const [index, byte] of frame.entries()) {
      const messages = reader.push(Uint8Array.of(byte));
      assert.deepEqual(messages, index === frame.length - 1 ? [{ t: "ping", id: 300 }] : []);
    }
  });

  test("an empty chunk is nothing", () => assert.deepEqual(new FrameReader().push(new Uint8Array(0)), []));

  test("a chunk that is a window of a larger buffer is read at its own place", () => {
    const frame = encodeFrame({ t: "ping", id: 1 });
    const buffer = join([Uint8Array.of(9, 9, 9, 9, 9), frame, Uint8Array.of(9, 9)]);
    assert.deepEqual(new FrameReader().push(buffer.subarray(5, 5 + frame.length)), [{ t: "ping", id: 1 }]);
  });

  test("a frame of the largest size is waited for, one byte more is refused from its header alone", () => {
    assert.deepEqual(new FrameReader().push(header(MAX_FRAME_BYTES)), []);
    assert.throws(() => new FrameReader().push(header(MAX_FRAME_BYTES + 1)), malformed);
    assert.throws(() => new FrameReader().push(Buffer.from("GET / HTTP/1.1\r\n")), malformed);
  });

  test("a frame whose body is no map is refused", () => {
    for (const body of [[], [0xc1], [0x01], [0x90], [0x80, 0x80]]) {
      assert.throws(() => new FrameReader().push(join([header(body.length), Uint8Array.from(body)])), malformed, `${body.length} bytes`);
    }
  });

  test("any bytes are messages, an unfinished frame or malformed", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 8 }), (chunks) => {
        const reader = new FrameReader();
        try {
          for (const chunk of chunks) for (const message of reader.push(chunk)) assert.equal(typeof message, "object");
        } catch (error) {
          assert.equal((error as { code?: unknown }).code, "malformed");
        }
      }),
    );
  });
});
