// Owns the areas that mutants are listed by.

import { claimMutants } from "./list/claim.ts";
import { keeperMutants } from "./list/keeper.ts";
import { renewMutants } from "./list/renew.ts";
import { takeMutants } from "./list/take.ts";
import type { Area } from "./mutant.ts";

export const AREAS: readonly Area[] = [
  { name: "renew", needsPostgres: true, mutants: renewMutants },
  { name: "claim", needsPostgres: true, mutants: claimMutants },
  { name: "take", needsPostgres: true, mutants: takeMutants },
  { name: "keeper", needsPostgres: false, mutants: keeperMutants },
];
