// Owns the running broker of a test: a real server on a free port, with a clock whose timers wait
// until the test lets time pass.

import type { TestContext } from "node:test";
import type { Clock, Timer } from "../../../protocol/ports/clock.ts";
import type { BrokerLogEntry } from "../../../ops/broker/log.ts";
import { MemoryLogSink } from "../../../ops/broker/logSinks.ts";
import { BROKER_SERVER_DEFAULTS, BrokerServer, type BrokerServerOptions } from "../../../ops/broker/server.ts";
import { ASK, BID, mt4Account, mt5Account } from "./market.ts";
import { RawClient } from "./rawClient.ts";

/** Time passes only by `pass`. */
export class HeldClock implements Clock {
  nowMs = 1_700_000_000_000;
  #timers: { readonly atMs: number; readonly fn: () => void }[] = [];

  wallMs = (): number => this.nowMs;
  monotonicMs = (): number => this.nowMs;

  after(delayMs: number, fn: () => void): Timer {
    const timer = { atMs: this.nowMs + delayMs, fn };
    this.#timers.push(timer);
    return { cancel: () => void (this.#timers = this.#timers.filter((one) => one !== timer)) };
  }

  soon(fn: () => void): void {
    this.after(0, fn);
  }

  get waiting(): number {
    return this.#timers.length;
  }

  pass(ms: number): void {
    this.nowMs += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.nowMs);
    this.#timers = this.#timers.filter(({ atMs }) => atMs > this.nowMs);
    for (const { fn } of due) fn();
  }
}

export interface Running {
  readonly server: BrokerServer;
  readonly port: number;
  readonly clock: HeldClock;
  readonly sink: MemoryLogSink;
  readonly session: (login?: 1 | 2) => Promise<RawClient>;
  readonly call: (login?: 1 | 2) => Promise<RawClient>;
}

/** A server with the two accounts of market.ts, priced, answering at once unless told otherwise. Ends with the test. */
export async function running(t: TestContext, more: Partial<BrokerServerOptions> = {}, wantedPort = 0): Promise<Running> {
  const clock = new HeldClock();
  const sink = new MemoryLogSink(100_000);
  const server = new BrokerServer({
    ...BROKER_SERVER_DEFAULTS,
    answerDelayMs: 0,
    instruments: [{ name: "eurusd", digits: 5 }],
    accounts: [mt4Account, mt5Account],
    clock,
    timeBaseMs: clock.wallMs,
    logSinks: [sink],
    ...more,
  });
  const clients: RawClient[] = [];
  t.after(async () => {
    for (const { socket } of clients) socket.destroy();
    await server.close();
  });
  server.setQuotes([{ instrument: "eurusd", bid: BID, ask: ASK }]);
  const port = await server.listen(wantedPort, "127.0.0.1");
  const join = async (login: 1 | 2, channel: "session" | "call"): Promise<RawClient> => {
    const client = await RawClient.loggedIn(port, login, login === 1 ? "one" : "two", channel);
    clients.push(client);
    return client;
  };
  return { server, port, clock, sink, session: (login = 1) => join(login, "session"), call: (login = 1) => join(login, "call") };
}

type EntryOf<K extends BrokerLogEntry["kind"]> = Extract<BrokerLogEntry, { kind: K }>;

export function entriesOf<K extends BrokerLogEntry["kind"]>(sink: MemoryLogSink, kind: K): EntryOf<K>[] {
  return sink.entries.filter((entry): entry is EntryOf<K> => entry.kind === kind);
}

/** Pings until the log has such an entry: what the server does meanwhile is done. */
export async function untilLogged(sink: MemoryLogSink, kind: BrokerLogEntry["kind"], by: RawClient): Promise<void> {
  while (entriesOf(sink, kind).length === 0) await by.ping();
}
