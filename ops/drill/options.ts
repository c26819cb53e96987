// Owns what the options of `lockstep drill` mean, and their bounds.

import { LockstepError } from "../../protocol/errors.ts";
import { PROFILE_NAMES } from "../config/choices.ts";
import type { ProfileName } from "../nodeLimits.ts";
import { DRILL_NAMES, DRILLS, isDrillName, type Drill, type DrillName, type Round } from "./drills.ts";

export interface DrillTexts {
  readonly profile: string;
  readonly rounds?: string | undefined;
}

export interface DrillPlan {
  readonly name: DrillName;
  readonly drill: Drill;
  readonly profile: ProfileName;
  /** All that will be struck, in order. */
  readonly rounds: readonly Round[];
}

export const DRILL_DEFAULTS = { profile: "steady" } as const satisfies DrillTexts;
const MAX_ROUNDS = 100;

/** @throws LockstepError `configuration`: one line for each fault */
export function drillPlan(name: string, { profile: profileText, rounds: roundsText }: DrillTexts): DrillPlan {
  const faults: string[] = [];
  if (!isDrillName(name)) faults.push(`drill ${JSON.stringify(name)}: expected one of ${DRILL_NAMES.join(", ")} or stale-writer`);
  const profile = PROFILE_NAMES.find((each) => each === profileText);
  if (profile === undefined) faults.push(`--profile: expected ${PROFILE_NAMES.join(", ")}, got ${JSON.stringify(profileText)}`);
  const repeated = roundsText === undefined ? null : /^\d{1,3}$/.test(roundsText) ? Number(roundsText) : 0;
  if (repeated !== null && (repeated < 1 || repeated > MAX_ROUNDS)) faults.push(`--rounds: expected a whole number from 1 to ${MAX_ROUNDS}, got ${JSON.stringify(roundsText)}`);
  if (!isDrillName(name) || profile === undefined || faults.length > 0) throw new LockstepError("configuration", faults.join("\n"));
  const drill: Drill = DRILLS[name];
  return { name, drill, profile, rounds: Array.from({ length: repeated ?? drill.repeated }, () => drill.rounds).flat() };
}
