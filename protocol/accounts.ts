// Owns what is configured: accounts, links and their copy settings.

import type { AccountId, LinkId, Magic, SymbolName } from "./ids.ts";
import type { Platform } from "./trades.ts";
import type { VolumeUnits } from "./units.ts";

export type AccountRole = "master" | "follower";

export interface Account {
  readonly id: AccountId;
  readonly role: AccountRole;
  readonly platform: Platform;
  /** `host:port` of the broker server. */
  readonly broker: string;
  readonly login: number;
  /** A reference (`env:NAME`, `file:PATH`), resolved in the process that needs it; never the secret itself. */
  readonly credentialsRef: string;
  readonly enabled: boolean;
}

/** How a follower's volume comes from the master's. */
export type Sizing =
  /** `factorMillionths`: 1_000_000 copies one to one. */
  | { readonly mode: "multiplier"; readonly factorMillionths: number }
  /** Always this volume, whatever the master's. */
  | { readonly mode: "fixed"; readonly volume: VolumeUnits };

export interface SymbolRules {
  /** The master's own prefix and suffix, taken off where they stand. */
  readonly masterPrefix: string;
  readonly masterSuffix: string;
  /** Put on for the follower. */
  readonly followerPrefix: string;
  readonly followerSuffix: string;
  /** Exact pairs that overrule the rest: master's spelling to follower's. */
  readonly map: Readonly<Record<string, SymbolName>>;
}

export interface LinkSettings {
  readonly sizing: Sizing;
  /** A volume below the follower's minimum: skip the trade or copy the minimum. */
  readonly belowMinimum: "skip" | "minimum";
  /** A share that part-closes made smaller than the follower's minimum, while the master still holds: keep the minimum or close it. */
  readonly residue: "keep" | "close";
  /** A volume above the follower's maximum: skip the trade or copy the maximum. */
  readonly aboveMaximum: "skip" | "maximum";
  readonly symbols: SymbolRules;
  /** How far against us, in the follower's own points, an open may be from the master's price. */
  readonly slippagePoints: number;
  /** An open tick older than this, by the master broker's clock, is a late open. */
  readonly ageLimitMs: number;
  /** A trade older than this, by the same clock, is not opened late any more. Longer than a takeover with its settle time. */
  readonly lateOpenMs: number;
  readonly copyStops: boolean;
  readonly copyPendings: boolean;
}

export interface Link {
  readonly id: LinkId;
  readonly master: AccountId;
  readonly follower: AccountId;
  readonly magic: Magic;
  readonly enabled: boolean;
  readonly settings: LinkSettings;
}

export const DEFAULT_LINK_SETTINGS: LinkSettings = {
  sizing: { mode: "multiplier", factorMillionths: 1_000_000 },
  belowMinimum: "skip",
  residue: "keep",
  aboveMaximum: "maximum",
  symbols: { masterPrefix: "", masterSuffix: "", followerPrefix: "", followerSuffix: "", map: {} },
  slippagePoints: 50,
  ageLimitMs: 10_000,
  lateOpenMs: 120_000,
  copyStops: true,
  copyPendings: true,
};
