// Owns the areas that mutants are listed by.

import { arithmeticMutants } from "./list/arithmetic.ts";
import { claimMutants } from "./list/claim.ts";
import { followerMutants } from "./list/followers.ts";
import { gateMutants } from "./list/gate.ts";
import { keeperMutants } from "./list/keeper.ts";
import { masterMutants } from "./list/masters.ts";
import { memoryMutants } from "./list/memoryRegistry.ts";
import { pairMutants } from "./list/pairs.ts";
import { renewMutants } from "./list/renew.ts";
import { takeMutants } from "./list/take.ts";
import type { Area } from "./mutant.ts";

export const AREAS: readonly Area[] = [
  { name: "renew", needsPostgres: true, mutants: renewMutants },
  { name: "claim", needsPostgres: true, mutants: claimMutants },
  { name: "take", needsPostgres: true, mutants: takeMutants },
  { name: "pairs", needsPostgres: true, mutants: pairMutants },
  { name: "memory", needsPostgres: false, mutants: memoryMutants },
  { name: "gate", needsPostgres: false, mutants: gateMutants },
  { name: "arithmetic", needsPostgres: false, mutants: arithmeticMutants },
  { name: "keeper", needsPostgres: false, mutants: keeperMutants },
  { name: "followers", needsPostgres: false, mutants: followerMutants },
  { name: "masters", needsPostgres: false, mutants: masterMutants },
];
