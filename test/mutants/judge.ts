// Owns trying mutants, several at once, each in a copy of the sources that is as it was again before the next.
//
// 1. A mutant is killed when its case fails by what it asserts, in a copy in which nothing but the one guard is gone. All
//    else fails the run: a case that still passes, one that does not run or crashes, a place that moved.
// 2. A case that does not pass without a mutant proves nothing: it is tried so first.

import { join } from "node:path";
import { messageOf } from "../../protocol/errors.ts";
import { runCases, type CaseResult } from "../support/namedCases.ts";
import { MovedError, plant } from "../support/patchedCopy.ts";
import type { Mutant } from "./mutant.ts";

export type Verdict =
  | { readonly kind: "killed" }
  /** The case passes all the same. */
  | { readonly kind: "survived" }
  /** The text to be replaced does not stand once in its file. */
  | { readonly kind: "moved"; readonly detail: string }
  /** The case did not run to an end of its own, so it shows nothing. */
  | { readonly kind: "broken"; readonly detail: string }
  /** The case does not pass on the sources as they are. */
  | { readonly kind: "baseline"; readonly detail: string };

export interface Tried {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
}

export interface TrialOptions {
  readonly mutants: readonly Mutant[];
  /** Where copies may be made; whoever gave it takes it away. */
  readonly folder: string;
  /** Puts the sources into a folder that is not there yet. */
  readonly copy: (folder: string) => Promise<void>;
  /** How many at once. */
  readonly workers: number;
  readonly env: Readonly<Record<string, string>>;
  /** For the cases of one file. */
  readonly timeoutMs: number;
  readonly onTried: (tried: Tried, done: number) => void;
  /** What is not begun by then is left out. */
  readonly isOver: () => boolean;
}

/** One for each mutant, in their order; fewer when it was over before. */
export async function tryMutants(options: TrialOptions): Promise<readonly Tried[]> {
  const { mutants, folder, copy, workers, onTried, isOver } = options;
  const copies = await Promise.all(Array.from({ length: Math.min(workers, mutants.length) }, async (_, index) => {
    const own = join(folder, `copy-${index}`);
    await copy(own);
    return own;
  }));
  const atOnce = async <T>(work: readonly T[], one: (item: T, own: string) => Promise<void>): Promise<void> => {
    const waiting = [...work];
    await Promise.all(copies.map(async (own) => {
      for (let item = waiting.shift(); item !== undefined && !isOver(); item = waiting.shift()) await one(item, own);
    }));
  };
  const without = new Map<string, CaseResult>();
  await atOnce([...new Set(mutants.map(({ test }) => test))], async (test, own) => {
    const cases = [...new Set(mutants.flatMap((mutant) => (mutant.test === test ? [mutant.case] : [])))];
    for (const [name, result] of await runCases({ ...options, folder: own, file: test, cases })) without.set(`${test}\n${name}`, result);
  });
  const verdicts = new Map<Mutant, Verdict>();
  await atOnce(mutants, async (mutant, own) => {
    const verdict = await tryOne(mutant, without.get(`${mutant.test}\n${mutant.case}`), own, options);
    if (isOver()) return;
    verdicts.set(mutant, verdict);
    onTried({ mutant, verdict }, verdicts.size);
  });
  return mutants.flatMap((mutant) => {
    const verdict = verdicts.get(mutant);
    return verdict === undefined ? [] : [{ mutant, verdict }];
  });
}

async function tryOne(mutant: Mutant, without: CaseResult | undefined, own: string, options: TrialOptions): Promise<Verdict> {
  if (without?.outcome !== "passed") return { kind: "baseline", detail: `${without?.outcome ?? "missing"}: ${without?.detail ?? ""}` }; // (2)
  let undo: () => Promise<void>;
  try {
    undo = await plant(own, mutant);
  } catch (error) {
    if (error instanceof MovedError) return { kind: "moved", detail: error.message };
    return { kind: "moved", detail: `${mutant.file}: ${messageOf(error)}` };
  }
  try {
    const results = await runCases({ ...options, folder: own, file: mutant.test, cases: [mutant.case] });
    return judged(results.get(mutant.case));
  } finally {
    await undo();
  }
}

/** (1) */
function judged(result: CaseResult | undefined): Verdict {
  switch (result?.outcome) {
    case "failed":
      return { kind: "killed" };
    case "passed":
      return { kind: "survived" };
    default:
      return { kind: "broken", detail: `${result?.outcome ?? "missing"}: ${result?.detail ?? ""}` };
  }
}
