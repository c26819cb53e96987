// Owns the closed sets that settings are chosen from.

import type { Platform } from "../../protocol/trades.ts";
import type { ProfileName } from "../nodeLimits.ts";

export const PROFILE_NAMES = ["published", "steady", "fast"] as const satisfies readonly ProfileName[];

export const PLATFORMS = ["mt4", "mt5"] as const satisfies readonly Platform[];

export const LEVELS = ["debug", "info", "warn", "error"] as const;
