// Owns what a mutant is: the sources with one guard taken away, and the case that must notice.

import type { Patch } from "../support/patchedCopy.ts";

export interface Mutant extends Patch {
  /** What is gone, in words. */
  readonly name: string;
  /** The file of the case. */
  readonly test: string;
  /** The case that must fail. */
  readonly case: string;
}

export interface Area {
  readonly name: string;
  readonly needsPostgres: boolean;
  readonly mutants: readonly Mutant[];
}

/** What all mutants of one file have in common, said once. */
export const inFile = (file: string, mutants: readonly Omit<Mutant, "file">[]): readonly Mutant[] => mutants.map((mutant) => ({ ...mutant, file }));
