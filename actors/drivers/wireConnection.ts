// Owns one asynchronous connection to a broker server: frames, requests and their answers by id,
// pushes, and the pings that find a connection which is open and silent.
//
// 1. Requests in flight are bounded; one more is answered `full`.
// 2. Every request ends: answered, not written, or no answer (time-out, connection lost).
// 3. A guarded frame is written only if nothing waits in front of it, in the turn in which its guard
//    allowed it, and must be taken whole: what node would keep back could leave after a trip.
// 4. A connection is used once: after its end it answers `not_written` to everything.

import { connect, type Socket } from "node:net";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import { encodeFrame, FrameReader } from "../../protocol/frames.ts";
import type { GateVerdict } from "../../protocol/ports/gate.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { WirePush, WireResponse } from "../../protocol/wire.ts";
import type { BrokerAddress } from "./brokerAddress.ts";
import { isResponse, readMessage, type RequestBody } from "./wireMessages.ts";

export interface WireConnectionOptions {
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  /** Requests without an answer, at most. */
  readonly maxInFlight: number;
  readonly pingEveryMs: number;
  /** A ping without an answer for so long ends the connection. */
  readonly pingTimeoutMs: number;
  readonly onPush: (push: WirePush) => void;
  /** Once, when the connection is gone, whoever ended it. */
  readonly onEnd: (detail: string) => void;
}

export type Reply =
  | { readonly kind: "answered"; readonly response: WireResponse; readonly writtenAtMs: number }
  | { readonly kind: "full" }
  | { readonly kind: "not_written"; readonly detail: string }
  /** Written, and no answer: it may have been carried out. */
  | { readonly kind: "no_answer"; readonly detail: string; readonly writtenAtMs: number };

export type GuardedReply = Reply | { readonly kind: "refused"; readonly verdict: Exclude<GateVerdict, "open"> };

interface Waiter {
  /** Asked through a guard: an order. */
  readonly guarded: boolean;
  readonly writtenAtMs: number;
  readonly timer: Timer;
  readonly resolve: (reply: Reply) => void;
}

export class WireConnection {
  readonly #socket: Socket;
  readonly #options: WireConnectionOptions;
  readonly #frames = new FrameReader();
  readonly #waiters = new Map<number, Waiter>();
  /** Guarded requests that wait until node has handed over everything written before. */
  readonly #behind = new Set<() => void>();
  #nextId = 1;
  #ping: Timer | null = null;
  #ended: string | null = null;

  private constructor(socket: Socket, options: WireConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.setNoDelay(true);
    socket.on("data", (bytes: Uint8Array) => this.#read(bytes));
    socket.on("error", (error) => this.end(messageOf(error)));
    socket.on("close", () => this.end("the broker closed the connection"));
    this.#pingLater();
  }

  /** @throws LockstepError `unreachable` */
  static open(address: BrokerAddress, options: WireConnectionOptions): Promise<WireConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: address.host, port: address.port });
      const fail = (why: string, cause?: unknown): void => {
        timer.cancel();
        socket.destroy();
        reject(new LockstepError("unreachable", `${address.host}:${address.port}: ${why}`, cause));
      };
      const timer = options.clock.after(options.connectTimeoutMs, () => fail(`no connection within ${options.connectTimeoutMs} ms`));
      socket.once("error", (error) => fail(messageOf(error), error));
      socket.once("connect", () => {
        timer.cancel();
        socket.removeAllListeners("error");
        resolve(new WireConnection(socket, options));
      });
    });
  }

  /** The address of the server that this connection reached, in numbers. */
  get remote(): { readonly ip: string; readonly family: "IPv4" | "IPv6"; readonly port: number } | null {
    const { remoteAddress: ip, remoteFamily: family, remotePort: port } = this.#socket;
    return ip === undefined || port === undefined ? null : { ip, family: family === "IPv6" ? "IPv6" : "IPv4", port };
  }

  get inFlight(): number {
    return this.#waiters.size;
  }

  /** Never rejects. */
  request(body: RequestBody, timeoutMs: number): Promise<Reply> {
    return this.#refusal() ?? this.#write(body, timeoutMs, false);
  }

  /**
   * A request that may only leave while `guard` says open (3). Never rejects.
   * `timeoutMs` bounds the wait for the way to be free, and then the wait for the answer.
   */
  async guardedRequest(body: RequestBody, timeoutMs: number, guard: () => GateVerdict): Promise<GuardedReply> {
    const { clock } = this.#options;
    const waitUntilMs = clock.monotonicMs() + timeoutMs;
    while (this.#ended === null && this.#socket.writableLength > 0) {
      const leftMs = waitUntilMs - clock.monotonicMs();
      if (leftMs <= 0) return { kind: "not_written", detail: `the connection took nothing for ${timeoutMs} ms` };
      await this.#wayFree(leftMs);
    }
    const refusal = this.#refusal();
    if (refusal !== null) return refusal;
    // One turn from the guard to the write (3).
    const verdict = guard();
    if (verdict !== "open") return { kind: "refused", verdict };
    const reply = this.#write(body, timeoutMs, true);
    if (this.#socket.writableLength === 0) return reply;
    this.#reset("a frame did not fit");
    return { kind: "not_written", detail: "the operating system did not take the whole frame" };
  }

  /** At the lease's end: a connection with unanswered guarded requests is reset, they become `no_answer`. */
  resetUnanswered(): void {
    if ([...this.#waiters.values()].some((waiter) => waiter.guarded)) this.#reset("reset with orders unanswered");
  }

  /** Ends the connection; what is in flight ends as `no_answer`. */
  end(detail: string): void {
    if (this.#ended !== null) return;
    this.#ended = detail;
    this.#ping?.cancel();
    this.#socket.destroy();
    for (const waiter of this.#waiters.values()) {
      waiter.timer.cancel();
      waiter.resolve({ kind: "no_answer", detail, writtenAtMs: waiter.writtenAtMs });
    }
    this.#waiters.clear();
    for (const wake of [...this.#behind]) wake();
    this.#options.onEnd(detail);
  }

  #reset(detail: string): void {
    this.#socket.resetAndDestroy();
    this.end(detail);
  }

  #refusal(): Promise<Reply> | null {
    if (this.#ended !== null) return Promise.resolve({ kind: "not_written", detail: this.#ended }); // (4)
    return this.#waiters.size >= this.#options.maxInFlight ? Promise.resolve({ kind: "full" }) : null; // (1)
  }

  #write(body: RequestBody, timeoutMs: number, guarded: boolean): Promise<Reply> {
    const { clock } = this.#options;
    const id = this.#nextId++;
    const frame = encodeFrame({ ...body, id });
    return new Promise((resolve) => {
      const writtenAtMs = clock.monotonicMs();
      const timer = clock.after(timeoutMs, () => {
        this.#waiters.delete(id);
        resolve({ kind: "no_answer", detail: `no answer within ${timeoutMs} ms`, writtenAtMs });
      });
      this.#waiters.set(id, { guarded, writtenAtMs, timer, resolve });
      this.#socket.write(frame, () => {
        if (this.#socket.writableLength === 0) for (const wake of [...this.#behind]) wake();
      });
    });
  }

  #wayFree(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#behind.delete(wake);
        timer.cancel();
        resolve();
      };
      const timer = this.#options.clock.after(limitMs, wake);
      this.#behind.add(wake);
    });
  }

  #read(bytes: Uint8Array): void {
    try {
      for (const map of this.#frames.push(bytes)) {
        if (this.#ended !== null) return;
        const message = readMessage(map);
        if (!isResponse(message)) this.#options.onPush(message);
        else if (message.t === "error" && message.id === null) this.end(`the broker could not read a request: ${message.code} ${message.text}`);
        else if (message.id !== null) this.#answer(message.id, message);
      }
    } catch (error) {
      this.end(`bytes that are no wire message: ${messageOf(error)}`);
    }
  }

  #answer(id: number, response: WireResponse): void {
    const waiter = this.#waiters.get(id);
    // Nobody waits: the answer came after its time-out. What it says is found by looking.
    if (waiter === undefined) return;
    this.#waiters.delete(id);
    waiter.timer.cancel();
    waiter.resolve({ kind: "answered", response, writtenAtMs: waiter.writtenAtMs });
  }

  #pingLater(): void {
    this.#ping = this.#options.clock.after(this.#options.pingEveryMs, () => {
      void this.request({ t: "ping" }, this.#options.pingTimeoutMs).then((reply) => {
        if (this.#ended !== null) return;
        // `full` says nothing of the other side; the next round asks again.
        if (reply.kind === "no_answer") this.end(`silent: ${reply.detail} to a ping`);
        else this.#pingLater();
      });
    });
  }
}
