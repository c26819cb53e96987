// Owns which database a process uses: the one that DATABASE_URL names, else the embedded one.

import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { checkServer } from "../../storage/migrate.ts";
import type { Environment } from "../credentials.ts";
import { CLONE_FOLDER, stateFolder } from "../local/stateFolder.ts";
import { startEmbeddedPostgres } from "./embedded.ts";
import { serviceUser } from "./serviceUser.ts";

export interface ResolveOptions {
  readonly env: Environment;
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface ResolvedDatabase {
  readonly url: string;
  readonly source: "DATABASE_URL" | "embedded";
  /** Stops the embedded server if nobody else uses it; leaves any other alone. */
  stop(): Promise<void>;
}

/** @throws LockstepError `configuration` (a bad URL, a server that is old or does not answer, a folder that cannot be used), `unreachable` */
export async function resolveDatabase(options: ResolveOptions): Promise<ResolvedDatabase> {
  const url = options.env["DATABASE_URL"];
  if (url !== undefined) {
    await checkUrl(url);
    return { url, source: "DATABASE_URL", stop: () => Promise.resolve() };
  }
  const stateDir = await resolveStateFolder(options.env);
  const embedded = await startEmbeddedPostgres({ stateDir, logger: options.logger, clock: options.clock });
  return { ...embedded, source: "embedded" };
}

/** The state folder of this clone and user. @throws LockstepError `configuration` */
export async function resolveStateFolder(env: Environment): Promise<string> {
  return stateFolder(env, CLONE_FOLDER, await serviceUser(CLONE_FOLDER));
}

async function checkUrl(url: string): Promise<void> {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !["postgres:", "postgresql:"].includes(parsed.protocol)) {
    throw new LockstepError("configuration", "DATABASE_URL: expected postgres://user:password@host:port/database"); // without the value: it may hold a password
  }
  try {
    await checkServer(url);
  } catch (error) {
    throw new LockstepError("configuration", `DATABASE_URL (${parsed.host}): ${messageOf(error)}`, error);
  }
}
