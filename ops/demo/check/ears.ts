// Owns when an account's session heard what happened on it, as far as the broker's log can tell.
//
// 1. It hears while a session is logged in, not before the first login, and not until it has had
//    time to take in how things stand; longer while its broker is loading or lies about that.
// 2. A half-open connection hears nothing, and does not know that: it notices by its pings.
// 3. What a session was not told it learns at its next login.
// 4. Where another client's session follows, the account had another owner; from the one's end to the
//    other's beginning it had none.

import type { BrokerLogEntry } from "../../broker/log.ts";
import type { Quirks } from "../../broker/quirks.ts";
import type { Span } from "./periods.ts";

/** From a login to the last action that follows from what the session was then told. */
export const RESYNC_MS = 2_000;
/** How long a client may take to notice that its connection had gone silent. */
export const NOTICE_MS = 10_000;

export type EarsEntry = Extract<BrokerLogEntry, { kind: "login" | "disconnect" | "fault" | "missed" | "quirks" }>;

export class Ears {
  /** When a connection of the account ended: what was on its way to the broker then may be lost. */
  readonly cutsMs: number[] = [];
  /** From the end of one owner's session to the login of another's (4). */
  readonly moves: Span[] = [];
  readonly #past: Span[] = [];
  readonly #sessions = new Set<number>();
  #silentSinceMs: number | null = -Infinity;
  /** Whose session was the last one; null: it did not say. */
  #client: string | null = null;
  /** Half open, and when that ends by itself. */
  #mute: Span | null = null;
  #unawareSinceMs: number | null = null;
  #missedSinceMs: number | null = null;
  /** A session came while its broker lied or loaded without end. */
  #misledSinceMs: number | null = null;
  #snapshots: Quirks["snapshots"] = null;

  take(entry: EarsEntry): void {
    switch (entry.kind) {
      case "login":
        if (entry.channel === "session" && entry.refused === null) this.#login(entry.connection, entry.client, entry.atMs);
        return;
      case "disconnect":
        this.cutsMs.push(entry.atMs);
        if (this.#sessions.delete(entry.connection) && this.#sessions.size === 0) this.#silentSinceMs = entry.atMs;
        return;
      case "fault":
        if (entry.fault.kind === "half_open") this.#mute = { fromMs: this.#mute?.fromMs ?? entry.atMs, toMs: entry.atMs + (entry.fault.forMs ?? Infinity) };
        if (entry.fault.kind === "heal") this.#heal(entry.atMs);
        return;
      case "missed":
        this.#missedSinceMs ??= entry.atMs; // 3
        return;
      case "quirks":
        if (this.#misledSinceMs !== null) this.#deaf(this.#misledSinceMs, entry.atMs + RESYNC_MS);
        this.#misledSinceMs = null;
        this.#snapshots = entry.quirks.snapshots;
    }
  }

  /** When it heard nothing, in no order. What was not over at the end of the log has no end. */
  deaf(): Span[] {
    const open = [this.#silentSinceMs, this.#missedSinceMs, this.#misledSinceMs].flatMap((fromMs) => (fromMs === null ? [] : [{ fromMs, toMs: Infinity }]));
    const unaware = this.#unawareSinceMs === null ? [] : [{ fromMs: this.#unawareSinceMs, toMs: this.#unawareSinceMs + NOTICE_MS }];
    return [...this.#past, ...open, ...unaware, ...(this.#mute === null ? [] : [this.#mute])];
  }

  #login(connection: number, client: string | null, atMs: number): void {
    if (this.#client !== null && client !== null && client !== this.#client) this.moves.push({ fromMs: this.#silentSinceMs ?? atMs, toMs: atMs }); // 4
    this.#client = client;
    const toMs = atMs + RESYNC_MS + (this.#snapshots?.forMs ?? 0); // 1
    this.#deaf(this.#silentSinceMs ?? atMs, toMs);
    if (this.#missedSinceMs !== null) this.#deaf(this.#missedSinceMs, toMs); // 3
    if (this.#unawareSinceMs !== null) this.#deaf(this.#unawareSinceMs, Math.min(toMs, this.#unawareSinceMs + NOTICE_MS)); // 2
    if (this.#snapshots?.forMs === null) this.#misledSinceMs ??= atMs;
    this.#silentSinceMs = this.#missedSinceMs = this.#unawareSinceMs = null;
    this.#sessions.add(connection);
  }

  #heal(atMs: number): void {
    if (this.#mute === null) return;
    this.#deaf(this.#mute.fromMs, atMs);
    this.#mute = null;
    this.#unawareSinceMs = atMs; // 2
  }

  #deaf(fromMs: number, toMs: number): void {
    this.#past.push({ fromMs, toMs });
  }
}
