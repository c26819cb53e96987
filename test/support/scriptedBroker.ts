// Owns a broker server whose every answer is decided by the test: late, never, cut, garbage.

import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { encodeFrame, FrameReader } from "../../protocol/frames.ts";
import type { AccountId, Epoch, SymbolName, Ticket } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { AccountSnapshot, Platform, Quote, SymbolSpec } from "../../protocol/trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../protocol/units.ts";
import type { WireMessage, WireRequest, WireResult } from "../../protocol/wire.ts";

/** One connection, seen from the server. */
export class Peer {
  readonly socket: Socket;
  channel: "session" | "call" | null = null;
  /** Everything it sent, as whole messages. */
  readonly received: Record<string, unknown>[] = [];
  bytes = 0;
  ended = false;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  send(message: WireMessage | Record<string, unknown>): void {
    this.socket.write(encodeFrame(message));
  }

  raw(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  cut(): void {
    this.socket.resetAndDestroy();
  }
}

/** Reads frames and gives them to the test. */
export class FrameServer {
  readonly peers: Peer[] = [];
  /** False: connections are accepted and nothing is read from them until `read` is called. */
  reading = true;
  readonly #server: Server;
  readonly #onFrame: (message: Record<string, unknown>, peer: Peer) => void;

  private constructor(onFrame: (message: Record<string, unknown>, peer: Peer) => void) {
    this.#onFrame = onFrame;
    this.#server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => this.#accept(socket));
  }

  static async start(onFrame: (message: Record<string, unknown>, peer: Peer) => void, port = 0): Promise<FrameServer> {
    const server = new FrameServer(onFrame);
    await new Promise<void>((resolve) => server.#server.listen(port, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get received(): Record<string, unknown>[] {
    return this.peers.flatMap((peer) => peer.received);
  }

  /** Begins to read from all connections. */
  read(): void {
    this.reading = true;
    for (const peer of this.peers) peer.socket.resume();
  }

  async close(): Promise<void> {
    for (const peer of this.peers) peer.socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(socket: Socket): void {
    const peer = new Peer(socket);
    const frames = new FrameReader();
    this.peers.push(peer);
    socket.on("error", () => undefined);
    socket.on("close", () => (peer.ended = true));
    socket.on("data", (chunk: Uint8Array) => {
      peer.bytes += chunk.length;
      for (const message of frames.push(chunk)) {
        peer.received.push(message);
        this.#onFrame(message, peer);
      }
    });
    if (this.reading) socket.resume();
    else socket.pause();
  }
}

export const EURUSD: SymbolSpec = {
  symbol: "EURUSD.x" as SymbolName,
  digits: 5,
  volumeMin: 1_000_000 as VolumeUnits,
  volumeStep: 1_000_000 as VolumeUnits,
  volumeMax: 10_000_000_000 as VolumeUnits,
  stopLevelPoints: 0,
};
export const EURUSD_QUOTE: Quote = { symbol: EURUSD.symbol, bid: 110_000 as Points, ask: 110_010 as Points, atMs: 1 as BrokerMs };

export interface AskedOrder {
  readonly id: number;
  readonly order: Order;
  /** As the order said it. */
  readonly epoch: Epoch | null;
  readonly peer: Peer;
}

/** A broker of one account that logs in whoever knows the password. */
export class ScriptedBroker {
  /** How each login named itself. */
  readonly clients: (string | null)[] = [];
  readonly platform: Platform;
  readonly account = "follower-1" as AccountId;
  readonly orders: AskedOrder[] = [];
  /** What happens with an order; by default it is done. */
  onOrder: (asked: AskedOrder) => void = (asked) => this.done(asked);
  onPing: (id: number, peer: Peer) => void = (id, peer) => peer.send({ t: "pong", id, brokerMs: this.nowMs });
  onSnapshot: (id: number, peer: Peer) => void = (id, peer) => peer.send({ t: "snapshot", id, snapshot: this.snapshot });
  /** What it calls itself in its welcome. */
  welcomeAs: { account: AccountId; platform: Platform };
  password = "secret";
  nowMs = 1_000_000 as BrokerMs;
  symbols: readonly SymbolSpec[] = [EURUSD];
  snapshot: AccountSnapshot;
  #server!: FrameServer;
  #nextTicket = 100;

  private constructor(platform: Platform) {
    this.platform = platform;
    this.welcomeAs = { account: this.account, platform };
    this.snapshot = { account: this.account, takenAtMs: this.nowMs, synced: true, positions: [], pendings: [], closed: [], removed: [] };
  }

  static async start(platform: Platform, port = 0): Promise<ScriptedBroker> {
    const broker = new ScriptedBroker(platform);
    broker.#server = await FrameServer.start((message, peer) => broker.#handle(message as unknown as WireRequest, peer), port);
    return broker;
  }

  get port(): number {
    return this.#server.port;
  }

  get peers(): readonly Peer[] {
    return this.#server.peers;
  }

  /** The living connections of a channel. */
  on(channel: "session" | "call"): Peer[] {
    return this.#server.peers.filter((peer) => peer.channel === channel && !peer.ended);
  }

  result(asked: AskedOrder, fields: Partial<WireResult>): void {
    const done = this.platform === "mt4" ? 0 : 10009;
    asked.peer.send({ t: "result", id: asked.id, code: done, text: "", ticket: null, volume: 0, price: null, brokerMs: this.nowMs, ...fields });
  }

  done(asked: AskedOrder): void {
    this.result(asked, { ticket: this.#nextTicket++ as Ticket, volume: 1_000_000 as VolumeUnits, price: 110_010 as Points });
  }

  push(message: WireMessage): void {
    for (const peer of this.on("session")) peer.send(message);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #handle(request: WireRequest, peer: Peer): void {
    switch (request.t) {
      case "login":
        this.clients.push(request.client ?? null);
        if (request.password !== this.password) {
          peer.send({ t: "error", id: request.id, code: "bad_login", text: "wrong password" });
          peer.socket.end();
          return;
        }
        peer.channel = request.channel;
        peer.send({ t: "welcome", id: request.id, ...this.welcomeAs, brokerMs: this.nowMs, symbols: this.symbols, quotes: [EURUSD_QUOTE] });
        return;
      case "order": {
        const asked = { id: request.id, order: request.order, epoch: request.epoch ?? null, peer };
        this.orders.push(asked);
        return this.onOrder(asked);
      }
      case "snapshot":
        return this.onSnapshot(request.id, peer);
      case "ping":
        return this.onPing(request.id, peer);
    }
  }
}
