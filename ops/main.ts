// Owns the command line: which commands there are, their options, and their exit codes.
//
// 1. 0: what the command checks holds. 1: it does not. 2: bad usage or configuration, with one
//    clear line for each fault.
// 2. A command is loaded when it is run, and nothing of the others: the parent of a node stays tiny.

import { Command, CommanderError } from "commander";
import { isLockstepError, messageOf } from "../protocol/errors.ts";
import { systemClock } from "./clock.ts";
import { CLUSTER_DEFAULTS } from "./cluster/options.ts";
import type { ApplyCommandOptions } from "./commands/apply.ts";
import type { BenchCommandOptions } from "./commands/bench.ts";
import type { BrokerCommandOptions } from "./commands/broker.ts";
import type { ClusterCommandOptions } from "./commands/cluster.ts";
import type { DemoCommandOptions } from "./commands/demo.ts";
import type { DrillCommandOptions } from "./commands/drill.ts";
import type { PostmortemCommandOptions } from "./commands/postmortem.ts";
import { withSettings, type SettingOptions } from "./config/nodeOptions.ts";
import { DRILL_NAMES } from "./drill/drills.ts";
import { DRILL_DEFAULTS } from "./drill/options.ts";
import { openLogger } from "./logging.ts";

/** Invariant 2. */
const load = {
  apply: async () => (await import("./commands/apply.ts")).applyCommand,
  bench: async () => (await import("./commands/bench.ts")).benchCommand,
  broker: async () => (await import("./commands/broker.ts")).brokerCommand,
  cluster: async () => (await import("./commands/cluster.ts")).clusterCommand,
  demo: async () => (await import("./commands/demo.ts")).demoCommand,
  drill: async () => (await import("./commands/drill.ts")).drillCommand,
  kafka: async () => import("./commands/kafka.ts"),
  node: async () => (await import("./commands/node.ts")).nodeCommand,
  postgres: async () => (await import("./commands/postgres.ts")).postgresCommand,
  postmortem: async () => (await import("./commands/postmortem.ts")).postmortemCommand,
  status: async () => (await import("./commands/status.ts")).statusCommand,
  statement: async () => (await import("./commands/statement.ts")).statementCommand,
};

const HELD = 0;
const FAILED = 1;
const USAGE = 2;

export async function main(args: readonly string[]): Promise<number> {
  // Whoever read us may be gone: what is under way ends in order all the same.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  let exitCode = HELD;
  const program = commands(args, (code) => (exitCode = code));
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has written its own line, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? HELD : USAGE;
    for (const line of messageOf(error).split("\n")) process.stderr.write(`lockstep: ${line}\n`); // (1)
    if (isLockstepError(error, "configuration") || isLockstepError(error, "bad_statement") || isLockstepError(error, "invalid_value")) return USAGE;
    if (!isLockstepError(error)) process.stderr.write(`${error instanceof Error ? (error.stack ?? "") : ""}\n`);
    return FAILED;
  }
}

function commands(args: readonly string[], exit: (code: number) => void): Command {
  const program = new Command("lockstep")
    .description("What a master account trades, every follower linked to it trades too: at once and exactly once.")
    .exitOverride()
    .enablePositionalOptions() // what follows `kafka TOOL` is the tool's
    .configureHelp({ showGlobalOptions: true })
    // Invariant 1: commander gives its hints on lines of their own.
    .configureOutput({ outputError: (text, write) => write(`lockstep: ${text.replace(/^error: /, "").trim().replaceAll("\n", " ")} (lockstep --help shows the commands)\n`) });

  program
    .command("demo")
    .description("the main job in one process: a statement's trades happen on a simulated master, followers copy them, an independent checker gives the verdict")
    .option("--statement <file>", "an account statement (MetaTrader 4 HTML, MetaTrader 5 HTML or XLSX); default: the bundled one")
    .option("--followers <n>", "how many followers copy", "6")
    .option("--speed <x>", "seconds of the statement in one second, or max: no pause at all, so that most trades are over before anybody can copy them; default: the whole in about half a minute")
    .option("--chaos", "sessions are kicked, answers lost, copies closed by hand, the copier's state thrown away twice")
    .option("--seed <n>", "what goes wrong under --chaos", "1")
    .option("--kafka", "the event log is a real Kafka (KAFKA_BROKERS, else a local one) instead of the in-memory one")
    .option("--json", "one JSON object on standard output")
    .action(async (options: DemoCommandOptions) => exit(await (await load.demo())(options, args)));

  program
    .command("statement <file>")
    .description("reads an account statement and says what is in it")
    .option("--json", "one JSON object on standard output")
    .action(async (file: string, options: { readonly json?: boolean }) => exit(await (await load.statement())(file, { json: options.json === true })));

  program
    .command("apply <file>")
    .description("puts accounts and links from a YAML file into PostgreSQL: what the file does not name is switched off; nothing is written when anything is refused")
    .option("--dry-run", "shows the difference and writes nothing")
    .option("--cell <name>", "whose accounts and links they are; default: main [LOCKSTEP_CELL]")
    .option("--json", "one JSON object on standard output: added, changed, removed, refused")
    .action(async (file: string, options: ApplyCommandOptions) =>
      exit(await (await load.apply())(file, options, { out: process.stdout, err: process.stderr, env: process.env, logger: openLogger({ level: "warn", file: null }), clock: systemClock })),
    );

  program
    .command("broker")
    .description("runs the simulated broker until it is told to stop")
    .option("--config <file>", "accounts, instruments and quotes (JSON); default: one MT4 and one MT5 account with moving prices")
    .option("--port <n>", "0 takes a free one; default: 9510")
    .option("--host <address>", "default: 127.0.0.1")
    .option("--log <file>", "where the broker's log goes: a file that is not there yet")
    .action(async (options: BrokerCommandOptions) => exit(await (await load.broker())(options)));

  program
    .command("cluster")
    .description("a whole cluster on this machine: real Kafka, real PostgreSQL, nodes in processes of their own, masters that each play a statement; an independent checker gives the verdict")
    .option("--nodes <n>", "nodes", CLUSTER_DEFAULTS.nodes)
    .option("--followers <n>", "followers of all masters together", CLUSTER_DEFAULTS.followers)
    .option("--masters <n>", "masters, each with brokers of its own", CLUSTER_DEFAULTS.masters)
    .option("--for <time>", "how long the story takes: 30s, 2m", CLUSTER_DEFAULTS.for)
    .option("--churn", "in the middle of the story one node ends and another one starts")
    .option("--statement <file>", "an account statement that every master plays; default: the bundled one")
    .option("--json", "one JSON object on standard output")
    .action(async (options: ClusterCommandOptions) => exit(await (await load.cluster())(options)));

  program
    .command("drill <name>")
    .description(`one failure on real processes, its timeline second by second and the verdict: ${DRILL_NAMES.join(", ")}; or stale-writer: a writer that is behind its account's new owner`)
    .option("--profile <name>", "the lease's times: published, steady or fast", DRILL_DEFAULTS.profile)
    .option("--rounds <n>", "how often what is struck once is struck; by default freeze 20 times, rolling-upgrade each node, others once")
    .option("--json", "one JSON object on standard output")
    .action(async (name: string, options: DrillCommandOptions) => exit(await (await load.drill())(name, options)));

  program
    .command("bench <name>")
    .description("measurements by ratio in one run: writer (the whole writer, real Kafka to committed rows, beside a bare batched insert)")
    .option("--rows <n>", "clean rows that go through the writer", "1000000")
    .option("--json", "one JSON object on standard output")
    .action(async (name: string, options: BenchCommandOptions) => exit(await (await load.bench())(name, options)));

  withSettings(program.command("node"))
    .description("runs one node of the cluster until it is told to stop; each option is a setting, which the environment or a file may give as well")
    .action(async (options: SettingOptions) => exit(await (await load.node())(options)));

  withSettings(program.command("status"), ["cell", "databaseUrl", "kafkaBrokers", "stateDir"])
    .description("says who owns which account, which nodes live, how far the writers are behind and what was skipped; no node has to run")
    .option("--json", "one JSON object on standard output")
    .action(async (options: SettingOptions & { readonly json?: boolean }) =>
      exit(await (await load.status())(options, { out: process.stdout, env: process.env, logger: openLogger({ level: "error", file: null }), clock: systemClock })),
    );

  program
    .command("postgres")
    .description("runs the embedded PostgreSQL in the foreground and prints its URL")
    .option("--json", "one JSON object on standard output")
    .action(async (options: { readonly json?: boolean }) =>
      exit(await (await load.postgres())(options, { out: process.stdout, env: process.env, logger: openLogger({ level: "warn", file: null }), clock: systemClock })),
    );

  withSettings(program.command("postmortem"), ["cell", "kafkaBrokers", "stateDir"])
    .description("what happened to a follower and why, from the replay topic: every decision with what it rested on; no node has to run")
    .requiredOption("--follower <id>", "the follower's account")
    .requiredOption("--from <time>", "such as 2026-01-31T12:00:00Z, or -10m: ten minutes ago")
    .option("--to <time>", "likewise", "now")
    .option("--json", "one JSON object on standard output")
    .action(async (options: PostmortemCommandOptions) =>
      exit(await (await load.postmortem())(options, { out: process.stdout, err: process.stderr, env: process.env, logger: openLogger({ level: "error", file: null }), clock: systemClock })),
    );

  program
    .command("kafka [tool] [args...]")
    .description("runs the local Kafka in the foreground and prints its address; or runs one of Kafka's own tools (groups, topics) on it: kafka groups --describe --all-groups")
    .option("--json", "one JSON object on standard output")
    .passThroughOptions()
    .action(async (tool: string | undefined, args: readonly string[], options: { readonly json?: boolean }) => {
      const io = { out: process.stdout, env: process.env, logger: openLogger({ level: tool === undefined ? "info" : "warn", file: null }), clock: systemClock };
      const { kafkaCommand, kafkaToolCommand } = await load.kafka();
      exit(tool === undefined ? await kafkaCommand(options, io) : await kafkaToolCommand(tool, args, io));
    });

  return program;
}
