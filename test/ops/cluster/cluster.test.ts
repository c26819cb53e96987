// Owns the test of a whole cluster from end to end: `lockstep cluster` in processes of its own, with a real
// Kafka and a real PostgreSQL; what Kafka's own tool says of it meanwhile; and that a password is nowhere.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { GroupView } from "../../../log/kafka/groupView.ts";
import { KafkaLog } from "../../../log/kafka/kafkaLog.ts";
import { KAFKA_LOG_LIMITS } from "../../../log/kafka/limits.ts";
import { systemClock } from "../../../ops/clock.ts";
import type { ClusterReport } from "../../../ops/cluster/report.ts";
import { kafkaJars } from "../../../ops/kafka/jars.ts";
import { resolveKafkaFolder } from "../../../ops/kafka/resolve.ts";
import { runTool } from "../../../ops/kafka/tools.ts";
import { cellId, type CellId } from "../../../protocol/ids.ts";
import { topicName, writersGroup, type Topic } from "../../../protocol/topics.ts";
import { within } from "../../../protocol/waiting.ts";
import { sharedKafka } from "../../support/kafka.ts";
import { eventually, execute, freshDatabase } from "../../support/postgres.ts";
import { silent } from "../../support/silent.ts";
import { nothingLeft, says, startCommand, withoutProc } from "../cli/lockstep.ts";

const PASSWORD = "planted-3kf83hq-password";
const READ_LIMIT_MS = 30_000;
const TOPICS: readonly Topic[] = ["master-ticks", "master-books", "pair-events", "replay"];

interface Described {
  readonly clients: readonly string[];
  readonly lags: readonly string[];
}

/** While the group takes itself apart and together the tool has no members to show. */
const ASKED_AT_MOST = 8;

/** Members and lag of the writers, as `kafka groups --describe` has them once each partition is somebody's. */
async function describedByTool(brokers: readonly string[], group: string): Promise<Described> {
  const libFolder = await kafkaJars({ stateDir: await resolveKafkaFolder(process.env), env: process.env, logger: silent, clock: systemClock });
  let text = "";
  for (let asked = 0; asked < ASKED_AT_MOST; asked++) {
    text = "";
    const code = await runTool({ tool: "groups", args: ["--describe", "--group", group], brokers, libFolder, env: process.env, out: { write: (part) => (text += part) } });
    // GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID, the last with spaces in it.
    const rows = text.split("\n").filter((line) => line.startsWith(group)).map((line) => line.trim().split(/\s+/));
    const clients = rows.map((cells) => cells.at(-1) ?? "");
    if (code === 0 && rows.length > 0 && clients.every((client) => /^n\d+$/.test(client))) return { clients: [...new Set(clients)].sort(), lags: rows.map((cells) => cells[5] ?? "") };
  }
  throw new Error(`asked ${ASKED_AT_MOST} times, and never was each partition somebody's: ${text}`);
}

/** Every row of every table, as text. */
async function allRows(database: string): Promise<string> {
  const tables = await execute(database, "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')");
  const texts = await Promise.all(tables.map(async ({ name }) => JSON.stringify((await execute(database, `SELECT t::text FROM ${String(name)} t`)))));
  return texts.join("\n");
}

/** Keys and values of everything that is in the cell's topics now. */
async function allRecords(brokers: readonly string[], cell: CellId): Promise<string> {
  const log = new KafkaLog({ brokers, clientId: "lockstep test", replication: { replicationFactor: 1, minInsyncReplicas: 1 }, clock: systemClock, logger: silent, limits: KAFKA_LOG_LIMITS });
  const group = `lockstep-test-${cell}`;
  const texts: string[] = [];
  try {
    for (const topic of TOPICS.map((name) => topicName(cell, name))) {
      const bounds = await log.bounds(topic);
      const left = new Map(bounds.filter(({ start, end }) => end > start).map(({ partition, end }) => [partition, end]));
      if (left.size === 0) continue;
      let [read, failed]: [() => void, (error: Error) => void] = [() => undefined, () => undefined];
      const done = new Promise<void>((resolve, reject) => ([read, failed] = [resolve, reject]));
      const subscription = await log.consume({
        group: `${group}-${topic}`, topics: [topic], from: bounds.map(({ partition, start }) => ({ topic, partition, offset: start })), onGap: () => undefined, onCrash: failed,
        async onBatch({ partition, records, next }) {
          for (const { key, value } of records) texts.push(`${key} ${Buffer.from(value ?? []).toString("latin1")}`);
          if (next >= (left.get(partition) ?? Infinity)) left.delete(partition);
          if (left.size === 0) read();
        },
      });
      await within(systemClock, READ_LIMIT_MS, `a reader of ${topic}`, done).finally(() => subscription.stop());
      await log.deleteGroup(`${group}-${topic}`);
    }
    return texts.join("\n");
  } finally {
    await log.close();
  }
}

/** Everything that a node's HTTP says, with its own token. */
async function allAnswers(address: string, token: string): Promise<string> {
  const paths = ["/healthz", "/readyz", "/metrics", "/nodes", "/accounts?limit=1000", "/links?limit=1000", "/pairs?limit=1000", "/held", "/owner/m1-f1", "/nothing"];
  const texts = await Promise.all(paths.map(async (path) => (await fetch(`http://${address}${path}`, { headers: { authorization: `Bearer ${token}` } })).text()));
  return texts.join("\n");
}

test("two nodes, one of which is replaced: everything is copied once, owned once and written; Kafka's own tool sees the writers; the brokers' password is nowhere", { skip: withoutProc }, async (t) => {
  const [brokers, database] = await Promise.all([sharedKafka(), freshDatabase(t)]);
  const command = await startCommand(t, ["cluster", "--nodes", "2", "--followers", "4", "--masters", "2", "--for", "10s", "--churn", "--json"], {
    env: { DATABASE_URL: database, KAFKA_BROKERS: brokers.join(","), LOCKSTEP_SECRET_CLUSTER: PASSWORD },
  });
  await says(command, "err", /^playing /m);
  const [row] = await execute(database, "SELECT DISTINCT cell FROM trading_accounts");
  const cell = cellId(String(row?.["cell"]));

  // While it runs.
  const seen = await describedByTool(brokers, writersGroup(cell));
  assert.ok(seen.clients.every((client) => /^n[123]$/.test(client)), seen.clients.join(" "));
  assert.ok(seen.lags.length === 8 && seen.lags.every((lag) => /^\d+$|^-$/.test(lag)), seen.lags.join(" "));
  const addresses = (await execute(database, "SELECT address FROM nodes WHERE cell = $1 AND address IS NOT NULL AND lease_until > clock_timestamp()", [cell])).map(({ address }) => String(address));
  const secrets = readSecrets(command.left());
  assert.ok(secrets.token.length >= 32 && secrets.password === PASSWORD, "the nodes have both in their environment");
  const answers = (await Promise.all(addresses.map((address) => allAnswers(address, secrets.token).catch(() => "")))).join("\n");
  const records = await allRecords(brokers, cell);

  const { code, out, err } = await command.ended;
  assert.equal(out.split("\n").length, 2, `one line of JSON on standard output\n${err}`);
  const report = JSON.parse(out) as ClusterReport;
  assert.deepEqual([report.verdict, report.violations, code], ["ok", [], 0], err);
  assert.deepEqual(Object.keys(report).sort(), ["doubleOwned", "factToRowMs", "lag", "moves", "nodes", "orders", "ownTimeMs", "unowned", "verdict", "violations"]);
  assert.deepEqual(report.nodes.map(({ node }) => node), ["n2", "n3"]);
  assert.deepEqual(report.nodes.flatMap(({ accounts }) => accounts).sort(), ["m1", "m1-f1", "m1-f2", "m2", "m2-f1", "m2-f2"]);
  assert.equal(new Set(report.nodes.flatMap(({ writerPartitions }) => writerPartitions)).size, 8);
  assert.ok(report.moves > 0 && report.orders > 50, JSON.stringify(report));
  for (const times of [report.ownTimeMs, report.factToRowMs]) assert.ok(times.count > 0 && times.p50 > 0 && times.p50 <= times.p95);
  await nothingLeft(command);

  // The secret. Each place has what belongs there, so nothing was looked for in vain.
  const rows = await allRows(database);
  const logs = await allFiles(command.stateDir);
  for (const [where, text, sign] of [["rows", rows, "m1-f1"], ["logs", logs, "node drains"], ["records", records, "m1-f1"], ["answers", answers, "lockstep_own_time_seconds"], ["output", `${out}${err}`, "verdict"]] as const) {
    assert.ok(text.includes(sign), `${where} were read`);
    assert.ok(!text.includes(PASSWORD), `the password is in ${where}`);
    assert.ok(!text.includes(secrets.token), `the token is in ${where}`);
  }

  const groups = new GroupView({ brokers, clientId: "lockstep test", clock: systemClock, logger: silent, limits: KAFKA_LOG_LIMITS });
  t.after(() => groups.close());
  assert.deepEqual(await groups.namesOf(`lockstep.${cell}.`), [], "its groups are gone");
  await eventually("its topics are gone", async () => {
    const log = new KafkaLog({ brokers, clientId: "lockstep test", replication: { replicationFactor: 1, minInsyncReplicas: 1 }, clock: systemClock, logger: silent, limits: KAFKA_LOG_LIMITS });
    try {
      return await log.bounds(topicName(cell, "pair-events")).then(() => false, () => true);
    } finally {
      await log.close();
    }
  });
});

/** What the nodes were given, from their environments. */
function readSecrets(pids: readonly number[]): { readonly password: string; readonly token: string } {
  const environments = pids.map((pid) => readFileSync(`/proc/${pid}/environ`, "latin1")).filter((text) => text.includes("LOCKSTEP_SECRET_CLUSTER_TOKEN="));
  const valueOf = (name: string): string => new RegExp(`(?:^|\\0)${name}=([^\\0]*)`).exec(environments[0] ?? "")?.[1] ?? "";
  return { password: valueOf("LOCKSTEP_SECRET_CLUSTER"), token: valueOf("LOCKSTEP_SECRET_CLUSTER_TOKEN") };
}

async function allFiles(folder: string): Promise<string> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  return (await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), "latin1")))).join("\n");
}
