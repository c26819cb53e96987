// Owns a man in the middle between a Kafka client and its broker: it knows frames and which request a
// response answers, and lets a case swallow, garble or hold back what it chooses.
//
// 1. Brokers tell clients where they are; the proxy puts its own port there, so that nobody gets past it.
//    One broker at 127.0.0.1 is assumed, as the local Kafka is.

import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";

export const API = { produce: 0, fetch: 1, metadata: 3, offsetCommit: 8 } as const;

/** What becomes of a response: it goes on, other bytes go on in its place, or it is never seen. */
export type Verdict = "pass" | "swallow" | Buffer;

export interface KafkaProxy {
  readonly brokers: readonly string[];
  /** Asked for each response; default: all pass. */
  onResponse: (api: number, frame: Buffer) => Verdict;
  /** Told of each request, whole. */
  onRequest: (api: number, frame: Buffer) => void;
  /** Cuts all connections, and takes no new ones until `mend`. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

const LENGTH_BYTES = 4;
const PORT_BYTES = 4;

export async function kafkaProxy(broker: string): Promise<KafkaProxy> {
  const port = Number(broker.split(":").at(-1));
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = createConnection({ host: "127.0.0.1", port });
    const apis = new Map<number, number>();
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => undefined);
    }
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    client.on("data", frames((frame) => {
      const api = frame.readInt16BE(LENGTH_BYTES);
      apis.set(frame.readInt32BE(LENGTH_BYTES + 4), api);
      proxy.onRequest(api, frame);
      upstream.write(frame);
    }));
    upstream.on("data", frames((frame) => {
      const correlation = frame.readInt32BE(LENGTH_BYTES);
      const api = apis.get(correlation) ?? -1;
      apis.delete(correlation);
      const verdict = proxy.onResponse(api, frame);
      if (verdict !== "swallow") client.write(moved(verdict === "pass" ? frame : verdict, port, proxyPort));
    }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const proxyPort = (server.address() as AddressInfo).port;
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const proxy: KafkaProxy = {
    brokers: [`127.0.0.1:${proxyPort}`],
    onResponse: () => "pass",
    onRequest: () => undefined,
    cut() {
      isCut = true;
      destroyAll();
    },
    mend() {
      isCut = false;
    },
    close: () => {
      destroyAll();
      return new Promise((closed) => server.close(() => closed()));
    },
  };
  return proxy;
}

/** Puts a stream's pieces together to frames: a length of four bytes, and so many more. */
function frames(onFrame: (frame: Buffer) => void): (piece: Buffer) => void {
  let waiting = Buffer.alloc(0);
  return (piece) => {
    waiting = Buffer.concat([waiting, piece]);
    while (waiting.length >= LENGTH_BYTES && waiting.length >= LENGTH_BYTES + waiting.readInt32BE(0)) {
      const length = LENGTH_BYTES + waiting.readInt32BE(0);
      onFrame(waiting.subarray(0, length));
      waiting = waiting.subarray(length);
    }
  };
}

/** Invariant 1: an address is its text and four bytes of port. */
function moved(frame: Buffer, from: number, to: number): Buffer {
  const address = Buffer.concat([Buffer.from("127.0.0.1"), Buffer.alloc(PORT_BYTES)]);
  address.writeInt32BE(from, address.length - PORT_BYTES);
  const out = Buffer.from(frame);
  for (let at = out.indexOf(address); at >= 0; at = out.indexOf(address, at + 1)) out.writeInt32BE(to, at + address.length - PORT_BYTES);
  return out;
}
