// Owns the framing of the wire protocol: a 4-byte big-endian length, then that many bytes of one
// msgpack map.

import { pack, unpackMap } from "./codec.ts";
import { LockstepError } from "./errors.ts";

export const FRAME_HEADER_BYTES = 4;
/** A longer frame is refused: whoever sends one does not speak this protocol. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

export function encodeFrame(message: unknown): Uint8Array {
  const body = pack(message);
  const frame = new Uint8Array(FRAME_HEADER_BYTES + body.length);
  new DataView(frame.buffer).setUint32(0, body.length);
  frame.set(body, FRAME_HEADER_BYTES);
  return frame;
}

/** Cuts a stream of bytes into messages; holds at most one unfinished frame. */
export class FrameReader {
  #rest: Uint8Array = new Uint8Array(0);

  /**
   * Takes the next bytes and returns the messages that they complete.
   * @throws LockstepError `malformed`: the stream is lost then, the connection must be dropped.
   */
  push(chunk: Uint8Array): Record<string, unknown>[] {
    const bytes = this.#rest.length === 0 ? chunk : concat(this.#rest, chunk);
    const messages: Record<string, unknown>[] = [];
    let at = 0;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const length = new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0);
      if (length > MAX_FRAME_BYTES) throw new LockstepError("malformed", `frame of ${length} bytes, expected at most ${MAX_FRAME_BYTES}`);
      const end = at + FRAME_HEADER_BYTES + length;
      if (end > bytes.length) break;
      messages.push(unpackMap(bytes.subarray(at + FRAME_HEADER_BYTES, end)));
      at = end;
    }
    // A copy: the chunk's memory may be reused by whoever read it.
    this.#rest = at === bytes.length ? new Uint8Array(0) : bytes.slice(at);
    return messages;
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
