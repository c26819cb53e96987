// Owns `make mutants`: every guard of who may trade, taken away in turn in a copy of the sources, makes a case fail.
// Arguments choose areas, or mutants by a part of their file, case or name; without any, all are tried.
//
// 1. Nothing is left behind: copies, servers and processes end with the run, also when it is told to end.

import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../ops/clock.ts";
import { Ends } from "../../ops/ends.ts";
import { SIGNALS } from "../../ops/launch.ts";
import { openLogger } from "../../ops/logging.ts";
import { startEmbeddedPostgres } from "../../ops/postgres/embedded.ts";
import { messageOf } from "../../protocol/errors.ts";
import { endCases } from "../support/namedCases.ts";
import { copySources } from "../support/patchedCopy.ts";
import { tryMutants, type Tried } from "./judge.ts";
import { AREAS } from "./areas.ts";
import type { Area, Mutant } from "./mutant.ts";

const CASE_TIMEOUT_MS = 90_000;
/** As the suite has it: cases that boot an executor in their own process fit into it. */
const POOL_THREADS = 48;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

function chosen(words: readonly string[]): readonly Area[] {
  const isMeant = (area: Area, mutant: Mutant): boolean =>
    words.length === 0 || words.some((word) => area.name === word || [mutant.file, mutant.name, mutant.case, mutant.test].some((text) => text.includes(word)));
  return AREAS.map((area) => ({ ...area, mutants: area.mutants.filter((mutant) => isMeant(area, mutant)) })).filter(({ mutants }) => mutants.length > 0);
}

function showTried({ mutant, verdict }: Tried): string {
  const head = `${mutant.file}: ${mutant.name}`;
  const detail = "detail" in verdict ? `\n${verdict.detail.replaceAll(/^/gm, "      ")}` : "";
  return `${verdict.kind.padEnd(8)} ${head}${verdict.kind === "killed" ? "" : `\n      ${mutant.test}: ${mutant.case}`}${detail}`;
}

function summary(areas: readonly Area[], tried: readonly Tried[]): string {
  const width = Math.max(...areas.map(({ name }) => name.length));
  const rows = areas.map(({ name, mutants }) => {
    const of = tried.filter(({ mutant }) => mutants.includes(mutant));
    const count = (...kinds: readonly Tried["verdict"]["kind"][]): string => String(of.filter(({ verdict }) => kinds.includes(verdict.kind)).length);
    return [name.padEnd(width), String(mutants.length), count("killed"), count("survived"), count("moved", "broken", "baseline")];
  });
  const head = ["".padEnd(width), "mutants", "killed", "survived", "no proof"];
  return [head, ...rows].map((cells) => cells.map((cell, index) => cell.padStart(head[index]?.length ?? 0)).join("  ")).join("\n");
}

let isTold = false;

async function main(): Promise<number> {
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      isTold = true;
      endCases();
    });
  }
  const words = process.argv.slice(2);
  const areas = chosen(words);
  const mutants = areas.flatMap((area) => area.mutants);
  if (mutants.length === 0) {
    process.stderr.write(`mutants: nothing is called ${words.join(", ")}; areas: ${AREAS.map(({ name }) => name).join(", ")}\n`);
    return 2;
  }
  const ends = new Ends();
  const folder = await mkdtemp(join(tmpdir(), "lockstep-mutants-"));
  ends.add(() => rm(folder, { recursive: true, force: true }));
  const startedAtMs = systemClock.monotonicMs();
  try {
    const env: Record<string, string> = { UV_THREADPOOL_SIZE: String(POOL_THREADS) };
    if (areas.some(({ needsPostgres }) => needsPostgres)) {
      const server = await startEmbeddedPostgres({ stateDir: folder, logger: openLogger({ level: "warn", file: null }), clock: systemClock });
      ends.add(() => server.stop());
      env["LOCKSTEP_TEST_DATABASE_URL"] = server.url;
    }
    const onTried = (tried: Tried, done: number): void => say(`${String(done).padStart(3)}/${mutants.length} ${showTried(tried)}`);
    const tried = await tryMutants({ mutants, folder, copy: copySources, workers: availableParallelism(), env, timeoutMs: CASE_TIMEOUT_MS, onTried, isOver: () => isTold });
    const alive = tried.filter(({ verdict }) => verdict.kind !== "killed");
    say(`\n${summary(areas, tried)}\n\n${alive.map((one) => `${showTried(one)}\n`).join("")}`);
    say(`${tried.length} of ${mutants.length} mutants tried in ${Math.round((systemClock.monotonicMs() - startedAtMs) / 1_000)} s, ${alive.length} not killed`);
    return tried.length === mutants.length && alive.length === 0 ? 0 : 1;
  } finally {
    for (const failure of await ends.run()) process.stderr.write(`mutants: ${messageOf(failure)}\n`); // (1)
  }
}

process.exitCode = await main();
