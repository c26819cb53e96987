// Owns who plays on the stage of the judge's tests: one master with a follower on each platform, and two nodes.

import { DEFAULT_LINK_SETTINGS, type Link } from "../../../../protocol/accounts.ts";
import { accountId, linkId, magic, symbolName, type AccountId } from "../../../../protocol/ids.ts";
import type { Platform } from "../../../../protocol/trades.ts";
import { volumeFromLots, type VolumeUnits } from "../../../../protocol/units.ts";
import type { BrokerAccount } from "../../../../ops/broker/accounts.ts";
import type { Cast } from "../../../../ops/demo/cast.ts";
import type { Owner } from "../../../../ops/drill/judge/leases.ts";

export const M1 = accountId("m1");
export const F1 = accountId("f1");
export const F2 = accountId("f2");
export const N1: Owner = { node: "n1", boot: "b1" };
export const N2: Owner = { node: "n2", boot: "b2" };
export const EUR = symbolName("eurusd");

export const lots = (text: string): VolumeUnits => volumeFromLots(text);

function account(id: AccountId, login: number, platform: Platform, firstTicket: number): BrokerAccount {
  return { account: id, login, password: "x", platform, company: `of ${id}`, firstTicket, symbols: [{ symbol: EUR, instrument: "eurusd", digits: 5, volumeMin: lots("0.01"), volumeStep: lots("0.01"), volumeMax: lots("100"), stopLevelPoints: 0 }] };
}

const link = (follower: AccountId, number: number): Link => ({ id: linkId(`m1-${follower}`), master: M1, follower, magic: magic(number), enabled: true, settings: { ...DEFAULT_LINK_SETTINGS, slippagePoints: 100 } });

export const CAST: Cast = {
  instruments: [{ name: "eurusd", digits: 5 }],
  master: account(M1, 1, "mt4", 1_000_001),
  followers: [
    { broker: account(F1, 2, "mt4", 2_000_001), link: link(F1, 7_001) },
    { broker: account(F2, 3, "mt5", 3_000_001), link: link(F2, 7_002) },
  ],
};
