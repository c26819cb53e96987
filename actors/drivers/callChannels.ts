// Owns the call channels of one MT4-like session: native sockets that are logged in, each for one
// call at a time, opened when they are needed and kept.
//
// 1. At most `parallelism` sockets are open or being opened; one more is answered `queue_full`.
// 2. A kept socket is looked at before it is used: one that the broker closed, or that holds a late
//    answer, is thrown away and not written to.
// 3. When the session ends, idle sockets end with it and what waits for a lane is cancelled; a call
//    that was made goes on, since its answer is a fact worth having, and its socket is not kept.
// 4. Whatever is thrown on the way ends that socket and is an outcome: of an order that was handed over
//    it is unknown what became. Nothing stays busy for ever.

import type { Account } from "../../protocol/accounts.ts";
import { isLockstepError, LockstepError, messageOf } from "../../protocol/errors.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import type { Permit } from "../../protocol/orders.ts";
import type { WireMessage } from "../../protocol/wire.ts";
import type { CallSocket } from "../executor/callSocket.ts";
import type { CallOutcome, Dropped } from "../executor/callOutcome.ts";
import type { Executor, Handed } from "../executor/executor.ts";
import type { SocketAddress } from "../executor/native.ts";
import { readMessage, type RequestBody } from "./wireMessages.ts";
import { type SessionLimits } from "./sessionLimits.ts";
import { loginBody, readWelcome, type LoginAs } from "./wireSession.ts";

/** What the channels need of the executor. */
export type CallMaker = Pick<Executor, "open" | "call">;

export interface CallChannelsOptions extends LoginAs {
  readonly executor: CallMaker;
  readonly limits: SessionLimits;
  readonly parallelism: number;
  /** The broker refuses the account on a call channel: the session should end. */
  readonly onLoginRefused: (detail: string) => void;
}

export interface CallChannel {
  readonly socket: CallSocket;
  /** Of the session that opened it. */
  readonly generation: number;
}

export type Acquired = { readonly kind: "acquired"; readonly channel: CallChannel } | { readonly kind: "failed"; readonly detail: string } | Dropped;

/** A call's end with its answer read. */
export type ChannelOutcome =
  | { readonly kind: "answered"; readonly message: WireMessage; readonly callMadeAtMs: number }
  | Exclude<CallOutcome, { kind: "answered" }>;

export class CallChannels {
  readonly #options: CallChannelsOptions;
  readonly #idle: CallChannel[] = [];
  readonly #busy = new Set<CallChannel>();
  readonly #handed = new Set<Handed<unknown>>();
  #opening = 0;
  #address: SocketAddress | null = null;
  #generation = 0;
  #nextId = 1;

  constructor(options: CallChannelsOptions) {
    this.#options = options;
  }

  /** The session is up: sockets go to the server that it reached. */
  start(address: SocketAddress | null): void {
    this.#address = address;
  }

  /** The session ended (3). */
  stop(): void {
    this.#address = null;
    this.#generation += 1;
    for (const channel of this.#idle.splice(0)) channel.socket.end();
    for (const handed of this.#handed) handed.cancel();
  }

  /** Ends what is under way too; it becomes unknown. */
  reset(): void {
    for (const channel of this.#busy) channel.socket.end();
  }

  /** Opens one socket ahead of the first call, if no call has come first. Null, or why it failed. */
  async warm(): Promise<string | null> {
    if (this.#busy.size + this.#opening > 0) return null;
    const acquired = await this.acquire();
    if (acquired.kind !== "acquired") return acquired.detail;
    this.release(acquired.channel);
    return null;
  }

  /** A channel for one call. Never rejects. */
  async acquire(): Promise<Acquired> {
    for (let channel = this.#idle.pop(); channel !== undefined; channel = this.#idle.pop()) {
      if (channel.socket.usable()) return this.#lend(channel);
      channel.socket.end(); // (2)
    }
    if (this.#address === null) return { kind: "dropped", cause: "session_down", detail: "no session with the broker" };
    if (this.#busy.size + this.#opening >= this.#options.parallelism) {
      return { kind: "dropped", cause: "queue_full", detail: `${this.#options.parallelism} calls are under way on this account` }; // (1)
    }
    this.#opening += 1;
    try {
      const opened = await this.#open(this.#address);
      return opened.kind === "acquired" ? this.#lend(opened.channel) : opened;
    } catch (error) {
      return { kind: "failed", detail: `no call channel: ${messageOf(error)}` }; // (4)
    } finally {
      this.#opening -= 1;
    }
  }

  /** Gives a channel back; a broken one, or one of an ended session, is not kept. */
  release(channel: CallChannel): void {
    this.#busy.delete(channel);
    if (channel.socket.ended || channel.generation !== this.#generation) channel.socket.end();
    else this.#idle.push(channel);
  }

  /** One request and its answer. A null permit is for what is no order. Never rejects. */
  async call(channel: CallChannel, body: RequestBody, permit: Permit | null, timeoutMs: number): Promise<ChannelOutcome> {
    const id = this.#nextId++;
    let callMadeAtMs: number | null = null;
    try {
      const outcome = await this.#track(this.#options.executor.call(channel.socket, encodeFrame({ ...body, id }), permit, timeoutMs));
      if (outcome.kind !== "answered") return outcome;
      callMadeAtMs = outcome.callMadeAtMs;
      const message = readMessage(outcome.message);
      if ("id" in message && message.id === id) return { kind: "answered", message, callMadeAtMs };
      channel.socket.end();
      return { kind: "unknown", detail: `another message than the answer came: ${message.t}`, callMadeAtMs };
    } catch (error) {
      channel.socket.end(); // (4)
      return { kind: "unknown", detail: `${callMadeAtMs === null ? "a call that failed by itself" : "an answer that cannot be read"}: ${messageOf(error)}`, callMadeAtMs };
    }
  }

  #lend(channel: CallChannel): Acquired {
    this.#busy.add(channel);
    return { kind: "acquired", channel };
  }

  async #open(address: SocketAddress): Promise<Acquired> {
    const { executor, account, limits } = this.#options;
    const generation = this.#generation;
    const opened = await this.#track(executor.open(address, limits.connectTimeoutMs, limits.brokerTimeoutMs));
    if (opened.kind !== "open") return opened;
    const channel: CallChannel = { socket: opened.socket, generation };
    const login = await this.call(channel, loginBody(this.#options, "call"), null, limits.requestTimeoutMs);
    const refusal = loginRefusal(login, account);
    if (refusal === null && generation === this.#generation) return { kind: "acquired", channel };
    channel.socket.end();
    if (login.kind === "dropped") return login;
    if (isLockstepError(refusal, "login_refused")) this.#options.onLoginRefused(refusal.message);
    return refusal === null ? { kind: "dropped", cause: "session_down", detail: "the session ended while a call channel was opened" } : { kind: "failed", detail: refusal.message };
  }

  async #track<T>(handed: Handed<T>): Promise<T> {
    this.#handed.add(handed);
    try {
      return await handed.outcome;
    } finally {
      this.#handed.delete(handed);
    }
  }
}

/** Null: the call channel is logged in, as the account that was meant. */
function loginRefusal(login: ChannelOutcome, account: Account): LockstepError | null {
  if (login.kind !== "answered") return new LockstepError("unreachable", login.detail);
  if (!("id" in login.message)) return new LockstepError("unreachable", `expected a welcome, got ${login.message.t}`);
  try {
    readWelcome(login.message, account, "mt4");
    return null;
  } catch (error) {
    return error instanceof LockstepError ? error : new LockstepError("unreachable", messageOf(error), error);
  }
}
