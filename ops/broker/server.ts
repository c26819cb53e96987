// Owns the simulated broker as a server: sockets, logins and sessions around a Broker.
//
// 1. An account has at most one session; a new one throws the old one out. Call channels are as
//    many as the connections allow.
// 2. Pushes go to the session alone (pushes.ts).
// 3. After `close` nothing is left: no socket, no timer, and the log is written.
// 4. A server that is down is one under a restart: whoever comes is reset at once, and what is open, what
//    happened and what is still to happen late is kept. The port stays its own.

import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { LockstepError, messageOf, unreachable } from "../../protocol/errors.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { BrokerMs } from "../../protocol/units.ts";
import type { WireRequest } from "../../protocol/wire.ts";
import type { BrokerAccount, Instrument, InstrumentQuote } from "./accounts.ts";
import { Broker } from "./broker.ts";
import { Connection, type ConnectionLimits, type ConnectionOwner } from "./connection.ts";
import type { EngineLimits } from "./engine/state.ts";
import { Faults, type ConnectionFault } from "./faults.ts";
import { HalfOpen } from "./halfOpen.ts";
import { BrokerLog, type BrokerLogSink } from "./log.ts";
import { OrderDesk } from "./orderDesk.ts";
import { Pushes } from "./pushes.ts";
import { Trader } from "./trader.ts";

export interface BrokerServerOptions extends EngineLimits, ConnectionLimits {
  readonly instruments: readonly Instrument[];
  readonly accounts: readonly BrokerAccount[];
  /** Timers; its wall clock is not looked at. */
  readonly clock: Clock;
  /** What the broker's clock is made of, milliseconds since 1970: a wall clock, or simulated time. */
  readonly timeBaseMs: () => number;
  /** The broker's clock is the time base plus this. */
  readonly clockOffsetMs: number;
  readonly logSinks: readonly BrokerLogSink[];
  /** From the execution of an order to its answer. */
  readonly answerDelayMs: number;
  /** Orders of one account that wait for an answer. One more is answered `flood` and the connection closed. */
  readonly maxUnanswered: number;
  readonly maxConnections: number;
}

export const BROKER_SERVER_DEFAULTS = {
  clockOffsetMs: 0,
  answerDelayMs: 130,
  maxUnanswered: 64,
  maxOpen: 1000,
  // A whole history then fits into one frame of a snapshot.
  maxHistory: 20_000,
  maxConnections: 8192,
  maxBacklogBytes: 32 * 1024 * 1024,
  loginTimeoutMs: 10_000,
} as const satisfies Partial<BrokerServerOptions>;

export class BrokerServer {
  readonly broker: Broker;
  readonly log: BrokerLog;
  readonly faults: Faults;
  readonly #options: BrokerServerOptions;
  readonly #desk: OrderDesk;
  readonly #pushes: Pushes;
  readonly #halfOpen: HalfOpen;
  readonly #byLogin: ReadonlyMap<number, BrokerAccount>;
  readonly #connections = new Set<Connection>();
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Map<AccountId, Connection>();
  readonly #server: Server;
  readonly #owner: ConnectionOwner = {
    request: (connection, request) => this.#request(connection, request),
    ended: (connection, cause) => this.#ended(connection, cause),
    isMute: (account) => this.#halfOpen.isMute(account),
  };
  #connectionCount = 0;
  #isDown = false;

  /** @throws LockstepError `configuration` for instruments or accounts that do not fit together */
  constructor(options: BrokerServerOptions) {
    this.#options = options;
    const nowMs = (): BrokerMs => this.nowMs();
    this.log = new BrokerLog(options.logSinks, nowMs);
    this.broker = new Broker({ ...options, log: this.log, nowMs });
    this.#pushes = new Pushes(this.#sessions, this.log);
    this.broker.listen(this.#pushes);
    this.faults = new Faults((account, fault) => this.#strike(account, fault));
    this.#halfOpen = new HalfOpen(options.clock);
    this.#desk = new OrderDesk({ ...options, broker: this.broker, faults: this.faults, pushes: this.#pushes, log: this.log, nowMs });
    this.#byLogin = new Map(options.accounts.map((account) => [account.login, account]));
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.maxConnections = options.maxConnections;
  }

  /** The broker's clock, in whole milliseconds. */
  nowMs(): BrokerMs {
    return Math.floor(this.#options.timeBaseMs() + this.#options.clockOffsetMs) as BrokerMs;
  }

  /**
   * Takes connections from now on. Port 0 takes a free one.
   * @returns the port
   * @throws LockstepError `configuration` when the address cannot be used
   */
  async listen(port: number, host: string): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (error) => reject(new LockstepError("configuration", `cannot listen on ${host}:${port}: ${messageOf(error)}`, error)));
      this.#server.listen(port, host, resolve);
    });
    // A connection that could not be accepted is that client's loss alone.
    this.#server.removeAllListeners("error").on("error", () => {});
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends every connection and closes the log. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.cut("server stopped");
    for (const socket of this.#sockets) socket.destroy(); // 3: also those that were told to leave
    this.#desk.close(); // 3
    this.#halfOpen.close(); // 3
    await closed;
    this.log.close();
  }

  /** Ends every connection and takes no more until `up` (4). */
  down(): void {
    this.#isDown = true;
    for (const connection of this.#connections) connection.cut("server restarts");
    for (const socket of this.#sockets) socket.destroy();
  }

  up(): void {
    this.#isDown = false;
  }

  /**
   * The hand of the person at an account's terminal.
   * @throws LockstepError `invalid_value` for an account this broker does not have
   */
  trader(account: AccountId): Trader {
    return new Trader(this.broker, this.log, account);
  }

  /** See `Broker.setQuotes`. */
  setQuotes(quotes: readonly InstrumentQuote[]): void {
    this.broker.setQuotes(quotes);
  }

  #request(connection: Connection, request: WireRequest): void {
    if (request.t === "login") return this.#login(connection, request);
    const { login } = connection;
    if (login === null) return connection.fail(request.id, "not_logged_in", `${request.t} before a login`);
    if (this.#halfOpen.isDeaf(login.account)) return;
    switch (request.t) {
      case "order":
        if (!this.#desk.take(connection, login.account, request)) {
          connection.fail(request.id, "flood", `more than ${this.#options.maxUnanswered} orders wait for an answer`);
        }
        return;
      case "snapshot":
        return connection.send({ t: "snapshot", id: request.id, snapshot: this.broker.toldSnapshot(login.account, request.historyFromMs, this.#options.clock.monotonicMs() - login.atMs) });
      case "ping":
        return connection.send({ t: "pong", id: request.id, brokerMs: this.nowMs() });
      default:
        return unreachable(request);
    }
  }

  #ended(connection: Connection, cause: string): void {
    this.#connections.delete(connection);
    const account = connection.login?.account ?? null;
    if (account !== null && this.#sessions.get(account) === connection) this.#sessions.delete(account);
    this.log.append({ kind: "disconnect", account, connection: connection.number, cause });
    this.#desk.abandon(connection, cause);
  }

  #accept(socket: Socket): void {
    if (this.#isDown) {
      socket.on("error", () => undefined);
      return void socket.resetAndDestroy(); // 4
    }
    this.#connectionCount += 1;
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    this.#connections.add(new Connection(socket, this.#connectionCount, this.#owner, this.#options.clock, this.#options));
  }

  #login(connection: Connection, { id, login, password, channel, client }: Extract<WireRequest, { t: "login" }>): void {
    if (connection.login !== null) return connection.fail(id, "malformed", "logged in already");
    const found = this.#byLogin.get(login);
    const entry = { kind: "login", account: found?.account ?? null, connection: connection.number, login, channel, client: client ?? null } as const;
    if (found === undefined || found.password !== password) {
      this.log.append({ ...entry, refused: found === undefined ? "no such login" : "wrong password" });
      return connection.fail(id, "bad_login", "no such login, or a wrong password");
    }
    const { account, platform } = found;
    this.log.append({ ...entry, refused: null });
    // Before the connection counts as the account's: a half-open one is welcomed too.
    connection.send({ t: "welcome", id, account, platform, brokerMs: this.nowMs(), symbols: this.broker.specs(account), quotes: this.broker.quotes(account) });
    connection.loggedIn({ account, channel, atMs: this.#options.clock.monotonicMs() });
    if (channel === "session") {
      this.#sessions.get(account)?.kick("somebody else logged in"); // 1
      this.#sessions.set(account, connection); // 2
    }
  }

  #strike(account: AccountId, fault: ConnectionFault): void {
    this.log.append({ kind: "fault", account, fault, requestN: null });
    switch (fault.kind) {
      case "kick":
        return this.#sessions.get(account)?.kick(fault.text);
      case "cut":
        for (const connection of this.#connections) if (connection.login?.account === account) connection.cut("fault: cut");
        return;
      case "half_open":
        return this.#halfOpen.begin(account, fault, () => this.#strike(account, { kind: "heal" }));
      case "heal":
        return this.#halfOpen.heal(account);
      case "miss_changes":
        return this.#pushes.miss(account, fault.count);
      default:
        return unreachable(fault);
    }
  }
}
