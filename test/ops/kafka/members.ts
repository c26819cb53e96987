// Owns how tests start processes that share a local Kafka, and talk to its server.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Kafka, logLevel } from "kafkajs";
import { systemClock } from "../../../ops/clock.ts";
import { startLocalKafka, type LocalKafka } from "../../../ops/kafka/localKafka.ts";
import { marker } from "../../../ops/kafka/marker.ts";
import { processesWith } from "../../../ops/local/processes.ts";
import { CLONE_FOLDER } from "../../../ops/local/stateFolder.ts";
import { ownUser } from "../../../ops/local/users.ts";
import { borrowJars } from "../../support/kafkaJars.ts";
import { ended, firstLine } from "../../support/processes.ts";
import { silent } from "../../support/silent.ts";

export const MEMBER = fileURLToPath(new URL("./member.ts", import.meta.url));

export interface Member {
  /** What it said; null when it ended without a word. */
  readonly brokers: readonly string[] | null;
  /** Leaves and ends. */
  leave(): Promise<void>;
  kill(): Promise<void>;
}

/** A state folder of one test, with the processes that use it. All of it is gone after the test. */
export interface Sandbox {
  /** What LOCKSTEP_STATE_DIR names. */
  readonly base: string;
  /** This process's own state folder in it. */
  readonly stateDir: string;
  /** The server's folder; there once something was started. */
  readonly folder: string;
  /** Starts or joins the server in this process. */
  start(): Promise<LocalKafka>;
  launch(): ChildProcess;
  /** Starts a process and waits until it has said something. */
  member(): Promise<Member>;
  /** The processes that work on the server's folder, whoever started them. */
  pids(): Promise<number[]>;
  /** Names in the server's folder that begin so. */
  names(start: string): Promise<string[]>;
}

/** With the clone's jars, unless a test is about fetching them. */
export async function sandbox(t: TestContext, { jars = true } = {}): Promise<Sandbox> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "lockstep-kafka-")));
  const stateDir = join(base, `uid-${ownUser().uid}`);
  const folder = join(stateDir, "kafka");
  const undo: (() => Promise<unknown>)[] = [() => rm(base, { recursive: true, force: true, maxRetries: 5 })];
  t.after(async () => {
    for (const work of undo.reverse()) await work();
  });
  if (jars) await borrowJars(stateDir);

  const launch = (): ChildProcess => {
    const { PATH, JAVA_HOME } = process.env;
    const env = { PATH, LOCKSTEP_STATE_DIR: base, ...(JAVA_HOME === undefined ? {} : { JAVA_HOME }) };
    const child = spawn(process.execPath, ["--import", "tsx", MEMBER], { cwd: CLONE_FOLDER, env, stdio: ["pipe", "pipe", "inherit"] });
    undo.push(() => ended(child, () => child.stdin.end()));
    return child;
  };
  return {
    base,
    stateDir,
    folder,
    async start() {
      const kafka = await startLocalKafka({ stateDir, logger: silent, clock: systemClock });
      undo.push(() => kafka.stop());
      return kafka;
    },
    launch,
    async member() {
      const child = launch();
      const line = await firstLine(child);
      const brokers = line === null ? null : (JSON.parse(line) as { brokers: string[] }).brokers;
      return { brokers, leave: () => ended(child, () => child.stdin?.end()), kill: () => ended(child, () => child.kill("SIGKILL")) };
    },
    pids: async () => [...(await processesWith(marker(folder))).keys()],
    names: async (start) => (await readdir(folder).catch(() => [])).filter((name) => name.startsWith(start)),
  };
}

const clientOf = (brokers: readonly string[]): Kafka => new Kafka({ brokers: [...brokers], clientId: "test", logLevel: logLevel.NOTHING });

/** Makes a topic of one partition with one acknowledged record. */
export async function write(brokers: readonly string[], topic: string, text: string): Promise<void> {
  const kafka = clientOf(brokers);
  const [admin, producer] = [kafka.admin(), kafka.producer()];
  try {
    await admin.connect();
    await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 1 }] });
    await producer.connect();
    await producer.send({ topic, acks: -1, messages: [{ value: text }] });
  } finally {
    await producer.disconnect();
    await admin.disconnect();
  }
}

/** The first record of a topic, read as a member of `group`; `meanwhile` runs while it is a member. */
export async function readFirst(brokers: readonly string[], topic: string, group: string, meanwhile: () => Promise<void> = async () => undefined): Promise<string> {
  const consumer = clientOf(brokers).consumer({ groupId: group });
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const text = await new Promise<string>((resolve, reject) => {
      consumer.run({ autoCommitThreshold: 1, eachMessage: async ({ message }) => resolve(message.value?.toString() ?? "") }).catch(reject);
    });
    await meanwhile();
    return text;
  } finally {
    await consumer.disconnect();
  }
}
