// Owns one socket of the server: bytes in become requests, messages become bytes out.
//
// 1. It ends once, whoever ends it; `ended` is told once, and nothing is read or sent afterwards.
// 2. What the other side may make us hold is bounded: unfinished frames in, unsent bytes out.
// 3. A connection that does not log in, or does not leave when told to, is dropped.

import type { Socket } from "node:net";
import { isLockstepError } from "../../protocol/errors.ts";
import { encodeFrame, FrameReader } from "../../protocol/frames.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { WireErrorCode, WireMessage, WireRequest } from "../../protocol/wire.ts";
import { readRequest } from "./wireRequests.ts";

/** Requests are small; a client that sends more than this without finishing one does not speak the protocol. */
const MAX_UNFINISHED_BYTES = 64 * 1024;
/** How long a connection that was told to go may take to go. */
const LEAVE_MS = 1000;

export interface ConnectionLimits {
  /** Bytes that wait to be read by the other side. */
  readonly maxBacklogBytes: number;
  readonly loginTimeoutMs: number;
}

export interface ConnectionOwner {
  request(connection: Connection, request: WireRequest): void;
  ended(connection: Connection, cause: string): void;
  /** Whether nothing may be said on the account's connections now. */
  isMute(account: AccountId): boolean;
}

export interface Login {
  readonly account: AccountId;
  readonly channel: "session" | "call";
  /** Of the monotonic clock. */
  readonly atMs: number;
}

export class Connection {
  readonly number: number;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #clock: Clock;
  readonly #limits: ConnectionLimits;
  readonly #reader = new FrameReader();
  #unfinishedBytes = 0;
  #login: Login | null = null;
  #ended = false;
  #deadline: Timer;

  constructor(socket: Socket, number: number, owner: ConnectionOwner, clock: Clock, limits: ConnectionLimits) {
    this.number = number;
    this.#socket = socket;
    this.#owner = owner;
    this.#clock = clock;
    this.#limits = limits;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#end(`connection broke: ${error.message}`));
    socket.on("close", () => {
      this.#deadline.cancel();
      this.#end("closed by the client");
    });
    this.#deadline = clock.after(limits.loginTimeoutMs, () => this.fail(null, "not_logged_in", "no login in time")); // 3
  }

  get login(): Login | null {
    return this.#login;
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  /** Half open: nothing that is sent now arrives. */
  get isMute(): boolean {
    return this.#login !== null && this.#owner.isMute(this.#login.account);
  }

  loggedIn(login: Login): void {
    this.#login = login;
    this.#deadline.cancel();
  }

  send(message: WireMessage): void {
    if (this.#ended || this.isMute) return; // 1
    this.#socket.write(encodeFrame(message));
    if (this.#socket.writableLength > this.#limits.maxBacklogBytes) this.cut("reads too slowly"); // 2
  }

  /** Answers with an error; any but `unsupported` is the last thing said. */
  fail(id: number | null, code: WireErrorCode, text: string): void {
    this.send({ t: "error", id, code, text });
    if (code !== "unsupported") this.#leave(`${code}: ${text}`);
  }

  /** Tells the client that it is thrown out, and why. */
  kick(text: string): void {
    this.send({ t: "kicked", text });
    this.#leave(`kicked: ${text}`);
  }

  /** Breaks the connection without a word. */
  cut(cause: string): void {
    this.#end(cause);
    this.#socket.destroy();
  }

  /** Asked anew for every message: the one before may have ended the connection. */
  #hasEnded(): boolean {
    return this.#ended;
  }

  #take(chunk: Buffer): void {
    if (this.#ended) return; // 1
    let messages: Record<string, unknown>[];
    try {
      messages = this.#reader.push(chunk);
    } catch (error) {
      if (!isLockstepError(error, "malformed")) throw error;
      return this.fail(null, "malformed", error.message);
    }
    this.#unfinishedBytes = messages.length > 0 ? 0 : this.#unfinishedBytes + chunk.length;
    for (const message of messages) {
      if (this.#hasEnded()) return; // 1
      const read = readRequest(message);
      if (read.kind === "read") this.#owner.request(this, read.request);
      else this.fail(read.id, read.code, read.text);
    }
    if (this.#unfinishedBytes > MAX_UNFINISHED_BYTES) this.fail(null, "malformed", `more than ${MAX_UNFINISHED_BYTES} bytes without a whole request`); // 2
  }

  /** Lets what was sent arrive, then closes: at once when the client does, else after a while. */
  #leave(cause: string): void {
    this.#end(cause);
    if (this.#socket.destroyed) return;
    this.#socket.end();
    this.#deadline.cancel();
    this.#deadline = this.#clock.after(LEAVE_MS, () => this.#socket.destroy()); // 3
  }

  #end(cause: string): void {
    if (this.#ended) return; // 1
    this.#ended = true;
    this.#owner.ended(this, cause);
  }
}
