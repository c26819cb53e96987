// Owns the copier of a demo: a whole node, which can be thrown away with all its state and started
// anew from the database, the brokers and what its log has kept.

import { LockstepError } from "../../protocol/errors.ts";
import { bootId, nodeId } from "../../protocol/ids.ts";
import { pause } from "../../protocol/waiting.ts";
import type { MortalLog } from "./demoLog.ts";
import { totalEvents, writerStand } from "../writerLag.ts";
import { startNode, type NodeOptions, type RunningNode } from "../node.ts";

export interface CopierOptions extends Omit<NodeOptions, "log" | "me" | "onFatal"> {
  readonly openLog: () => MortalLog;
  /** Names the boots of this run. */
  readonly run: string;
  readonly followers: number;
  /** @throws what ends the demo */
  readonly look: () => void;
  /** Nothing new for so long: all that is left is orders that their broker goes on refusing. */
  readonly quietMs: number;
}

/** When no copier was running, by our wall clock. */
export interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
}

const NODE = nodeId("demo");
const START_LIMIT_MS = 60_000;
const REST_LIMIT_MS = 60_000;
const POLL_MS = 20;

export class Copier {
  readonly outages: Outage[] = [];
  readonly #options: CopierOptions;
  #boots = 0;
  #log: MortalLog | null = null;
  #node: RunningNode | null = null;
  #fatal: Error | null = null;

  constructor(options: CopierOptions) {
    this.#options = options;
  }

  /** Resolves when every follower is connected and reconciled. @throws LockstepError `unreachable` when that takes too long */
  async start(): Promise<void> {
    const { clock } = this.#options;
    this.#log = this.#options.openLog();
    this.#node = await startNode({ ...this.#options, log: this.#log, me: this.#me(), onFatal: (error) => void (this.#fatal ??= error) });
    const limitMs = clock.monotonicMs() + START_LIMIT_MS;
    while (!this.#isReady()) {
      this.#look();
      if (clock.monotonicMs() > limitMs) throw new LockstepError("unreachable", `not every follower is connected and reconciled within ${START_LIMIT_MS / 1_000} s`);
      await pause(clock, POLL_MS);
    }
  }

  /** As if the process died and another took its place: what was only in memory is gone. */
  async throwAway(): Promise<void> {
    const { clock, registry } = this.#options;
    const fromMs = clock.wallMs();
    this.#log?.kill();
    await this.#node?.kill();
    this.#node = null;
    // What a parent process does when its child is dead for certain.
    await registry.leave(this.#me());
    this.#boots++;
    await this.start();
    this.outages.push({ fromMs, toMs: clock.wallMs() });
  }

  /** Whether every order was settled and every row written before nothing new came any more. */
  async comesToRest(): Promise<boolean> {
    const { clock, quietMs } = this.#options;
    const limitMs = clock.monotonicMs() + REST_LIMIT_MS;
    let said = -1;
    let saidAtMs = clock.monotonicMs();
    for (;;) {
      this.#look();
      await this.#node?.flush();
      const { events, written } = await this.#progress();
      if (written && this.#isReady()) return true;
      const nowMs = clock.monotonicMs();
      if (events !== said) [said, saidAtMs] = [events, nowMs];
      if (nowMs > limitMs || nowMs - saidAtMs > quietMs) return false;
      await pause(clock, POLL_MS);
    }
  }

  async stop(): Promise<void> {
    const [node, log] = [this.#node, this.#log];
    this.#node = null;
    this.#log = null;
    await node?.stop();
    await log?.close();
  }

  #me(): NodeOptions["me"] {
    return { node: NODE, boot: bootId(`${this.#options.run}-${this.#boots}`) };
  }

  #look(): void {
    if (this.#fatal !== null) throw this.#fatal;
    this.#options.look();
  }

  #isReady(): boolean {
    const followers = this.#node?.supervisor.followers ?? [];
    return followers.length === this.#options.followers && followers.every((follower) => follower.settled);
  }

  /** How many pair events there are, and whether the writers have got to the last. */
  async #progress(): Promise<{ readonly events: number; readonly written: boolean }> {
    const log = this.#log;
    if (log === null) return { events: 0, written: false };
    const stand = await writerStand(log, this.#options.cell);
    return { events: totalEvents(stand), written: stand.every(({ lag }) => lag === 0) };
  }
}
