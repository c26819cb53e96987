// Owns everything a drill stands on: a cell of its own, brokers, and nodes that reach PostgreSQL and Kafka each
// through proxies of its own.
//
// 1. The drill itself goes past the proxies: what it sees does not depend on what it strikes.
// 2. A node that is started again under its name has its former proxies.
// 3. Nothing is left in PostgreSQL and Kafka, and nobody runs, when the ends were run; nobody runs either when
//    the drill is killed.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { PASSWORD_REFERENCE } from "../cluster/company.ts";
import { CALL_MS, Fleet, SETTLE_MS } from "../cluster/fleet.ts";
import { openGround, type Ground } from "../cluster/ground.ts";
import { lookAt, type Look } from "../cluster/look.ts";
import type { NodeRun } from "../cluster/nodeRun.ts";
import { ClusterStage } from "../cluster/stage.ts";
import type { Environment } from "../credentials.ts";
import { accountsOf, type Cast } from "../demo/cast.ts";
import { CLOCK_OFFSET_MS } from "../demo/stage.ts";
import type { Ends } from "../ends.ts";
import { readBrokers } from "../kafka/resolve.ts";
import { limitsOf, type ProfileName } from "../nodeLimits.ts";
import { drillCompany, TRADING } from "./company.ts";
import { databaseAddress, databaseThrough } from "./databaseWire.ts";
import { kafkaTalk } from "./kafkaWire.ts";
import { OwnKafka } from "./ownKafka.ts";
import { Proxy, type Address } from "./proxy.ts";
import { RowWatch } from "./rowWatch.ts";

export interface SceneOptions {
  readonly profile: ProfileName;
  readonly ownKafka: boolean;
  readonly run: string;
  readonly folder: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Troupe {
  readonly cast: Cast;
  readonly logFile: string;
}

const CELLS = "lockstep-drill-";
const PARTITIONS = 8;
const FOLLOWERS_OF_EACH = 5;
const LOCAL = "127.0.0.1";
const BUSY_LOOP = new URL("./busyLoop.mjs", import.meta.url).href;

/** What a node waits for a broker: below the profile's margin, and below the settle time. */
export const callMsOf = (profile: ProfileName): number => Math.min(CALL_MS, limitsOf(profile).session.brokerTimeoutMs);

interface Wires {
  readonly database: Proxy;
  readonly kafka: Proxy;
}

export class Scene {
  readonly ground: Ground;
  readonly kafka: OwnKafka | null;
  readonly stage: ClusterStage;
  readonly rows: RowWatch;
  readonly troupes: readonly Troupe[];
  readonly fleet: Fleet;
  readonly #options: SceneOptions;
  readonly #ends: Ends;
  readonly #ports: readonly number[];
  readonly #token: string;
  readonly #wires = new Map<string, Wires>();

  private constructor(options: SceneOptions, ends: Ends, parts: Pick<Scene, "ground" | "kafka" | "stage" | "rows" | "troupes"> & { readonly ports: readonly number[]; readonly password: string }) {
    ({ ground: this.ground, kafka: this.kafka, stage: this.stage, rows: this.rows, troupes: this.troupes } = parts);
    this.#options = options;
    this.#ends = ends;
    this.#ports = parts.ports;
    this.#token = randomBytes(32).toString("base64url");
    const { profile, folder, env, clock } = options;
    this.fleet = new Fleet({
      ...this.ground,
      partitions: PARTITIONS,
      followers: this.troupes.length * FOLLOWERS_OF_EACH,
      password: parts.password,
      token: this.#token,
      folder,
      env,
      clock,
      settings: { profile, "settle-ms": SETTLE_MS, "broker-timeout-ms": callMsOf(profile) },
      environmentOf: (node) => this.#environmentOf(node),
    });
    ends.add(() => this.fleet.end());
  }

  /** @throws LockstepError `configuration`, `unreachable`, `database_busy`, `database_fault` */
  static async open(options: SceneOptions, ends: Ends): Promise<Scene> {
    const { run, folder, ownKafka, env: given, clock, logger } = options;
    const kafka = ownKafka ? await OwnKafka.start({ stateDir: folder, env: given, clock, logger }) : null;
    if (kafka !== null) ends.add(() => kafka.stop());
    const env = kafka === null ? given : { ...given, KAFKA_BROKERS: kafka.brokers.join(",") };
    const ground = await openGround({ cells: CELLS, run, keepsRows: false, partitions: PARTITIONS, env, clock, logger }, ends);
    kafkaAddress(ground.brokers); // refused before anything is started
    const password = randomBytes(16).toString("hex");
    const troupes = drillCompany(FOLLOWERS_OF_EACH, password).map((cast) => ({ cast, logFile: join(folder, `${cast.master.account}.jsonl`) }));
    const { stage, ports } = await ClusterStage.open(troupes.map((troupe) => ({ ...troupe, scenes: [], offsetsMs: [], clockOffsetMs: CLOCK_OFFSET_MS, trading: TRADING })), clock, ownKafka ? ["database"] : ["database", "kafka"]); // 3: nodes have no part in servers that they reach through proxies
    ends.add(() => stage.end());
    const rows = new RowWatch({ ...ground, clock, logger });
    ends.add(() => rows.stop());
    return new Scene(options, ends, { ground, kafka, stage, rows, troupes, ports, password });
  }

  /** Starts a node; the first of a name gets proxies. */
  async start(node: string): Promise<NodeRun> {
    if (!this.#wires.has(node)) {
      const kafkaAt = kafkaAddress(this.ground.brokers);
      const wires = { database: await Proxy.open(databaseAddress(this.ground.databaseUrl)), kafka: await Proxy.open(kafkaAt, kafkaTalk(kafkaAt.port)) };
      this.#wires.set(node, wires);
      this.#ends.add(() => Promise.all([wires.database.close(), wires.kafka.close()]));
    }
    return this.fleet.start(node); // (2)
  }

  wiresOf(node: string): Wires {
    const wires = this.#wires.get(node);
    if (wires === undefined) throw new Error(`node ${node} was never started`);
    return wires;
  }

  /** While it is there, a node that was told to stays in its busy loop. */
  busyFileOf(node: string): string {
    return join(this.#options.folder, `${node}.busy`);
  }

  /** All accounts and links, as they are at first. */
  async putAccounts(): Promise<void> {
    const accounts = this.troupes.flatMap(({ cast }, index) => accountsOf(cast, `${LOCAL}:${this.#ports[index] ?? 0}`, PASSWORD_REFERENCE));
    await this.ground.storage.directory.put(accounts, this.troupes.flatMap(({ cast }) => cast.followers.map(({ link }) => link)));
  }

  /** Of the newest process of each name (1). */
  look(): Promise<Look> {
    const { ground, fleet } = this;
    return lookAt({ ...ground, overview: ground.storage.overview, token: this.#token, clock: this.#options.clock }, fleet.newest);
  }

  get accounts(): number {
    return this.troupes.reduce((sum, { cast }) => sum + 1 + cast.followers.length, 0);
  }

  #environmentOf(node: string): Readonly<Record<string, string>> {
    const { database, kafka } = this.wiresOf(node);
    const options = [this.#options.env["NODE_OPTIONS"] ?? "", `--import=${BUSY_LOOP}`].join(" ").trim();
    return { DATABASE_URL: databaseThrough(database, this.ground.databaseUrl), KAFKA_BROKERS: kafka.address, NODE_OPTIONS: options, DRILL_BUSY_FILE: this.busyFileOf(node), DRILL_PID: String(process.pid) };
  }
}

/** @throws LockstepError `configuration`: others tell clients addresses that no proxy of ours can put right */
function kafkaAddress(brokers: readonly string[]): Address {
  const [broker = "", ...more] = readBrokers(brokers.join(","));
  const [, host, port] = /^(.*):(\d+)$/.exec(broker) ?? [];
  if (more.length > 0 || host !== LOCAL) throw new LockstepError("configuration", `KAFKA_BROKERS: a drill needs one broker at ${LOCAL}, found ${brokers.join(",")}`);
  return { host: LOCAL, port: Number(port) };
}
