// Owns the bearer token of a node's HTTP: where it comes from, and how one is compared.
//
// 1. A configured token is a reference. Without one, each start makes a token of its own and writes it
//    to a file that its owner alone can read. It is taken away when the node ends in order, unless a
//    later process of the same name has written its own there.
// 2. A comparison takes as long for a near miss as for nonsense of any length.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import { resolveCredentials, type Environment } from "../credentials.ts";

export interface Token {
  /** Where it can be read, for the log. */
  readonly from: string;
  matches(candidate: string): boolean;
  forget(): Promise<void>;
}

const BYTES = 32;
const OWN_FILE = 0o600;
const OWN_FOLDER = 0o700;

export function tokenOf(secret: string, from: string, forget: () => Promise<void> = () => Promise.resolve()): Token {
  const wanted = digest(secret);
  return { from, forget, matches: (candidate) => timingSafeEqual(digest(candidate), wanted) }; // (2)
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** @throws LockstepError `configuration` */
export const configuredToken = (reference: string, env: Environment): Token => tokenOf(resolveCredentials(reference, env), reference);

/** `folder` is the state folder. @throws LockstepError `configuration` when it cannot be written */
export async function freshToken(folder: string, cell: string, node: string): Promise<Token> {
  const path = join(folder, "nodes", cell, `${node}.token`);
  const secret = randomBytes(BYTES).toString("base64url");
  try {
    await mkdir(join(folder, "nodes", cell), { recursive: true, mode: OWN_FOLDER });
    // A new file: neither an old one's mode nor a link is taken over.
    await rm(path, { force: true });
    await writeFile(path, `${secret}\n`, { flag: "wx", mode: OWN_FILE });
    await chmod(path, OWN_FILE);
  } catch (error) {
    throw new LockstepError("configuration", `the HTTP token cannot be written: ${messageOf(error)}. httpToken names one of yours`, error);
  }
  return tokenOf(secret, path, async () => {
    // (1) What cannot be read is not ours any more.
    if ((await readFile(path, "utf8").catch(() => "")) === `${secret}\n`) await rm(path, { force: true });
  });
}
