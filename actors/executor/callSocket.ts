// Owns one broker socket's descriptor, from its birth to its close.
//
// 1. The main thread makes, shuts down and closes it; hosts only connect, send and receive.
// 2. It is closed only when no lane can be in a call on it: a descriptor that were closed earlier
//    would be given to another account's socket, and the lane would read that.
// 3. Ending a socket that a lane waits on is a shutdown: the lane returns, and then it is closed.

import { closeSocket, peek, shutdownSocket, tcpSocket, type SocketAddress } from "./native.ts";

export class CallSocket {
  readonly fd: number;
  #lanes = 0;
  #ended = false;
  #closed = false;

  /** @throws Error when the system has no descriptor left. */
  constructor(family: SocketAddress["family"], userTimeoutMs: number) {
    this.fd = tcpSocket(family, userTimeoutMs);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Whether a call may be made: not ended by us, not by the broker, and nothing unread (a late answer) in it. */
  usable(): boolean {
    return !this.#ended && peek(this.fd) === "quiet";
  }

  /** A lane may be in a call on it from now on. Never after its end (2). */
  enter(): void {
    if (this.#ended) throw new Error("a call on a socket that was ended");
    this.#lanes += 1;
  }

  /** That lane has returned. */
  leave(): void {
    this.#lanes -= 1;
    this.#closeWhenFree();
  }

  /** Ends the connection at once and closes the descriptor as soon as it may be. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    shutdownSocket(this.fd); // (3)
    this.#closeWhenFree();
  }

  #closeWhenFree(): void {
    if (!this.#ended || this.#closed || this.#lanes > 0) return; // (2)
    this.#closed = true;
    closeSocket(this.fd);
  }
}
