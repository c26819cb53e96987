// Owns the messages of the `wire` protocol between a copier and a broker server. The framing is in
// frames.ts; ops/broker/README.md documents the whole for people who write a server.
//
// 1. Every request carries an `id` that its one response repeats. Changes and quotes carry none.
// 2. A connection begins with `login`. A `session` channel gets changes and quotes and may ask
//    anything; a `call` channel gets only responses: one blocking call at a time.
// 3. Result codes are the platform's own (MT4 or MT5); the drivers map them.
// 4. A client may say who it is, and under which ownership it sends an order. A server writes that down and
//    goes by nothing of it: whoever reads its record afterwards can tell one client of an account from another.

import type { AccountId, Epoch, Ticket } from "./ids.ts";
import type { Order } from "./orders.ts";
import type { AccountChange, AccountSnapshot, Platform, Quote, SymbolSpec } from "./trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "./units.ts";

/** The longest text by which a client may name itself: two names of 64 characters, and a number. */
export const MAX_CLIENT_CHARACTERS = 160;

export type WireRequest =
  | {
      readonly t: "login";
      readonly id: number;
      readonly login: number;
      readonly password: string;
      readonly channel: "session" | "call";
      /** Lockstep says `<node>/<boot>#<epoch>`, the epoch at the login; at most `MAX_CLIENT_CHARACTERS` (4). */
      readonly client?: string;
    }
  /** `epoch`: the ownership of the account under which it is sent; it changes on a connection that stays (4). */
  | { readonly t: "order"; readonly id: number; readonly order: Order; readonly epoch?: Epoch }
  /** History is given from `historyFromMs` (the broker's clock) on. */
  | { readonly t: "snapshot"; readonly id: number; readonly historyFromMs: BrokerMs }
  | { readonly t: "ping"; readonly id: number };

/** Errors of the protocol itself; the server closes the connection after any but `unsupported`. */
export type WireErrorCode = "bad_login" | "not_logged_in" | "malformed" | "unsupported" | "flood";

export type WireResponse =
  | {
      readonly t: "welcome";
      readonly id: number;
      readonly account: AccountId;
      readonly platform: Platform;
      readonly brokerMs: BrokerMs;
      readonly symbols: readonly SymbolSpec[];
      readonly quotes: readonly Quote[];
    }
  | {
      readonly t: "result";
      readonly id: number;
      /** MT4: 0 or an error code. MT5: a TRADE_RETCODE. */
      readonly code: number;
      readonly text: string;
      /** MT4 does not name the new ticket of a part-close: null then. */
      readonly ticket: Ticket | null;
      readonly volume: VolumeUnits;
      readonly price: Points | null;
      readonly brokerMs: BrokerMs;
    }
  | { readonly t: "snapshot"; readonly id: number; readonly snapshot: AccountSnapshot }
  | { readonly t: "pong"; readonly id: number; readonly brokerMs: BrokerMs }
  /** `id` is null when the request could not be read. */
  | { readonly t: "error"; readonly id: number | null; readonly code: WireErrorCode; readonly text: string };

export type WirePush =
  | { readonly t: "change"; readonly change: AccountChange }
  | { readonly t: "quotes"; readonly quotes: readonly Quote[] }
  /** The server ends the session, e.g. because somebody else logged in. */
  | { readonly t: "kicked"; readonly text: string };

export type WireMessage = WireResponse | WirePush;
export type WireResult = Extract<WireResponse, { t: "result" }>;
export type WireWelcome = Extract<WireResponse, { t: "welcome" }>;
