// Owns the configuration of a broker that runs by itself: the JSON file, and what runs without
// one. README.md here describes the file.

import { readFileSync } from "node:fs";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import { accountId, symbolName } from "../../protocol/ids.ts";
import type { Platform } from "../../protocol/trades.ts";
import { pointsFromPrice, volumeFromLots, type Points } from "../../protocol/units.ts";
import { checkMarket, lastTicket, MAX_DIGITS, type BrokerAccount, type BrokerSymbol, type Instrument, type InstrumentQuote } from "./accounts.ts";
import { ConfigValue } from "./configReader.ts";
import { BROKER_SERVER_DEFAULTS } from "./server.ts";

export interface BrokerConfig {
  readonly instruments: readonly Instrument[];
  /** One of each instrument: where prices start. */
  readonly quotes: readonly InstrumentQuote[];
  readonly accounts: readonly BrokerAccount[];
  /** Prices move by themselves. */
  readonly walk: boolean;
  readonly clockOffsetMs: number;
  readonly answerDelayMs: number;
  readonly maxUnanswered: number;
}

const DAY_MS = 86_400_000;
const MAX_DELAY_MS = 600_000;

/** @throws LockstepError `configuration`, naming the file and the path in it */
export function readBrokerConfig(file: string): BrokerConfig {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new LockstepError("configuration", `${file}: expected a readable JSON file: ${messageOf(error)}`, error);
  }
  return brokerConfigOf(value, file);
}

/** @throws LockstepError `configuration` */
export function brokerConfigOf(value: unknown, file: string): BrokerConfig {
  const config = new ConfigValue(value, file).object(["instruments", "accounts", "walk", "clockOffsetMs", "answerDelayMs", "maxUnanswered"]);
  const priced = config.instruments.list().map(instrumentOf);
  const instruments = priced.map(({ instrument }) => instrument);
  const accounts = config.accounts.list().map((account) => accountOf(account, instruments));
  try {
    checkMarket(instruments, accounts);
  } catch (error) {
    throw new LockstepError("configuration", `${file}: ${messageOf(error)}`, error);
  }
  return {
    instruments,
    quotes: priced.map(({ quote }) => quote),
    accounts,
    walk: config.walk.optional((walk) => walk.boolean(), false),
    clockOffsetMs: config.clockOffsetMs.optional((offset) => offset.whole(-DAY_MS, DAY_MS), BROKER_SERVER_DEFAULTS.clockOffsetMs),
    answerDelayMs: config.answerDelayMs.optional((delay) => delay.whole(0, MAX_DELAY_MS), BROKER_SERVER_DEFAULTS.answerDelayMs),
    maxUnanswered: config.maxUnanswered.optional((max) => max.whole(1, 100_000), BROKER_SERVER_DEFAULTS.maxUnanswered),
  };
}

function instrumentOf(value: ConfigValue): { readonly instrument: Instrument; readonly quote: InstrumentQuote } {
  const fields = value.object(["name", "digits", "bid", "ask"]);
  const name = fields.name.string();
  const digits = fields.digits.whole(0, MAX_DIGITS);
  const price = (field: ConfigValue): Points => field.text((text) => pointsFromPrice(text, digits));
  const quote = { instrument: name, bid: price(fields.bid), ask: price(fields.ask) };
  if (quote.bid <= 0) fields.bid.fail("a price above 0");
  if (quote.ask < quote.bid) fields.ask.fail("a price at or above the bid");
  return { instrument: { name, digits }, quote };
}

function accountOf(value: ConfigValue, instruments: readonly Instrument[]): BrokerAccount {
  const fields = value.object(["account", "login", "password", "platform", "company", "firstTicket", "symbols"]);
  const platform = fields.platform.oneOf<Platform>(["mt4", "mt5"]);
  return {
    account: fields.account.text(accountId),
    login: fields.login.whole(1, Number.MAX_SAFE_INTEGER),
    password: fields.password.string(),
    platform,
    company: fields.company.string(),
    firstTicket: fields.firstTicket.whole(1, lastTicket(platform)),
    symbols: fields.symbols.list().map((symbol) => symbolOf(symbol, instruments)),
  };
}

function symbolOf(value: ConfigValue, instruments: readonly Instrument[]): BrokerSymbol {
  const fields = value.object(["symbol", "instrument", "digits", "volumeMin", "volumeStep", "volumeMax", "stopLevelPoints"]);
  return {
    symbol: fields.symbol.text(symbolName),
    instrument: fields.instrument.oneOf(instruments.map(({ name }) => name)),
    digits: fields.digits.whole(0, MAX_DIGITS),
    volumeMin: fields.volumeMin.text(volumeFromLots),
    volumeStep: fields.volumeStep.text(volumeFromLots),
    volumeMax: fields.volumeMax.text(volumeFromLots),
    stopLevelPoints: fields.stopLevelPoints.whole(0, 1_000_000),
  };
}

const DEFAULT_GRID = { volumeMin: "0.01", volumeStep: "0.01", volumeMax: "100", stopLevelPoints: 0 };

/** What runs when no file is named: one account of each platform, prices moving. In the form of the file. */
export const DEFAULT_BROKER_CONFIG = {
  walk: true,
  instruments: [
    { name: "eurusd", digits: 5, bid: "1.08500", ask: "1.08508" },
    { name: "xauusd", digits: 2, bid: "2410.10", ask: "2410.40" },
  ],
  accounts: [
    {
      account: "demo-mt4",
      login: 1001,
      password: "demo",
      platform: "mt4",
      company: "Simulated Markets",
      firstTicket: 10_000_000,
      symbols: [
        { symbol: "EURUSD", instrument: "eurusd", digits: 5, ...DEFAULT_GRID },
        { symbol: "XAUUSD", instrument: "xauusd", digits: 2, ...DEFAULT_GRID },
      ],
    },
    {
      account: "demo-mt5",
      login: 2001,
      password: "demo",
      platform: "mt5",
      company: "Simulated Markets",
      firstTicket: 5_000_000_000,
      symbols: [
        { symbol: "EURUSD.m", instrument: "eurusd", digits: 5, ...DEFAULT_GRID },
        { symbol: "XAUUSD.m", instrument: "xauusd", digits: 2, ...DEFAULT_GRID },
      ],
    },
  ],
} as const;
