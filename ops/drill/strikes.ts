// Owns how a fault is done and undone: aimed first, so that the stroke itself takes no time.
//
// 1. Aiming changes nothing; the stroke is one call; healing may take its time.

import { rm, writeFile } from "node:fs/promises";
import type { Account } from "../../protocol/accounts.ts";
import { unreachable } from "../../protocol/errors.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import { pause } from "../../protocol/waiting.ts";
import type { NodeRun } from "../cluster/nodeRun.ts";
import type { Strike } from "./drills.ts";
import type { Scene } from "./scene.ts";

export interface Aimed {
  /** Does it, now. */
  strike(): void;
  /** Undoes it; does nothing where nothing can be undone. */
  heal(): Promise<void>;
  /** What is healed is there again only when that is over; else from its beginning on. */
  readonly healsSlowly?: true;
}

export interface AimOptions {
  readonly scene: Scene;
  readonly runs: readonly NodeRun[];
  readonly clock: Clock;
  readonly random: Random;
  readonly ttlMs: number;
  /** What a stroke went on doing and could not. */
  readonly onFailure: (error: Error) => void;
}

const NOTHING = (): Promise<void> => Promise.resolve();

export async function aim(strike: Strike, options: AimOptions): Promise<Aimed> {
  const { scene, runs, onFailure } = options;
  const later = (work: Promise<unknown>): void => void work.catch(onFailure);
  switch (strike) {
    case "stop":
      return { strike: () => later(Promise.all(runs.map((run) => scene.fleet.drain(run)))), heal: NOTHING };
    case "kill_child":
    case "kill_host":
      return { strike: await strokeOf(runs, strike), heal: NOTHING };
    case "freeze":
      return { strike: await strokeOf(runs, strike), heal: async () => runs.forEach((run) => run.thaw()) };
    case "busy_loop": {
      const files = runs.map((run) => scene.busyFileOf(run.name));
      await Promise.all(files.map((file) => writeFile(file, "")));
      return { strike: await strokeOf(runs, strike), heal: async () => void (await Promise.all(files.map((file) => rm(file)))) };
    }
    case "starve": {
      const freeze = await strokeOf(runs, "freeze");
      let starving = Promise.resolve();
      return { strike: () => later((starving = starve(options, freeze))), heal: () => starving, healsSlowly: true };
    }
    case "cut_database":
    case "mute_database": {
      const wires = runs.map((run) => scene.wiresOf(run.name).database);
      return { strike: () => wires.forEach((wire) => (wire.passage = strike === "cut_database" ? "cut" : "swallow")), heal: async () => wires.forEach((wire) => (wire.passage = "open")) };
    }
    case "cut_kafka": {
      const wires = runs.map((run) => scene.wiresOf(run.name).kafka);
      const cut = (): void => {
        // It ends itself; that is what is meant to happen.
        for (const run of runs) run.markStruck();
        for (const wire of wires) wire.passage = "cut";
      };
      return { strike: cut, heal: async () => wires.forEach((wire) => (wire.passage = "open")) };
    }
    case "restart_brokers":
      return { strike: () => later(scene.stage.act("down")), heal: () => scene.stage.act("up") };
    case "restart_kafka":
      return { strike: () => scene.kafka?.kill(), heal: async () => scene.kafka?.restart(), healsSlowly: true };
    case "contend": {
      const contention = new Contention(options);
      return { strike: () => later(contention.run()), heal: () => contention.stop() };
    }
    default:
      return unreachable(strike);
  }
}

/** All of them in one turn. */
async function strokeOf(runs: readonly NodeRun[], at: Parameters<NodeRun["aim"]>[0]): Promise<() => void> {
  const strokes = await Promise.all(runs.map((run) => run.aim(at)));
  return () => strokes.forEach((stroke) => stroke());
}

/** Of the ttl: how long it stands still, ever longer: shorter than a renewal at first, past the deadline and past the lease at last. */
const STANDSTILLS = [0.05, 0.1, 0.2, 0.4, 0.85, 1.25];
/** Time to begin something, seldom to end it. */
const BREATH_MS = 30;

/** As a machine whose share of the processor is used up nearly always. */
async function starve({ runs, clock, ttlMs }: AimOptions, freeze: () => void): Promise<void> {
  for (const share of STANDSTILLS) {
    freeze();
    await pause(clock, share * ttlMs);
    for (const run of runs) run.breathe();
    await pause(clock, BREATH_MS);
  }
  for (const run of runs) run.thaw();
}

const AT_ONCE = 4;
const GIVEN_BACK_LIMIT_MS = 3_000;
const POLL_MS = 50;
const BETWEEN_MS = 300;

/** Followers are switched off, given back, and switched on: then they are anybody's, and everybody sees it. */
class Contention {
  readonly #options: AimOptions;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: AimOptions) {
    this.#options = options;
  }

  run(): Promise<void> {
    return (this.#running = this.#contend());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #contend(): Promise<void> {
    const { scene, clock, random } = this.#options;
    const { directory } = scene.ground.storage;
    const followers = (await directory.accounts()).filter(({ role }) => role === "follower");
    while (!this.#isStopped) {
      const chosen: readonly Account[] = Array.from({ length: AT_ONCE }, () => followers[Math.floor(random.next() * followers.length)]).filter((account) => account !== undefined);
      const distinct = [...new Map(chosen.map((account) => [account.id, account])).values()];
      await directory.put(distinct.map((account) => ({ ...account, enabled: false })), []);
      const limitMs = clock.monotonicMs() + GIVEN_BACK_LIMIT_MS;
      while (distinct.some(({ id }) => scene.rows.ownerOf(id)?.node !== null) && clock.monotonicMs() < limitMs) await pause(clock, POLL_MS);
      await directory.put(distinct, []);
      await pause(clock, BETWEEN_MS);
    }
  }
}
