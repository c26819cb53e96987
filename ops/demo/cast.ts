// Owns who plays in a demo: a master that trades as the statement says, and six followers whose
// brokers differ from it and from each other as real ones do.
//
// 1. Everything follows from the statement and the list below: two demos of one statement have the
//    same cast.
// 2. Several masters play side by side, each with a troupe of its own: their names never meet.

import { DEFAULT_LINK_SETTINGS, type Account, type Link, type LinkSettings } from "../../protocol/accounts.ts";
import { accountId, linkId, magic, symbolName, type SymbolName } from "../../protocol/ids.ts";
import type { Platform } from "../../protocol/trades.ts";
import { LOT, volumeFromLots, type VolumeUnits } from "../../protocol/units.ts";
import type { BrokerAccount, BrokerSymbol, Instrument } from "../broker/accounts.ts";
import type { Statement, StatementFormat, StatementSymbol } from "../statement/model.ts";

export interface Cast {
  readonly instruments: readonly Instrument[];
  readonly master: BrokerAccount;
  readonly followers: readonly Follower[];
}

export interface Follower {
  readonly broker: BrokerAccount;
  readonly link: Link;
}

/** What sets one master and its followers apart from another and its. */
export interface Troupe {
  readonly master: string;
  /** Before each follower's name. */
  readonly prefix: string;
  /** Of all its accounts. */
  readonly password: string;
}

/** How a follower's broker and link differ from the master's. */
interface Role {
  readonly id: string;
  readonly platform: Platform;
  readonly prefix: string;
  readonly suffix: string;
  readonly upperCase: boolean;
  /** Digits fewer than the master's, where the master shows 3 or more. */
  readonly fewerDigits: number;
  readonly minLots: string;
  readonly stepLots: string;
  readonly stopLevelPoints: number;
  /** Its broker does not offer the statement's least traded symbol, when there are three or more. */
  readonly lacksSymbol: boolean;
  readonly settings: Partial<LinkSettings>;
}

const times = (factorMillionths: number): Partial<LinkSettings> => ({ sizing: { mode: "multiplier", factorMillionths } });

const PLAIN = { prefix: "", suffix: "", upperCase: false, fewerDigits: 0, minLots: "0.01", stepLots: "0.01", stopLevelPoints: 0, lacksSymbol: false } as const;

const ROLES: readonly Role[] = [
  { ...PLAIN, id: "f1", platform: "mt4", suffix: ".r", settings: times(1_000_000) },
  { ...PLAIN, id: "f2", platform: "mt4", upperCase: true, fewerDigits: 1, settings: times(2_000_000) },
  { ...PLAIN, id: "f3", platform: "mt4", prefix: "m.", suffix: "_x", settings: times(500_000) },
  { ...PLAIN, id: "f4", platform: "mt4", suffix: "-2", minLots: "0.10", stepLots: "0.10", stopLevelPoints: 3, settings: times(10_000_000) },
  { ...PLAIN, id: "f5", platform: "mt5", suffix: ".Z", upperCase: true, lacksSymbol: true, settings: times(1_500_000) },
  { ...PLAIN, id: "f6", platform: "mt5", settings: { sizing: { mode: "fixed", volume: volumeFromLots("0.05") }, belowMinimum: "minimum", copyPendings: false } },
];

const PLATFORM_OF = { "mt4-html": "mt4", "mt5-html": "mt5", "mt5-xlsx": "mt5" } as const satisfies Record<StatementFormat, Platform>;
const MASTER_LOGIN = 100_001;
const LARGEST = volumeFromLots("1000");
/** Followers beyond the six play their roles again under names of their own. */
export const MAX_FOLLOWERS = 200;

export function castOf(statement: Statement, followerCount: number, troupe: Troupe = DEMO_TROUPE): Cast {
  const master = masterAccount(statement, troupe);
  const suffix = commonSuffix(statement.symbols);
  const rare = rarestSymbol(statement);
  return {
    instruments: statement.symbols.map(({ symbol, digits }) => ({ name: symbol, digits })),
    master,
    followers: Array.from({ length: followerCount }, (_, index) => follower(index, troupe, statement, master, suffix, rare)),
  };
}

/** The accounts as the copier knows them. @param broker `host:port` of the broker server @param credentialsRef where the troupe's password is */
export function accountsOf(cast: Cast, broker: string, credentialsRef: string = CREDENTIALS_REF): Account[] {
  return [cast.master, ...cast.followers.map((entry) => entry.broker)].map((account, index) => ({
    id: account.account,
    role: index === 0 ? "master" : "follower",
    platform: account.platform,
    broker,
    login: account.login,
    credentialsRef,
    enabled: true,
  }));
}

export const CREDENTIALS_REF = "env:LOCKSTEP_DEMO_PASSWORD";
const DEMO_TROUPE: Troupe = { master: "master", prefix: "", password: "demo" };
export const CREDENTIALS = { LOCKSTEP_DEMO_PASSWORD: DEMO_TROUPE.password } as const;

function masterAccount(statement: Statement, { master, password }: Troupe): BrokerAccount {
  const platform = PLATFORM_OF[statement.format];
  const { step, max } = volumesOf(statement);
  return {
    account: accountId(master),
    login: MASTER_LOGIN,
    password,
    platform,
    company: "Lockstep Demo Broker",
    firstTicket: 1_000_001,
    symbols: statement.symbols.map(({ symbol, digits }) => ({ ...spec(symbol, symbol, digits, step, step, 0), volumeMax: max })),
  };
}

/** The coarsest grid, from hundredths of a lot on, on which all of the statement's volumes stand, and room for the largest. */
function volumesOf({ positions, open, pendings, working }: Statement): { readonly step: VolumeUnits; readonly max: VolumeUnits } {
  const volumes = [...positions, ...open, ...pendings, ...working].map(({ volume }) => volume);
  let step = LOT / 100;
  while (step > 1 && volumes.some((volume) => volume % step !== 0)) step /= 10;
  // A trade that was closed in parts was as large as all of them.
  const whole = volumes.reduce<number>((sum, volume) => sum + volume, 0);
  return { step: step as VolumeUnits, max: Math.max(LARGEST, whole) as VolumeUnits };
}

function follower(index: number, { prefix, password }: Troupe, statement: Statement, master: BrokerAccount, suffix: string, rare: SymbolName | null): Follower {
  const role = ROLES[index % ROLES.length] as Role;
  const id = accountId(`${prefix}${role.id}${index < ROLES.length ? "" : `-${Math.floor(index / ROLES.length) + 1}`}`);
  const min = volumeFromLots(role.minLots);
  const step = volumeFromLots(role.stepLots);
  const offered = statement.symbols.filter(({ symbol }) => !(role.lacksSymbol && symbol === rare));
  return {
    broker: {
      account: id,
      login: 200_001 + index,
      password,
      platform: role.platform,
      company: `Broker of ${id}`,
      firstTicket: 5_000_001 + index * 1_000_000,
      symbols: offered.map(({ symbol, digits }) => {
        const own = digits >= 3 ? digits - role.fewerDigits : digits;
        return spec(ownName(role, symbol, suffix), symbol, own, min, step, role.stopLevelPoints);
      }),
    },
    link: {
      id: linkId(`${master.account}-${id}`),
      master: master.account,
      follower: id,
      magic: magic(7_000 + index),
      enabled: true,
      settings: {
        ...DEFAULT_LINK_SETTINGS,
        slippagePoints: 100,
        symbols: { masterPrefix: "", masterSuffix: suffix, followerPrefix: role.prefix, followerSuffix: role.suffix, map: {} },
        ...role.settings,
      },
    },
  };
}

/** The follower's spelling. Upper case needs no rule of the link: a session finds a symbol whatever its case. */
function ownName(role: Role, master: SymbolName, suffix: string): SymbolName {
  const plain = plainName(master, suffix);
  return symbolName(`${role.prefix}${role.upperCase ? plain.toUpperCase() : plain}${role.suffix}`);
}

const plainName = (master: SymbolName, suffix: string): string => (suffix !== "" && master.endsWith(suffix) ? master.slice(0, -suffix.length) : master);

function spec(symbol: SymbolName, instrument: string, digits: number, volumeMin: VolumeUnits, volumeStep: VolumeUnits, stopLevelPoints: number): BrokerSymbol {
  return { symbol, instrument, digits, volumeMin, volumeStep, volumeMax: LARGEST, stopLevelPoints };
}

/** What most of the statement's symbols end with that is no letter or digit: `.`, `-2`, `@`. Empty where two of them differ by nothing else. */
function commonSuffix(symbols: readonly StatementSymbol[]): string {
  const counts = new Map<string, number>();
  for (const { symbol } of symbols) {
    const suffix = SUFFIX.exec(symbol)?.[0] ?? "";
    counts.set(suffix, (counts.get(suffix) ?? 0) + 1);
  }
  const suffix = [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
  const names = new Set(symbols.map(({ symbol }) => plainName(symbol, suffix)));
  return names.size === symbols.length ? suffix : "";
}

/** Something stands before it: `#IBM` is all name. */
const SUFFIX = /(?<=[A-Za-z0-9])(?:[^A-Za-z0-9_][A-Za-z0-9]{0,3}|[^A-Za-z0-9_])$/;

function rarestSymbol(statement: Statement): SymbolName | null {
  if (statement.symbols.length < 3) return null;
  const counts = new Map<SymbolName, number>(statement.symbols.map(({ symbol }) => [symbol, 0]));
  for (const { symbol } of [...statement.positions, ...statement.open]) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  // The last of the least traded: counting is by the statement alone.
  return [...counts].sort((a, b) => a[1] - b[1] || b[0].localeCompare(a[0]))[0]?.[0] ?? null;
}
