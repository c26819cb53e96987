// Owns `lockstep kafka`: the local Kafka in the foreground, until it is told to stop; and
// `lockstep kafka TOOL ...`: one of Kafka's own tools on the Kafka that this clone uses.

import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Environment } from "../credentials.ts";
import { kafkaJars } from "../kafka/jars.ts";
import { startLocalKafka, type LocalKafka } from "../kafka/localKafka.ts";
import { resolveKafka, resolveKafkaFolder } from "../kafka/resolve.ts";
import { runTool, toolName } from "../kafka/tools.ts";
import { serveInForeground, Stop } from "./stop.ts";

export interface KafkaCommandOptions {
  /** One JSON object `{"brokers"}` instead of the bare address. */
  readonly json?: boolean | undefined;
}

export interface KafkaCommandIo {
  readonly out: { write(text: string): unknown };
  readonly env: Environment;
  readonly logger: Logger;
  readonly clock: Clock;
}

/**
 * Prints what KAFKA_BROKERS may be set to once the broker answers, and runs until SIGINT, SIGTERM or
 * SIGHUP; resolves with the exit code. Other Lockstep processes of this clone may go on using the Kafka:
 * the last one out stops it. A signal while it starts stops it as soon as it has started.
 * @throws LockstepError `configuration`: exit code 2
 */
export async function kafkaCommand(options: KafkaCommandOptions, { out, env, logger, clock }: KafkaCommandIo): Promise<number> {
  const start = async (): Promise<LocalKafka> => startLocalKafka({ stateDir: await resolveKafkaFolder(env), logger, clock, env });
  await serveInForeground(clock, start, ({ brokers }) => void out.write(`${options.json === true ? JSON.stringify({ brokers }) : brokers.join(",")}\n`));
  return 0;
}

/**
 * Resolves with the tool's exit code. A signal is the tool's to end by, if its terminal tells it too; a
 * Kafka that was started for the tool is stopped in any case.
 * @throws LockstepError `configuration`: exit code 2
 */
export async function kafkaToolCommand(tool: string, args: readonly string[], { out, env, logger, clock }: KafkaCommandIo): Promise<number> {
  const name = toolName(tool);
  const stop = new Stop(clock);
  void stop.signalled();
  let end = (): Promise<void> => Promise.resolve();
  try {
    const libFolder = await kafkaJars({ stateDir: await resolveKafkaFolder(env), env, logger, clock });
    const kafka = await resolveKafka({ env, logger, clock });
    end = () => kafka.stop();
    return await runTool({ tool: name, args, brokers: kafka.brokers, libFolder, env, out });
  } finally {
    await stop.ending(end);
  }
}
