// Owns what the session tests share: a session of either platform against a scripted broker.

import { systemClock, systemRandom } from "../../../ops/clock.ts";
import { Mt4Session } from "../../../actors/drivers/mt4Session.ts";
import { Mt5Session } from "../../../actors/drivers/mt5Session.ts";
import { DEFAULT_SESSION_LIMITS, type SessionLimits } from "../../../actors/drivers/sessionLimits.ts";
import { type WireSessionOptions } from "../../../actors/drivers/wireSession.ts";
import type { Account } from "../../../protocol/accounts.ts";
import type { Magic, Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { SessionEvent } from "../../../protocol/ports/broker.ts";
import type { Position } from "../../../protocol/trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../../protocol/units.ts";
import { recordingLogger, type RecordingLogger } from "../../support/recordingLogger.ts";
import { EURUSD, type ScriptedBroker } from "../../support/scriptedBroker.ts";
import { until } from "../../support/until.ts";
import type { Rig } from "../executor/executorFixture.ts";

export const OPEN: Order = {
  kind: "open",
  symbol: EURUSD.symbol,
  side: "buy",
  volume: 1_000_000 as VolumeUnits,
  priceLimit: null,
  stopLoss: null,
  takeProfit: null,
  magic: 77 as Magic,
  comment: "mc1",
};
export const PART_CLOSE: Order = { kind: "close", ticket: 50 as Ticket, symbol: EURUSD.symbol, volume: 1_000_000 as VolumeUnits, part: true };

export const position = (ticket: number, comment = ""): Position => ({
  ticket: ticket as Ticket,
  identifier: ticket as Ticket,
  symbol: EURUSD.symbol,
  digits: 5,
  side: "buy",
  volume: 1_000_000 as VolumeUnits,
  openPrice: 110_010 as Points,
  openTimeMs: 5 as BrokerMs,
  stopLoss: null,
  takeProfit: null,
  magic: 77 as Magic,
  comment,
});

export interface SessionRig {
  readonly session: Mt4Session | Mt5Session;
  readonly events: SessionEvent[];
  readonly log: RecordingLogger;
  /** How often it was connected and disconnected, in order. */
  kinds(): string[];
}

export interface SessionChoice {
  readonly limits?: Partial<SessionLimits>;
  readonly parallelism?: number;
  readonly password?: string;
  readonly client?: string;
  readonly pacer?: WireSessionOptions["pacer"];
  readonly mayLogIn?: () => boolean;
}

/** A session that is opened, and not yet awaited. */
export function startSession(broker: ScriptedBroker, rig: Rig, choice: SessionChoice = {}): SessionRig {
  const account: Account = {
    id: broker.account,
    role: "follower",
    platform: broker.platform,
    broker: `127.0.0.1:${broker.port}`,
    login: 4711,
    credentialsRef: "env:NONE",
    enabled: true,
  };
  const log = recordingLogger();
  const limits = { ...DEFAULT_SESSION_LIMITS, reconnectMinMs: 5, reconnectMaxMs: 50, ...choice.limits };
  const options = { account, password: choice.password ?? "secret", ...(choice.client === undefined ? {} : { client: choice.client }), ...(choice.mayLogIn === undefined ? {} : { mayLogIn: choice.mayLogIn }), limits, pacer: choice.pacer ?? { reserve: () => 0 }, clock: systemClock, random: systemRandom, log };
  const session =
    broker.platform === "mt4"
      ? new Mt4Session({ ...options, executor: rig.executor, parallelism: choice.parallelism ?? 3 })
      : new Mt5Session({ ...options, gate: rig.gate });
  const events: SessionEvent[] = [];
  session.open((event) => events.push(event));
  return { session, events, log, kinds: () => events.filter((event) => event.kind !== "changed").map((event) => event.kind) };
}

/** A session that is connected; an MT4-like one has its first call channel. */
export async function upSession(broker: ScriptedBroker, rig: Rig, choice: SessionChoice = {}): Promise<SessionRig> {
  const made = startSession(broker, rig, choice);
  await until("the session is connected", () => made.kinds().at(-1) === "connected");
  if (broker.platform === "mt4") await until("a call channel is warm", () => broker.on("call").length === 1 && rig.executor.counts().inFlight === 0);
  return made;
}
