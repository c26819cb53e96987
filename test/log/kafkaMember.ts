// Owns a member of a group on Kafka in a process of its own, and its end in ours: started with the
// options as JSON, it tells over the channel what it gets and what becomes of its commits.

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import { KAFKA_LOG_LIMITS } from "../../log/kafka/limits.ts";
import { systemClock } from "../../ops/clock.ts";
import type { LogFixture, MemberOptions, SeenRecord } from "../contract/logFixture.ts";
import { membership } from "../contract/membership.ts";
import { silent } from "../support/silent.ts";

type Told = { readonly kind: "ready" } | { readonly kind: "got"; readonly records: readonly SeenRecord[] } | { readonly kind: "commit"; readonly outcome: string | null };

const THIS_FILE = fileURLToPath(import.meta.url);

export function kafkaMember(brokers: readonly string[], t: TestContext): LogFixture["member"] {
  return async (options) => {
    const child = fork(THIS_FILE, [JSON.stringify({ brokers, options })], { execArgv: ["--import", "tsx"] });
    t.after(() => end(child));
    const got: SeenRecord[] = [];
    const commits: (string | null)[] = [];
    await new Promise<void>((ready, failed) => {
      child.once("exit", (code) => failed(new Error(`the member ended with ${code}`)));
      child.on("message", (told: Told) => {
        if (told.kind === "got") got.push(...told.records);
        else if (told.kind === "commit") commits.push(told.outcome);
        else ready();
      });
    });
    return {
      got,
      commits,
      release: () => void child.send("release"),
      kill: () => end(child),
      freeze: () => void child.kill("SIGSTOP"),
      thaw: () => void child.kill("SIGCONT"),
    };
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

async function runMember(text: string): Promise<void> {
  const { brokers, options } = JSON.parse(text) as { readonly brokers: readonly string[]; readonly options: MemberOptions };
  const tell = (told: Told): void => void process.send?.(told);
  process.once("disconnect", () => process.exit(1));
  const log = new KafkaLog({ brokers, clientId: `member-${process.pid}`, replication: { replicationFactor: 1, minInsyncReplicas: 1 }, clock: systemClock, logger: silent, limits: KAFKA_LOG_LIMITS });
  const member = await membership(log, options, { onGot: (records) => tell({ kind: "got", records }), onCommit: (outcome) => tell({ kind: "commit", outcome }) });
  process.on("message", () => member.release());
  tell({ kind: "ready" });
}

if (process.argv[1] === THIS_FILE) await runMember(process.argv[2] ?? "");
