// Owns what MT4-like and MT5-like sessions share: the session channel with its login, reconnects,
// snapshots, changes and quotes. How an order is sent is each driver's own.
//
// 1. `connected` and `disconnected` alternate, beginning with `connected`; changes come only between
//    them. A change that arrives before the snapshot of its login is contained in it.
// 2. A connection's events count only while it is the current one.
// 3. After `close` nothing is sent, told or tried again.
// 4. A refused login, on whichever channel, is told once and not repeated: a try that waits or is under
//    way is given up. All other trouble is tried again after a pause. Every try waits for its turn at
//    its broker.
// 5. Nobody logs in who may not trade: an account has one session at its broker, and a login takes it from
//    whoever owns the account by now. It is asked before a connection is made, and again when it stands, in the
//    turn of the login. A session that is up stays.

import type { Account } from "../../protocol/accounts.ts";
import { isLockstepError, LockstepError, messageOf, unreachable } from "../../protocol/errors.ts";
import type { AccountId, SymbolName } from "../../protocol/ids.ts";
import type { Answer, DropCause, Execution, Order, Permit } from "../../protocol/orders.ts";
import type { BrokerSession, SessionEvent } from "../../protocol/ports/broker.ts";
import type { Clock, Random, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { AccountChange, AccountSnapshot, Platform, Quote, SymbolSpec } from "../../protocol/trades.ts";
import type { BrokerMs } from "../../protocol/units.ts";
import type { WireErrorCode, WireMessage, WirePush, WireResponse, WireWelcome } from "../../protocol/wire.ts";
import { brokerAddress, type BrokerAddress } from "./brokerAddress.ts";
import type { LoginPacer } from "./loginPacer.ts";
import { answerOf, type PlatformAnswer } from "./orderAnswers.ts";
import { Reconnect } from "./reconnect.ts";
import type { SessionLimits } from "./sessionLimits.ts";
import { SymbolTable } from "./symbolTable.ts";
import { WireConnection, type Reply } from "./wireConnection.ts";
import type { RequestBody } from "./wireMessages.ts";

export interface WireSessionOptions {
  readonly account: Account;
  /** What the account's credentials reference was resolved to. */
  readonly password: string;
  /** How it names itself to the broker; default: not at all. */
  readonly client?: string;
  /** Whether this process may trade the account now (5); default: always. */
  readonly mayLogIn?: () => boolean;
  readonly limits: SessionLimits;
  /** One for all sessions of the process. */
  readonly pacer: Pick<LoginPacer, "reserve">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Of a broker's text that is stored. */
const MAX_REASON = 200;
/** How soon it is seen that a session may be had again. */
const ASK_AGAIN_MS = 200;

/** A reading of the broker's clock, and when it was taken. */
interface BrokerTime {
  readonly brokerMs: number;
  readonly atMs: number;
}

export abstract class WireSession implements BrokerSession {
  readonly account: AccountId;
  abstract readonly platform: Platform;
  protected readonly options: WireSessionOptions;
  readonly #address: BrokerAddress;
  readonly #symbols = new SymbolTable();
  readonly #reconnect: Reconnect;
  #onEvent: ((event: SessionEvent) => void) | null = null;
  #connection: WireConnection | null = null;
  #turn: Timer | null = null;
  #waitsForTurn = false;
  #up = false;
  #closed = false;
  #refused = false;
  #brokerTime: BrokerTime | null = null;

  /** @throws LockstepError `invalid_value` for an address that is none, `configuration` for pauses that make no sense */
  constructor(options: WireSessionOptions) {
    this.account = options.account.id;
    this.#address = brokerAddress(options.account.broker);
    this.options = options;
    this.#reconnect = new Reconnect(
      { clock: options.clock, random: options.random, minMs: options.limits.reconnectMinMs, maxMs: options.limits.reconnectMaxMs },
      () => this.#connectInTurn(),
    );
  }

  abstract execute(order: Order, permit: Permit): Promise<Execution>;
  /** Logged in and loaded, before `connected` is told. */
  protected abstract onUp(connection: WireConnection): void;
  /** The session channel is gone, or the session closes. */
  protected abstract onDown(detail: string): void;
  protected abstract onChange(change: AccountChange): void;

  open(onEvent: (event: SessionEvent) => void): void {
    if (this.#onEvent !== null) throw new LockstepError("invalid_value", `session of ${this.account} was opened twice`);
    this.#onEvent = onEvent;
    this.#connectInTurn();
  }

  get waitsForTurn(): boolean {
    return this.#waitsForTurn;
  }

  spec(symbol: SymbolName): SymbolSpec | null {
    return this.#symbols.spec(symbol);
  }

  symbols(): readonly SymbolSpec[] {
    return this.#symbols.all();
  }

  quote(symbol: SymbolName): Quote | null {
    return this.#symbols.quote(symbol);
  }

  brokerNowMs(): BrokerMs | null {
    if (this.#brokerTime === null) return null;
    return (this.#brokerTime.brokerMs + this.options.clock.monotonicMs() - this.#brokerTime.atMs) as BrokerMs;
  }

  async snapshot(historyFromMs: BrokerMs): Promise<AccountSnapshot> {
    if (this.#connection === null) throw new LockstepError("unreachable", `no session of ${this.account}`);
    return this.#snapshotOn(this.#connection, historyFromMs);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tryNoMore();
    this.#up = false;
    this.onDown("the session was closed");
    this.#connection?.end("the session was closed");
  }

  /** The connection that may be used for orders now; null while there is none. */
  protected get liveConnection(): WireConnection | null {
    return this.#up ? this.#connection : null;
  }

  protected get closed(): boolean {
    return this.#closed;
  }

  /** Why nothing can be sent now. */
  protected notNow(): Execution {
    return this.#closed ? dropped("stopped", "the session was closed") : dropped("session_down", "no session with the broker");
  }

  /** What the broker's answer to an order comes to. */
  protected executed(order: Order, message: WireMessage, platformAnswer: PlatformAnswer, callMadeAtMs: number | null): Execution {
    const answer = answerOf(order, message, platformAnswer);
    if ("brokerMs" in answer) this.heardBrokerTime(answer.brokerMs);
    return answered(answer, callMadeAtMs);
  }

  /** A reading that is behind what we carried forward only took longer to arrive. */
  protected heardBrokerTime(brokerMs: number): void {
    if (brokerMs > (this.brokerNowMs() ?? -Infinity)) this.#brokerTime = { brokerMs, atMs: this.options.clock.monotonicMs() };
  }

  /** The broker refused this account's login (4). */
  protected refuse(detail: string): void {
    if (this.#isOver) return;
    this.#refused = true;
    this.#tryNoMore();
    const told = detail.slice(0, MAX_REASON);
    this.#connection?.end(told);
    this.#onEvent?.({ kind: "refused", detail: told });
  }

  /** How long the next login is to wait for its turn; null: too many wait. */
  protected loginTurn(): number | null {
    return this.options.pacer.reserve(this.#address.host);
  }

  /** It never comes up again (3, 4). */
  get #isOver(): boolean {
    return this.#closed || this.#refused;
  }

  #tryNoMore(): void {
    this.#reconnect.stop();
    this.#turn?.cancel();
  }

  #mayLogIn(): boolean {
    return this.options.mayLogIn?.() ?? true;
  }

  #connectInTurn(): void {
    const { clock, log } = this.options;
    if (!this.#mayLogIn()) return void (this.#turn = clock.after(ASK_AGAIN_MS, () => this.#connectInTurn())); // (5)
    const waitMs = this.loginTurn();
    this.#waitsForTurn = true;
    if (waitMs !== null) this.#turn = clock.after(waitMs, () => void this.#connect());
    else log.warn({ account: this.account, retryMs: Math.round(this.#reconnect.failed()) }, "too many logins wait at this broker");
  }

  async #connect(): Promise<void> {
    const { log, limits, clock } = this.options;
    this.#waitsForTurn = false;
    if (!this.#mayLogIn()) return this.#connectInTurn(); // (5) it had to wait
    let connection: WireConnection | null = null;
    try {
      const made: WireConnection = await WireConnection.open(this.#address, {
        clock,
        connectTimeoutMs: limits.connectTimeoutMs,
        maxInFlight: limits.maxInFlight,
        pingEveryMs: limits.pingEveryMs,
        pingTimeoutMs: limits.pingTimeoutMs,
        onPush: (push) => this.#pushed(made, push),
        onEnd: (detail) => this.#ended(made, detail),
      });
      if (this.#isOver) return made.end("the session is over"); // (3, 4)
      if (!this.#mayLogIn()) {
        made.end("the account may not be traded any more");
        return this.#connectInTurn(); // (5) connecting took time
      }
      connection = this.#connection = made;
      const welcome = await this.#login(made);
      const snapshot = await this.#snapshotOn(made, (welcome.brokerMs - limits.historyMs) as BrokerMs);
      if (this.#connection !== made) return; // (2)
      this.#up = true;
      this.#reconnect.succeeded();
      this.onUp(made);
      this.#onEvent?.({ kind: "connected", snapshot });
    } catch (error) {
      if (this.#isOver) return;
      if (isLockstepError(error, "login_refused")) return this.refuse(messageOf(error));
      // The end of a connection that was made schedules the next try itself, once.
      if (connection !== null) return connection.end(messageOf(error));
      log.warn({ account: this.account, detail: messageOf(error), retryMs: Math.round(this.#reconnect.failed()) }, "no session with the broker");
    }
  }

  async #login(connection: WireConnection): Promise<WireWelcome> {
    const { account, limits } = this.options;
    const reply = await connection.request(loginBody(this.options, "session"), limits.requestTimeoutMs);
    const welcome = readWelcome(responseOf(reply), account, this.platform);
    this.#symbols.load(welcome.symbols, welcome.quotes);
    this.#brokerTime = { brokerMs: welcome.brokerMs, atMs: this.options.clock.monotonicMs() };
    return welcome;
  }

  async #snapshotOn(connection: WireConnection, historyFromMs: BrokerMs): Promise<AccountSnapshot> {
    const reply = await connection.request({ t: "snapshot", historyFromMs }, this.options.limits.requestTimeoutMs);
    const response = responseOf(reply);
    if (response.t !== "snapshot") throw new LockstepError("unreachable", `no snapshot of ${this.account}: ${describe(response)}`);
    this.heardBrokerTime(response.snapshot.takenAtMs);
    return response.snapshot;
  }

  #pushed(connection: WireConnection, push: WirePush): void {
    if (this.#connection !== connection) return; // (2)
    switch (push.t) {
      case "quotes":
        return this.#symbols.update(push.quotes);
      case "change":
        this.heardBrokerTime(push.change.brokerMs);
        if (!this.#up) return; // (1)
        this.onChange(push.change);
        this.#onEvent?.({ kind: "changed", change: push.change, callbackAtMs: this.options.clock.wallMs() });
        return;
      case "kicked":
        return connection.end(`kicked by the broker: ${push.text}`);
      default:
        return unreachable(push);
    }
  }

  #ended(connection: WireConnection, detail: string): void {
    if (this.#connection !== connection) return; // (2)
    this.#connection = null;
    if (this.#closed) return; // (3)
    const wasUp = this.#up;
    const retryMs = this.#refused ? null : Math.round(this.#reconnect.failed());
    this.options.log.warn({ account: this.account, detail, retryMs }, wasUp ? "the session with the broker is down" : "no session with the broker");
    if (!wasUp) return;
    this.#up = false;
    this.onDown(detail);
    this.#onEvent?.({ kind: "disconnected", detail });
  }
}

export const answered = (answer: Answer, callMadeAtMs: number | null): Execution => ({ kind: "answered", answer, callMadeAtMs });

export const dropped = (cause: DropCause, detail: string): Execution => ({ kind: "dropped", cause, detail });

/** Who logs in where. */
export type LoginAs = Pick<WireSessionOptions, "account" | "password" | "client">;

export const loginBody = ({ account, password, client }: LoginAs, channel: "session" | "call"): RequestBody => ({ t: "login", login: account.login, password, channel, ...(client === undefined ? {} : { client }) });

/** @throws LockstepError `login_refused` or `unreachable` */
export function readWelcome(response: WireResponse, account: Account, platform: Platform): WireWelcome {
  if (response.t === "error" && response.code === "bad_login") throw new LockstepError("login_refused", response.text);
  if (response.t !== "welcome") throw new LockstepError("unreachable", `${account.id}: expected a welcome, got ${describe(response)}`);
  if (response.account !== account.id || response.platform !== platform) {
    throw new LockstepError("login_refused", `expected ${platform} account ${account.id}, the broker answered as ${response.platform} account ${response.account}`);
  }
  return response;
}

/** @throws LockstepError `unreachable` */
function responseOf(reply: Reply): WireResponse {
  switch (reply.kind) {
    case "answered":
      return reply.response;
    case "full":
      throw new LockstepError("unreachable", "too many requests are in flight");
    case "not_written":
    case "no_answer":
      throw new LockstepError("unreachable", reply.detail);
    default:
      return unreachable(reply);
  }
}

const describe = (response: { readonly t: string; readonly code?: number | WireErrorCode; readonly text?: string }): string => [response.t, response.code, response.text].filter((part) => part !== undefined).join(" ");
