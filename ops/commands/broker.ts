// Owns `lockstep broker`: the simulated broker as a process of its own, until it is told to stop.

import { BROKER_SERVER_DEFAULTS, BrokerServer } from "../broker/server.ts";
import { brokerConfigOf, DEFAULT_BROKER_CONFIG, readBrokerConfig, type BrokerConfig } from "../broker/config.ts";
import { FileLogSink } from "../broker/logSinks.ts";
import { walkedQuote } from "../broker/walk.ts";
import { systemClock, systemRandom } from "../clock.ts";
import { LockstepError } from "../../protocol/errors.ts";
import type { Random } from "../../protocol/ports/clock.ts";
import { Stop } from "./stop.ts";

export interface BrokerCommandOptions {
  /** Path of a JSON file (ops/broker/README.md); without one, an MT4 and an MT5 account with moving prices. */
  readonly config?: string | undefined;
  /** Default 9510; 0 takes a free one. */
  readonly port?: string | undefined;
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Path of a file that does not exist yet; without one nothing is recorded. */
  readonly log?: string | undefined;
}

const DEFAULT_PORT = 9510;
const DEFAULT_HOST = "127.0.0.1";
const WALK_EVERY_MS = 250;
const FLUSH_EVERY_MS = 1000;

/**
 * Runs until SIGINT, SIGTERM or SIGHUP; resolves with the exit code.
 * @throws LockstepError `configuration`: exit code 2
 */
export async function brokerCommand(options: BrokerCommandOptions): Promise<number> {
  const port = portOf(options.port);
  const host = options.host ?? DEFAULT_HOST;
  const config = options.config === undefined ? brokerConfigOf(DEFAULT_BROKER_CONFIG, "built-in configuration") : readBrokerConfig(options.config);
  const sinks = options.log === undefined ? [] : [new FileLogSink(options.log)];
  const server = new BrokerServer({ ...BROKER_SERVER_DEFAULTS, ...config, clock: systemClock, timeBaseMs: () => systemClock.wallMs(), logSinks: sinks });
  server.setQuotes(config.quotes);
  const listening = await server.listen(port, host);

  const stop = new Stop(systemClock);
  stop.repeat(FLUSH_EVERY_MS, () => server.log.flush());
  if (config.walk) stop.repeat(WALK_EVERY_MS, walkStep(server, config, systemRandom));
  const signalled = stop.signalled();
  // Whoever reads this may end us at once.
  report(config, `${host}:${listening}`, options.log);
  await signalled;
  await stop.ending(() => server.close());
  return 0;
}

function walkStep(server: BrokerServer, config: BrokerConfig, random: Random): () => void {
  let quotes = config.quotes;
  return () => {
    quotes = quotes.map((quote) => walkedQuote(quote, random));
    server.setQuotes(quotes);
  };
}

/** The first line is for programs: whoever starts a broker on port 0 reads the port from it. */
function report(config: BrokerConfig, address: string, log: string | undefined): void {
  process.stdout.write(`broker listening on ${address}\n`);
  for (const { account, platform, login, company, symbols } of config.accounts) {
    process.stdout.write(`  ${account}: ${platform}, login ${login}, ${company}: ${symbols.map(({ symbol }) => symbol).join(" ")}\n`);
  }
  const { answerDelayMs, clockOffsetMs, maxUnanswered, walk } = config;
  process.stdout.write(`  answers after ${answerDelayMs} ms, clock ${clockOffsetMs} ms off, at most ${maxUnanswered} unanswered orders an account\n`);
  process.stdout.write(`  prices ${walk ? "move by themselves" : "stand still"}, log: ${log ?? "none"}\n`);
}

function portOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new LockstepError("configuration", `--port: expected a number from 0 to 65535, got ${JSON.stringify(text)}`);
  return port;
}
