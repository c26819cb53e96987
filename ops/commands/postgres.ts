// Owns `lockstep postgres`: the embedded PostgreSQL in the foreground, until it is told to stop.

import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../postgres/embedded.ts";
import type { Environment } from "../credentials.ts";
import { resolveStateFolder } from "../postgres/resolve.ts";
import { serveInForeground } from "./stop.ts";

export interface PostgresCommandOptions {
  /** One JSON object `{"url"}` instead of the bare URL. */
  readonly json?: boolean | undefined;
}

export interface PostgresCommandIo {
  readonly out: { write(text: string): unknown };
  readonly env: Environment;
  readonly logger: Logger;
  readonly clock: Clock;
}

/**
 * Prints the URL once the server answers, and runs until SIGINT, SIGTERM or SIGHUP; resolves with the
 * exit code. Other Lockstep processes of this clone may go on using the server: the last one out stops it.
 * A signal while it starts stops it as soon as it has started.
 * @throws LockstepError `configuration`: exit code 2
 */
export async function postgresCommand(options: PostgresCommandOptions, io: PostgresCommandIo): Promise<number> {
  const start = async (): Promise<EmbeddedPostgres> => startEmbeddedPostgres({ stateDir: await resolveStateFolder(io.env), logger: io.logger, clock: io.clock });
  await serveInForeground(io.clock, start, ({ url }) => void io.out.write(`${options.json === true ? JSON.stringify({ url }) : url}\n`));
  return 0;
}
