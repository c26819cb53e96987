// Owns what a man in the middle must know of Kafka's protocol: frames, which request a response answers, and
// where brokers tell clients to go.
//
// 1. Brokers tell clients where they are; the proxy puts its own port there, so that nobody gets past it.
//    One broker at 127.0.0.1 is assumed, as the local Kafka is.
// 2. Only answers that name brokers are rewritten: records go through as they are, whatever bytes are in them.

import type { Talk } from "./proxy.ts";

export const API = { produce: 0, fetch: 1, listOffsets: 2, metadata: 3, offsetCommit: 8, findCoordinator: 10, describeCluster: 60 } as const;
const NAMES_BROKERS: readonly number[] = [API.metadata, API.findCoordinator, API.describeCluster];

/** What becomes of a response: it goes on, other bytes go on in its place, or it is never seen. */
export type Verdict = "pass" | "swallow" | Buffer;

export interface KafkaHooks {
  /** Asked for each response. */
  readonly onResponse?: (api: number, frame: Buffer) => Verdict;
  /** Told of each request, whole. */
  readonly onRequest?: (api: number, frame: Buffer) => void;
}

const LENGTH_BYTES = 4;
const PORT_BYTES = 4;
const HOST = "127.0.0.1";

/** @param port the broker's own */
export function kafkaTalk(port: number, { onResponse = () => "pass", onRequest = () => undefined }: KafkaHooks = {}): Talk {
  return ({ toServer, toClient, proxyPort }) => {
    /** By correlation, what was asked. */
    const apis = new Map<number, number>();
    return {
      fromClient: frames((frame) => {
        const api = frame.readInt16BE(LENGTH_BYTES);
        apis.set(frame.readInt32BE(LENGTH_BYTES + 4), api);
        onRequest(api, frame);
        toServer(frame);
      }),
      fromServer: frames((frame) => {
        const correlation = frame.readInt32BE(LENGTH_BYTES);
        const api = apis.get(correlation) ?? -1;
        apis.delete(correlation);
        const verdict = onResponse(api, frame);
        if (verdict === "swallow") return;
        const answer = verdict === "pass" ? frame : verdict;
        toClient(NAMES_BROKERS.includes(api) ? moved(answer, port, proxyPort) : answer); // 2
      }),
    };
  };
}

/** Puts a stream's pieces together to frames: a length of four bytes, and so many more. */
function frames(onFrame: (frame: Buffer) => void): (piece: Buffer) => void {
  let waiting: Buffer = Buffer.alloc(0);
  return (piece) => {
    waiting = waiting.length === 0 ? piece : Buffer.concat([waiting, piece]);
    while (waiting.length >= LENGTH_BYTES && waiting.length >= LENGTH_BYTES + waiting.readInt32BE(0)) {
      const length = LENGTH_BYTES + waiting.readInt32BE(0);
      onFrame(waiting.subarray(0, length));
      waiting = waiting.subarray(length);
    }
  };
}

/** Invariant 1: an address is its text and four bytes of port. */
function moved(frame: Buffer, from: number, to: number): Buffer {
  const address = Buffer.concat([Buffer.from(HOST), Buffer.alloc(PORT_BYTES)]);
  address.writeInt32BE(from, address.length - PORT_BYTES);
  const out = Buffer.from(frame);
  for (let at = out.indexOf(address); at >= 0; at = out.indexOf(address, at + 1)) out.writeInt32BE(to, at + address.length - PORT_BYTES);
  return out;
}
