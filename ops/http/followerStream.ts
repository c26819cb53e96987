// Owns one client's stream of a follower's events (server-sent events).
//
// 1. It slows nothing: what it is told waits in a bounded list for a turn of its own, and a client that does not keep
//    up is dropped, and told why.
// 2. Nothing is said without a lease: the gate is asked before every write. The stream ends at the trip itself, and
//    where nobody noted that, at the next heartbeat.
// 3. The last event is `end`, with the reason.

import type { FastifyReply } from "fastify";
import type { FollowerNews, Listener } from "../../actors/shell/followerFeed.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Identity } from "../../protocol/ports/storage.ts";
import type { Door } from "../followerDoor.ts";

export interface StreamOptions {
  readonly door: Door;
  readonly me: Identity;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Below what proxies and our own server take for a dead connection. */
const HEARTBEAT_MS = 3_000;
/** For one client: news that wait for their turn, and bytes that the client has not read. */
const MOST_WAITING = 1_000;
const MOST_UNREAD_BYTES = 262_144;
/** For a client that does not read: then the connection is cut. */
const LAST_WORD_MS = 2_000;

export const LEASE_LOST = "lease lost; retry";

/** Answers the request with a stream that lives until it is ended by either side. */
export function followerStream(reply: FastifyReply, account: AccountId, options: StreamOptions): void {
  reply.hijack();
  new FollowerStream(reply.raw, account, options).open();
}

class FollowerStream implements Listener {
  readonly #response: FastifyReply["raw"];
  readonly #account: AccountId;
  readonly #options: StreamOptions;
  #waiting: FollowerNews[] = [];
  #beat: Timer | null = null;
  #ended = false;

  constructor(response: FastifyReply["raw"], account: AccountId, options: StreamOptions) {
    this.#response = response;
    this.#account = account;
    this.#options = options;
  }

  open(): void {
    const { door, me } = this.#options;
    this.#response.on("close", () => this.#leave());
    this.#response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no" });
    this.#write("open", { follower: this.#account, ...me });
    door.listen(this.#account, this);
    this.#heartbeat();
  }

  tell(news: FollowerNews): void {
    if (this.#ended) return;
    if (this.#waiting.push(news) > MOST_WAITING) return this.end("too slow: what waits for this client is too much");
    if (this.#waiting.length === 1) this.#options.clock.soon(() => this.#flush());
  }

  /** Invariant 3. */
  end(why: string): void {
    if (this.#ended) return;
    this.#leave();
    this.#options.logger.info({ follower: this.#account, why }, "event stream ended");
    this.#response.end(textOf("end", { why }));
    const timer = this.#options.clock.after(LAST_WORD_MS, () => this.#response.destroy());
    this.#response.on("close", () => timer.cancel());
  }

  #flush(): void {
    const news = this.#waiting;
    this.#waiting = [];
    if (this.#ended) return;
    if (!this.#mayTell()) return this.end(LEASE_LOST);
    for (const { event, ...more } of news) this.#write(event, more);
    if (this.#response.writableLength > MOST_UNREAD_BYTES) this.end("too slow: this client does not read"); // 1
  }

  #heartbeat(): void {
    this.#beat = this.#options.clock.after(HEARTBEAT_MS, () => {
      if (!this.#mayTell()) return this.end(LEASE_LOST);
      this.#response.write(": here\n\n");
      this.#heartbeat();
    });
  }

  /** Invariant 2. */
  #mayTell(): boolean {
    return this.#options.door.standing(this.#account) === "open";
  }

  #write(event: string, data: object): void {
    this.#response.write(textOf(event, data));
  }

  #leave(): void {
    this.#ended = true;
    this.#beat?.cancel();
    this.#options.door.leave(this.#account, this);
  }
}

const textOf = (event: string, data: object): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
