// Owns the embedded PostgreSQL: a real server on the loopback, its data in a state folder, shared
// by all Lockstep processes that use the folder.
//
// 1. A server that outlived its processes is adopted; one that died is started again, at its old
//    port where that is free.

import { readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { shareServer } from "../local/sharing.ts";
import { CLONE_FOLDER, ownFolder, writeOwn } from "../local/stateFolder.ts";
import { locateBinaries } from "./binaries.ts";
import { DATABASE_USER, dataFolder, type DataFolder } from "./dataFolder.ts";
import { findPostmaster, startPostmaster, stopPostmaster, type Postmaster } from "./postmaster.ts";
import { chooseLauncher, serviceUser } from "./serviceUser.ts";

const CONNECT_TIMEOUT_MS = 10_000;

export interface EmbeddedOptions {
  /** The server's files are in its sub-folder `pg`. */
  readonly stateDir: string;
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface EmbeddedPostgres {
  readonly url: string;
  /** Leaves the server; the last one out stops it. Calling it twice does nothing more. */
  stop(): Promise<void>;
}

/**
 * Starts the server of this folder, or joins the one that runs.
 * @throws LockstepError `configuration` (a folder or an installation that cannot be used), `unreachable`
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { clock, logger } = options;
  const binaries = await locateBinaries();
  const user = await serviceUser(CLONE_FOLDER);
  const folder = await realpath(await ownFolder(join(options.stateDir, "pg"), user));
  const launcher = await chooseLauncher(user, binaries.postgres, folder);
  const dataPath = join(folder, "data");
  const portFile = join(folder, "port");

  const startOrJoin = async (): Promise<string> => {
    const data = await dataFolder(folder, binaries, launcher, logger);
    const found = await findPostmaster(data.path, clock);
    const server =
      found ??
      (await startPostmaster({
        postgres: binaries.postgres,
        dataFolder: data.path,
        logFile: join(folder, "postgres.log"),
        preferredPort: await readPort(portFile),
        launcher,
        clock,
      }));
    await writeOwn(portFile, `${server.port}\n`, user);
    const url = await verifiedUrl(server, data);
    logger.info({ pid: server.pid, port: server.port, folder }, found === null ? "PostgreSQL started" : "joined the running PostgreSQL"); // (1)
    return url;
  };
  const end = async (): Promise<void> => {
    await stopPostmaster(dataPath, clock);
    logger.info({ folder: dataPath }, "PostgreSQL stopped");
  };
  const { server: url, stop } = await shareServer({ folder, user, clock, start: startOrJoin, end });
  return { url, stop };
}

/** Proves that the server is the one of this data folder and knows its password. */
async function verifiedUrl(server: Postmaster, data: DataFolder): Promise<string> {
  const url = `postgres://${DATABASE_USER}:${data.password}@127.0.0.1:${server.port}/postgres`;
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, application_name: "lockstep start" });
  client.on("error", () => undefined); // the query under way rejects with the same error
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>("SHOW data_directory");
    if (rows[0]?.data_directory !== data.path) throw new Error(`it serves ${rows[0]?.data_directory}`);
    return url;
  } catch (error) {
    throw new LockstepError("unreachable", `PostgreSQL (pid ${server.pid}, port ${server.port}) does not answer as the server of ${data.path}: ${messageOf(error)}`, error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function readPort(path: string): Promise<number | null> {
  const port = Number(await readFile(path, "utf8").catch(() => ""));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null;
}
