// Owns a client of the wire protocol for the broker's tests: it says what it is told to and keeps
// what it hears, in order.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { encodeFrame, FrameReader } from "../../../protocol/frames.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { AccountChange, AccountSnapshot } from "../../../protocol/trades.ts";
import type { WireMessage, WireRequest, WireResult, WireWelcome } from "../../../protocol/wire.ts";

type MessageOf<T extends WireMessage["t"]> = Extract<WireMessage, { t: T }>;

export class RawClient {
  readonly socket: Socket;
  readonly heard: WireMessage[] = [];
  #isClosed = false;
  #lastId = 0;
  #wake: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    const reader = new FrameReader();
    socket.on("data", (chunk: Buffer) => {
      this.heard.push(...(reader.push(chunk) as unknown as WireMessage[]));
      this.#woken();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#isClosed = true;
      this.#woken();
    });
  }

  /** `allowHalfOpen`: does not close when the server does. */
  static async connect(port: number, allowHalfOpen = false): Promise<RawClient> {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen });
    await once(socket, "connect");
    return new RawClient(socket);
  }

  /** Connected and welcomed. */
  static async loggedIn(port: number, login: number, password: string, channel: "session" | "call"): Promise<RawClient> {
    const client = await RawClient.connect(port);
    await client.login(login, password, channel);
    return client;
  }

  async login(login: number, password: string, channel: "session" | "call"): Promise<WireWelcome> {
    return this.#answered({ t: "login", id: this.nextId(), login, password, channel }, "welcome");
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  send(request: WireRequest): void {
    this.bytes(encodeFrame(request));
  }

  bytes(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Sends an order and does not wait; returns its id. */
  ask(order: Order): number {
    const id = this.nextId();
    this.send({ t: "order", id, order });
    return id;
  }

  async order(order: Order): Promise<WireResult> {
    return this.#answered({ t: "order", id: this.nextId(), order }, "result");
  }

  async snapshot(historyFromMs = 0): Promise<AccountSnapshot> {
    return (await this.#answered({ t: "snapshot", id: this.nextId(), historyFromMs: historyFromMs as never }, "snapshot")).snapshot;
  }

  /** Everything the server sent before it answered this is in `heard` afterwards. */
  async ping(): Promise<MessageOf<"pong">> {
    return this.#answered({ t: "ping", id: this.nextId() }, "pong");
  }

  /** The first message of the kind that the filter lets pass, heard already or to come. */
  async hear<T extends WireMessage["t"]>(t: T, filter: (message: MessageOf<T>) => boolean = () => true): Promise<MessageOf<T>> {
    for (;;) {
      const found = this.heard.find((message): message is MessageOf<T> => message.t === t && filter(message as MessageOf<T>));
      if (found !== undefined) return found;
      if (this.#isClosed) throw new Error(`closed without ${t}; heard ${JSON.stringify(this.heard.at(-1) ?? null)}`);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  changes(): AccountChange[] {
    return this.heard.flatMap((message) => (message.t === "change" ? [message.change] : []));
  }

  async closed(): Promise<void> {
    while (!this.#isClosed) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  async #answered<T extends WireMessage["t"]>(request: WireRequest, t: T): Promise<MessageOf<T>> {
    this.send(request);
    return this.hear(t, (message) => "id" in message && message.id === request.id);
  }

  #woken(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const resolve of waiting) resolve();
  }
}
