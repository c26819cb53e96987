// Owns a whole cluster on this machine, from its start to its verdict: real Kafka, real PostgreSQL, brokers
// in a process of their own, and nodes that are started as a user would.
//
// 1. Whatever happens, nothing is left running, and nothing of the cell in Kafka.
// 2. It looks on from outside: rows, Kafka's groups, the nodes' HTTP, the brokers' logs.
// 3. Every wait has a bound. What did not come about by then is judged as it is.

import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Environment } from "../credentials.ts";
import { accountsOf } from "../demo/cast.ts";
import type { Violation } from "../demo/check/checkDemo.ts";
import { pace } from "../demo/pace.ts";
import { scriptOf } from "../demo/script.ts";
import { CLOCK_OFFSET_MS } from "../demo/stage.ts";
import { Ends } from "../ends.ts";
import type { Statement } from "../statement/model.ts";
import { companyOf, PASSWORD_REFERENCE, PASSWORD_VARIABLE } from "./company.ts";
import { Fleet } from "./fleet.ts";
import { openGround, type Ground } from "./ground.ts";
import { interrupted, unlessInterrupted } from "./interrupt.ts";
import { endViolations, ownershipOf } from "./judge.ts";
import { lookAt, type Look } from "./look.ts";
import type { ClusterPlan } from "./options.ts";
import { timesOf } from "./ownTime.ts";
import { Picture, type Moment } from "./picture.ts";
import { clusterReport, type ClusterReport } from "./report.ts";
import { restedFor, untilUp } from "./settling.ts";
import { ClusterStage } from "./stage.ts";
import { verdictOn } from "./verdict.ts";
import { watch } from "./watch.ts";

export interface ClusterOptions {
  readonly plan: ClusterPlan;
  readonly statement: Statement;
  /** Of this run alone: the brokers' and the nodes' logs. */
  readonly folder: string;
  readonly run: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where the picture goes. */
  readonly stream: Pick<NodeJS.WriteStream, "isTTY" | "write">;
  /** Aborted: end now, in order. */
  readonly interrupt: AbortSignal;
}

const CELLS = "lockstep-cluster-";
const PARTITIONS = 8;
/** So far apart masters begin: what they do at once, real ones do not. */
const STAGGER_MS = 150;
const START_LIMIT_MS = 120_000;
const REST_LIMIT_MS = 60_000;
/** Longer than its length a story takes on a machine that has other things to do. */
const STORY_SLACK_MS = 60_000;
/** At rest for so many looks: what is on its way between two parts shows in none. */
const LOOKS_AT_REST = 3;

export const newRun = (): string => randomUUID().slice(0, 8);

/** @throws LockstepError `configuration`, `bad_statement`, `unreachable`, `stopped` when it was interrupted */
export async function runCluster(options: ClusterOptions): Promise<ClusterReport> {
  const ends = new Ends();
  try {
    return await new Cluster(options, ends).run();
  } finally {
    // Invariant 1.
    const failures = await ends.run();
    if (failures.length > 0) options.logger.error({ failures: failures.map(messageOf) }, "the cluster did not end cleanly");
  }
}

class Cluster {
  readonly #options: ClusterOptions;
  readonly #ends: Ends;
  #picture: Picture | null = null;

  constructor(options: ClusterOptions, ends: Ends) {
    this.#options = options;
    this.#ends = ends;
  }

  async run(): Promise<ClusterReport> {
    const { plan, statement, folder, run, env, clock, logger } = this.#options;
    const partitions = Math.max(PARTITIONS, plan.nodes + 1);
    // Not left alone half way: what it has begun is to be ended.
    const ground = await openGround({ cells: CELLS, run, keepsRows: true, partitions, env, clock, logger }, this.#ends);
    this.#picture = new Picture(this.#options.stream, ground.cell, clock);
    this.#show("starting", 0, null);

    const password = env[PASSWORD_VARIABLE] ?? randomBytes(16).toString("hex");
    const troupes = companyOf(statement, plan.masters, plan.followers, password).map((cast) => ({ cast, logFile: join(folder, `${cast.master.account}.jsonl`) }));
    const scenes = scriptOf(statement);
    const offsetsMs = pace(scenes, "default", plan.storyMs);
    const performances = troupes.map((troupe, index) => ({ ...troupe, scenes, offsetsMs: offsetsMs.map((ms) => ms + index * STAGGER_MS), clockOffsetMs: CLOCK_OFFSET_MS }));
    const { stage, ports } = await ClusterStage.open(performances, clock);
    this.#ends.add(() => stage.end());

    const token = randomBytes(32).toString("base64url");
    const fleet = new Fleet({ ...ground, partitions, followers: plan.followers, password, token, folder, env, clock });
    this.#ends.add(() => fleet.end());
    const look = (): Promise<Look> => lookAt({ ...ground, overview: ground.storage.overview, token, clock }, fleet.runs);
    for (let number = 1; number <= plan.nodes; number++) fleet.start(`n${number}`);
    await this.#up(ground, fleet, look, 0);
    // Only now: nodes that are there together take their shares at once, and hardly anything has to move.
    const accounts = troupes.flatMap(({ cast }, index) => accountsOf(cast, `127.0.0.1:${ports[index] ?? 0}`, PASSWORD_REFERENCE));
    await ground.storage.directory.put(accounts, troupes.flatMap(({ cast }) => cast.followers.map(({ link }) => link)));
    await this.#up(ground, fleet, look, accounts.length);

    await this.#play(stage, scenes.length * plan.masters, fleet, look);
    const last = await this.#rest(ground, look);
    const atEnd = endViolations(last, ground.cell);
    this.#show("ending", 1, null);
    await this.#unlessInterrupted(fleet.drainAll());
    await stage.close();

    this.#show("checking", 1, null);
    const copied = await verdictOn(statement, troupes, ground.storage.pairs);
    this.#picture.end();
    const violations: readonly Violation[] = [...fleet.violations, ...atEnd, ...copied.violations];
    return clusterReport(ownershipOf(last, ground.cell), copied.orders, { ownTimeMs: timesOf(fleet.ownTimes), factToRowMs: timesOf(fleet.factsToRows) }, violations);
  }

  #up({ cell }: Ground, fleet: Fleet, look: () => Promise<Look>, accounts: number): Promise<void> {
    return untilUp({ cell, fleet, accounts, folder: this.#options.folder, watch: (isSo) => this.#watch(look, START_LIMIT_MS, "starting", () => 0, isSo) });
  }

  async #play(stage: ClusterStage, scenes: number, fleet: Fleet, look: () => Promise<Look>): Promise<void> {
    const { plan } = this.#options;
    const state: { over: boolean; failure: Error | null; churn: Promise<void> | null } = { over: false, failure: null, churn: null };
    stage.play().then(
      () => (state.over = true),
      (error: Error) => (state.failure = error),
    );
    const share = (): number => stage.played / scenes;
    const limitMs = plan.storyMs + plan.masters * STAGGER_MS + STORY_SLACK_MS;
    const goOn = (): void => {
      if (state.failure !== null) throw state.failure;
      if (!plan.churn || share() < 0.5 || state.churn !== null) return;
      state.churn = this.#churn(fleet);
      state.churn.catch(() => undefined); // told when it is waited for
    };
    await this.#watch(look, limitMs, "playing", share, () => state.over, goOn);
    if (!state.over) throw new LockstepError("unreachable", `the brokers did not come to the end of the story within ${Math.round(limitMs / 1_000)} s`);
    await this.#unlessInterrupted(state.churn ?? Promise.resolve());
  }

  /** One ends in order, another one comes. */
  async #churn(fleet: Fleet): Promise<void> {
    const leaving = fleet.runs[0];
    fleet.start(`n${this.#options.plan.nodes + 1}`);
    if (leaving !== undefined) await fleet.drain(leaving);
  }

  /** Resolves with how it stands when all is at rest, or has had its time. */
  #rest({ cell }: Ground, look: () => Promise<Look>): Promise<Look> {
    const isAtRest = restedFor(LOOKS_AT_REST, cell);
    return this.#watch(look, REST_LIMIT_MS, "settling", () => 1, (now) => isAtRest(now) || now.words.every(({ state }) => state === "ended"));
  }

  /** Resolves with the last look. @throws LockstepError `stopped`, what `after` threw, or what the last look met */
  #watch(look: () => Promise<Look>, limitMs: number, phase: Moment["phase"], share: () => number, isSo: (now: Look) => boolean, after: () => void = () => undefined): Promise<Look> {
    const { clock, logger } = this.#options;
    const each = (now: Look | null): void => {
      if (this.#options.interrupt.aborted) throw interrupted();
      if (now !== null) this.#show(phase, share(), now);
      after();
    };
    return this.#unlessInterrupted(watch({ look, isSo, after: each, limitMs, clock, logger }));
  }

  #show(phase: Moment["phase"], share: number, look: Look | null): void {
    this.#picture?.show({ phase, share, look });
  }

  #unlessInterrupted<T>(work: Promise<T>): Promise<T> {
    return unlessInterrupted(this.#options.interrupt, work);
  }
}
