// Owns a drill from its start to its records: a cluster whose masters trade, one fault after the other, and what
// was seen of each.
//
// 1. A fault is aimed, then comes just after a renewal of whom it strikes and while an order of theirs waits
//    for its answer: then the most is at stake.
// 2. Every wait has a bound. What did not come about by then is judged as it is.
// 3. What is judged is read when all is at rest: masters stand still, and every follower has had its time.

import { messageOf } from "../../protocol/errors.ts";
import type { BootId, NodeId } from "../../protocol/ids.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { TimelineDetail, TimelineEntry, TimelineEvent } from "../../protocol/timeline.ts";
import type { WallMs } from "../../protocol/units.ts";
import { pause } from "../../protocol/waiting.ts";
import { interrupted, unlessInterrupted } from "../cluster/interrupt.ts";
import { endViolations, ownershipOf } from "../cluster/judge.ts";
import type { Look } from "../cluster/look.ts";
import type { NodeRun } from "../cluster/nodeRun.ts";
import { Picture } from "../cluster/picture.ts";
import { restedFor, untilUp } from "../cluster/settling.ts";
import { watch } from "../cluster/watch.ts";
import type { Environment } from "../credentials.ts";
import type { Violation } from "../demo/check/checkDemo.ts";
import { Ends } from "../ends.ts";
import { limitsOf } from "../nodeLimits.ts";
import type { Round } from "./drills.ts";
import type { DrillPlan } from "./options.ts";
import type { DrillRecord, StruckNode } from "./record.ts";
import { recordsOf, type SeenRound } from "./records.ts";
import { Scene } from "./scene.ts";
import { aim, type Aimed } from "./strikes.ts";

export interface DrillOptions {
  readonly plan: DrillPlan;
  /** Of this run alone: the brokers' and the nodes' logs. */
  readonly folder: string;
  readonly run: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Where it is shown how far it is. */
  readonly stream: Pick<NodeJS.WriteStream, "isTTY" | "write">;
  /** Aborted: end now, in order. */
  readonly interrupt: AbortSignal;
}

const START_LIMIT_MS = 120_000;
/** Trading before the first fault: sessions are warm, and everybody has something open. */
const WARM_UP_MS = 2_000;
/** Trading after all is owned again: new owners have their first orders, and settle. */
const AFTERWARDS_MS = 4_000;
/** Others have traded for so long when what they took over from is healed. */
const ADOPTED_MS = 3_000;
const BURST_BEFORE_HEAL_MS = 3_000;
const ORDER_LIMIT_MS = 3_000;
/** No account changes hands when it is struck, or when a round is over: who has too many gives them away one by one. */
const QUIET_MS = 3_000;
const QUIET_LIMIT_MS = 45_000;
const RECOVERY_SLACK_MS = 90_000;
const REST_LIMIT_MS = 90_000;
const LOOKS_AT_REST = 2;
const POLL_MS = 20;

/** One record for each round. @throws LockstepError `configuration`, `unreachable`, `stopped` when it was interrupted */
export async function runDrill(options: DrillOptions): Promise<DrillRecord[]> {
  const ends = new Ends();
  try {
    return await new DrillRun(options, ends).run();
  } finally {
    const failures = await ends.run();
    if (failures.length > 0) options.logger.error({ failures: failures.map(messageOf) }, "the drill did not end cleanly");
  }
}

class DrillRun {
  readonly #options: DrillOptions;
  readonly #ends: Ends;
  /** What the drill itself did. */
  readonly #told: TimelineEntry[] = [];
  readonly #seen: SeenRound[] = [];
  readonly #wrong: Violation[] = [];
  #picture: Picture | null = null;
  #phase = "starting";

  constructor(options: DrillOptions, ends: Ends) {
    this.#options = options;
    this.#ends = ends;
  }

  async run(): Promise<DrillRecord[]> {
    const { plan, stream, clock } = this.#options;
    const { drill, profile, rounds } = plan;
    // Not left alone half way: what it has begun is to be ended.
    const scene = await Scene.open({ ...this.#options, profile, ownKafka: drill.ownKafka }, this.#ends);
    this.#picture = new Picture(stream, scene.ground.cell, clock);
    await this.#start(scene);
    await scene.stage.act("trade");
    this.#enter("trading");
    await this.#pause(WARM_UP_MS);
    for (const [index, round] of rounds.entries()) {
      this.#enter(`round ${index + 1} of ${rounds.length}`);
      this.#seen.push(await this.#round(scene, round));
    }
    this.#enter("settling");
    await scene.stage.act("stand");
    const last = await this.#watch(scene, REST_LIMIT_MS, restedFor(LOOKS_AT_REST, scene.ground.cell));
    const endAtMs = clock.wallMs();
    this.#wrong.push(...endViolations(last, scene.ground.cell));
    this.#enter("checking");
    const records = await recordsOf({ ...this.#options, scene, rounds: this.#seen, told: this.#told, wrong: this.#wrong, endAtMs }); // 3
    this.#picture.end();
    return records;
  }

  async #start(scene: Scene): Promise<void> {
    const { drill } = this.#options.plan;
    const names = Array.from({ length: drill.nodes }, (_, index) => `n${index + 1}`);
    if (drill.accountsFirst) await scene.putAccounts();
    for (const name of names) await scene.start(name);
    await this.#up(scene, drill.accountsFirst ? scene.accounts : 0);
    if (drill.accountsFirst) return;
    // Only now: nodes that are there together take their shares at once, and hardly anything has to move.
    await scene.putAccounts();
    await this.#up(scene, scene.accounts);
  }

  #up(scene: Scene, accounts: number): Promise<void> {
    return untilUp({ cell: scene.ground.cell, fleet: scene.fleet, accounts, folder: this.#options.folder, watch: (isSo) => this.#watch(scene, START_LIMIT_MS, isSo) });
  }

  async #round(scene: Scene, round: Round): Promise<SeenRound> {
    const { clock, random, plan } = this.#options;
    const fromMs = this.#seen.at(-1)?.endAtMs ?? clock.wallMs();
    await this.#quiet(scene); // before the first
    const runs = this.#chosen(scene, round);
    const struck = runs.map(({ name }): StruckNode => ({ node: name, boot: scene.rows.leaseOf(name)?.boot ?? null }));
    const aimed = await aim(round.strike, { scene, runs, clock, random, ttlMs: limitsOf(plan.profile).lease.ttlMs, onFailure: (error) => this.#fail(error) });
    await this.#moment(scene, struck);

    const faultAtMs = clock.wallMs(); // before the stroke: nothing that it did is before it
    aimed.strike();
    this.#tell(faultAtMs, "fault", struck, { what: round.strike });
    this.#enter(`${this.#phase}: ${round.strike}${struck.length === 0 ? "" : ` of ${struck.map(({ node }) => node).join(", ")}`}`);

    if (round.comesBack === "before_adoption") await this.#comeBack(scene, runs);
    const healAtMs = await this.#heal(scene, round, struck, faultAtMs, aimed);
    if (round.comesBack === "after_adoption") {
      await this.#adopted(scene, struck);
      await this.#comeBack(scene, runs);
    }
    await this.#recovered(scene, struck, round);
    if (plan.drill.burst) await scene.stage.act("calm");
    await this.#pause(AFTERWARDS_MS);
    await this.#quiet(scene);
    return { round, struck, fromMs, faultAtMs, healAtMs, endAtMs: clock.wallMs() };
  }

  #quiet(scene: Scene): Promise<void> {
    return this.#until(() => this.#options.clock.wallMs() - (scene.rows.owners.at(-1)?.atMs ?? 0) > QUIET_MS, QUIET_LIMIT_MS);
  }

  /** Those with most followers first; whoever has a master stays, where others can be had. */
  #chosen(scene: Scene, { whom }: Round): readonly NodeRun[] {
    const running = scene.fleet.newest.filter(({ exitCode }) => exitCode === null);
    if (whom === "none") return [];
    if (whom === "all") return running;
    const masters = new Set<string>(scene.troupes.map(({ cast }) => cast.master.account));
    const holds = ({ name }: NodeRun): string[] => scene.rows.accountsOf(scene.rows.leaseOf(name)?.boot ?? "");
    const weight = (run: NodeRun): number => {
      const accounts = holds(run);
      const mastersHeld = accounts.filter((id) => masters.has(id)).length;
      if (whom === "owner_of_master") return mastersHeld;
      return accounts.length - mastersHeld === 0 ? -1 : accounts.length - (mastersHeld > 0 ? scene.accounts : 0);
    };
    const struckBefore = (run: NodeRun): number => this.#seen.filter(({ struck }) => struck.some(({ node }) => node === run.name)).length;
    return [...running].sort((a, b) => struckBefore(a) - struckBefore(b) || weight(b) - weight(a)).slice(0, 1);
  }

  /** Invariant 1. */
  async #moment(scene: Scene, struck: readonly StruckNode[]): Promise<void> {
    const { lease } = limitsOf(this.#options.plan.profile);
    const [first] = struck;
    if (first !== undefined) {
      const before = scene.rows.leaseOf(first.node)?.leaseUntilMs;
      await this.#until(() => scene.rows.leaseOf(first.node)?.leaseUntilMs !== before, 2 * lease.renewMs + lease.queryTimeoutMs);
    }
    const masters = new Set<string>(scene.troupes.map(({ cast }) => cast.master.account));
    const held = struck.flatMap(({ boot }) => (boot === null ? [] : scene.rows.accountsOf(boot)));
    const followers = (struck.length === 0 ? scene.troupes.flatMap(({ cast }) => cast.followers.map(({ broker }) => broker.account)) : held).filter((id) => !masters.has(id));
    await unlessInterrupted(this.#options.interrupt, scene.stage.order(followers, ORDER_LIMIT_MS)).catch((error: unknown) => {
      if (this.#options.interrupt.aborted) throw error;
      this.#options.logger.warn({ error: messageOf(error) }, "no order was under way when it was struck");
    });
  }

  async #heal(scene: Scene, { heal }: Round, struck: readonly StruckNode[], faultAtMs: number, aimed: Aimed): Promise<number | null> {
    const { clock, plan } = this.#options;
    if (heal === "never") return null;
    if (heal === "adopted") {
      await this.#adopted(scene, struck);
      await this.#pause(ADOPTED_MS);
    } else {
      const afterMs = "afterMs" in heal ? heal.afterMs : limitsOf(plan.profile).lease.ttlMs + heal.leaseAndMs;
      const restMs = (): number => faultAtMs + afterMs - clock.wallMs();
      if (plan.drill.burst) {
        await this.#pause(restMs() - BURST_BEFORE_HEAL_MS);
        await scene.stage.act("burst");
      }
      await this.#pause(restMs());
    }
    const beganAtMs = clock.wallMs();
    await unlessInterrupted(this.#options.interrupt, aimed.heal());
    const healAtMs = aimed.healsSlowly === true ? clock.wallMs() : beganAtMs;
    this.#tell(healAtMs, "heal", struck, {});
    return healAtMs;
  }

  /** Under its name, once the process before it has ended. */
  async #comeBack(scene: Scene, runs: readonly NodeRun[]): Promise<void> {
    await unlessInterrupted(this.#options.interrupt, Promise.all(runs.map(({ ended }) => ended)));
    for (const { name } of runs) await scene.start(name);
  }

  /** Until somebody else owns what they owned. */
  async #adopted(scene: Scene, struck: readonly StruckNode[]): Promise<void> {
    const owned = struck.flatMap(({ boot }) => (boot === null ? [] : scene.rows.accountsOf(boot)));
    const boots = new Set(struck.map(({ boot }) => boot));
    await this.#until(() => owned.every((account) => !boots.has(scene.rows.ownerOf(account)?.boot ?? null)), this.#recoveryLimitMs());
  }

  /** Until every account is somebody's by his own word, and nobody who runs is fenced. */
  async #recovered(scene: Scene, struck: readonly StruckNode[], round: Round): Promise<void> {
    if (round.expects.accounts === "move") await this.#adopted(scene, struck);
    await this.#watch(scene, this.#recoveryLimitMs(), (now) => {
      const { unowned, doubleOwned } = ownershipOf(now, scene.ground.cell);
      return unowned.length === 0 && doubleOwned.length === 0 && now.words.every(({ state }) => state === "open" || state === "ended" || state === "ending");
    });
  }

  #recoveryLimitMs(): number {
    const { ttlMs, claimPollMs } = limitsOf(this.#options.plan.profile).lease;
    return ttlMs + 2 * claimPollMs + RECOVERY_SLACK_MS;
  }

  #tell(atMs: number, event: TimelineEvent, struck: readonly StruckNode[], detail: TimelineDetail): void {
    const whom = struck.length === 0 ? [{ node: null, boot: null }] : struck;
    for (const { node, boot } of whom) this.#told.push({ atMs: atMs as WallMs, node: node as NodeId | null, boot: boot as BootId | null, account: null, epoch: null, event, detail });
  }

  #fail(error: Error): void {
    this.#wrong.push({ rule: "drill-failed", follower: null, detail: messageOf(error) });
  }

  #enter(phase: string): void {
    this.#phase = phase;
    this.#picture?.show({ phase, share: 0, look: null });
  }

  /** Resolves with the last look. @throws LockstepError `stopped`, or what the last look met */
  #watch(scene: Scene, limitMs: number, isSo: (now: Look) => boolean): Promise<Look> {
    const { clock, logger, interrupt } = this.#options;
    const after = (now: Look | null): void => {
      if (interrupt.aborted) throw interrupted();
      if (now !== null) this.#picture?.show({ phase: this.#phase, share: 0, look: now });
    };
    return unlessInterrupted(interrupt, watch({ look: () => scene.look(), isSo, after, limitMs, clock, logger }));
  }

  #pause(ms: number): Promise<void> {
    return unlessInterrupted(this.#options.interrupt, pause(this.#options.clock, Math.max(0, ms)));
  }

  /** Or until the time is over (2). */
  async #until(isSo: () => boolean, limitMs: number): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + limitMs;
    while (!isSo() && clock.monotonicMs() < endMs) await this.#pause(POLL_MS);
  }
}
