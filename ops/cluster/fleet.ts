// Owns the nodes of a cluster: how each is started, who of them has ended, and what ended wrongly.

import { join } from "node:path";
import { lanesFor } from "../../actors/executor/sizes.ts";
import type { CellId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Environment } from "../credentials.ts";
import type { Violation } from "../demo/check/checkDemo.ts";
import { DEFAULT_NODE_LIMITS } from "../nodeLimits.ts";
import { PASSWORD_VARIABLE } from "./company.ts";
import { ask } from "./look.ts";
import { NodeRun } from "./nodeRun.ts";
import { factsToRowsIn, merged, ownTimesIn, type Histogram } from "./ownTime.ts";

export interface FleetOptions {
  readonly cell: CellId;
  readonly partitions: number;
  readonly followers: number;
  /** Of all accounts. */
  readonly password: string;
  /** Of every node's HTTP. */
  readonly token: string;
  /** Where each node's log goes. */
  readonly folder: string;
  readonly env: Environment;
  readonly clock: Clock;
  /** Over the settings that every node here has. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** What one node has in its environment besides. */
  readonly environmentOf?: (node: string) => Readonly<Record<string, string>>;
}

const TOKEN_VARIABLE = "LOCKSTEP_SECRET_CLUSTER_TOKEN";
/** Brokers that are near: what has not been executed by then never will be. */
export const SETTLE_MS = 5_000;
/** Below the settle time: a call must be given up before its order is taken for settled. */
export const CALL_MS = 4_000;
const LANES = 128;

export class Fleet {
  readonly #options: FleetOptions;
  readonly #runs: NodeRun[] = [];
  readonly #ownTimes: Histogram[] = [];
  readonly #factsToRows: Histogram[] = [];
  readonly #wrong: Violation[] = [];

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  /** All that were ever started. */
  get runs(): readonly NodeRun[] {
    return this.#runs;
  }

  /** The last of each name. */
  get newest(): readonly NodeRun[] {
    return [...new Map(this.#runs.map((run) => [run.name, run])).values()];
  }

  /** A name may be started again: another boot, whose log goes on in the same file. */
  start(name: string): NodeRun {
    const { folder, clock } = this.#options;
    const run = new NodeRun({ name, settings: this.#settings(), env: this.#environment(name), logFile: join(folder, `${name}.log`), clock });
    this.#runs.push(run);
    void run.ended.then((code) => {
      if (!run.told && !run.isStruck) this.#wrong.push(ended(name, `ended by itself with exit code ${code}`));
    });
    return run;
  }

  /** A clean stop, after its numbers were read; anything but exit code 0 is a violation. */
  async drain(run: NodeRun): Promise<void> {
    if (run.exitCode !== null) return;
    await this.#readTimes(run);
    const code = await run.drain();
    if (code === 0 || run.isStruck) return;
    this.#wrong.push(ended(run.name, code === null ? "did not end when it was told to, and was killed" : `was told to end and did with exit code ${code}`));
  }

  async drainAll(): Promise<void> {
    await Promise.all(this.#runs.map((run) => this.drain(run)));
  }

  /** Whatever becomes of it: nobody runs afterwards. */
  async end(): Promise<void> {
    await Promise.all(this.#runs.map((run) => run.end()));
  }

  get violations(): readonly Violation[] {
    return this.#wrong;
  }

  get ownTimes(): Histogram {
    return merged(this.#ownTimes);
  }

  get factsToRows(): Histogram {
    return merged(this.#factsToRows);
  }

  async #readTimes({ address }: NodeRun): Promise<void> {
    if (address === null) return;
    // A node that does not answer has no numbers: the count says of how many orders they are.
    const page = await ask(`http://${address}/metrics`, this.#options.token, this.#options.clock).catch(() => "");
    this.#ownTimes.push(ownTimesIn(page));
    this.#factsToRows.push(factsToRowsIn(page));
  }

  #settings(): string[] {
    const { cell, partitions, followers, settings: own = {} } = this.#options;
    const settings: Readonly<Record<string, string | number>> = {
      cell,
      partitions,
      lanes: lanesFor(followers, DEFAULT_NODE_LIMITS.follower.parallelism, LANES),
      "settle-ms": SETTLE_MS,
      "broker-timeout-ms": CALL_MS,
      "http-port": 0,
      "http-token": `env:${TOKEN_VARIABLE}`,
      ...own,
    };
    return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  }

  /**
   * Ours, without settings that were meant for other nodes. Servers of this machine are not named: then each node has its
   * part in them, and whoever is the last to end, however the others did, stops them.
   */
  #environment(node: string): NodeJS.ProcessEnv {
    const { env, password, token, environmentOf } = this.#options;
    const isOurs = (name: string): boolean => !name.startsWith("LOCKSTEP_") || name === "LOCKSTEP_STATE_DIR" || name.startsWith("LOCKSTEP_TEST_");
    const inherited = Object.fromEntries(Object.entries(env).filter(([name]) => isOurs(name)));
    return { ...inherited, [PASSWORD_VARIABLE]: password, [TOKEN_VARIABLE]: token, ...environmentOf?.(node) };
  }
}

const ended = (node: string, how: string): Violation => ({ rule: "node-ended", follower: null, detail: `node ${node} ${how}` });
