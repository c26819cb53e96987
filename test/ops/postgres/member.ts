// Owns a process that uses the embedded PostgreSQL, for tests that need several or kill one. It
// says `{"url"}` or `{"code","message"}` on one line, and leaves when its standard input ends.

import { systemClock } from "../../../ops/clock.ts";
import { resolveDatabase } from "../../../ops/postgres/resolve.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { silent } from "../../support/silent.ts";

const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

try {
  const database = await resolveDatabase({ env: process.env, logger: silent, clock: systemClock });
  say({ url: database.url });
  for await (const _ of process.stdin);
  await database.stop();
} catch (error) {
  if (!(error instanceof LockstepError)) throw error;
  say({ code: error.code, message: error.message });
}
