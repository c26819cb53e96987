// Owns the tests of the token that a node makes for itself.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { freshToken } from "../../../ops/http/token.ts";
import { LockstepError } from "../../../protocol/errors.ts";

test("a token of its own lies in a file that its owner alone can read, is new at each start and gone at the end", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-token-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "nodes/main/node-1.token");
  const first = await freshToken(folder, "main", "node-1");
  const secret = (await readFile(path, "utf8")).trim();
  assert.match(secret, /^[\w-]{43}$/);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal(first.from, path);
  assert.equal(first.matches(secret), true);
  await chmod(path, 0o666);
  const second = await freshToken(folder, "main", "node-1");
  assert.equal(second.matches(secret), false);
  assert.equal((await stat(path)).mode & 0o777, 0o600, "an old file's mode is not taken over");
  await first.forget();
  assert.equal(second.matches((await readFile(path, "utf8")).trim()), true, "another process's token is left");
  await second.forget();
  assert.equal(existsSync(path), false);

  const elsewhere = join(folder, "elsewhere");
  await writeFile(elsewhere, "untouched");
  await symlink(elsewhere, path);
  await freshToken(folder, "main", "node-1");
  assert.equal(await readFile(elsewhere, "utf8"), "untouched", "a link is not followed");
});

test("a folder that cannot be written is a configuration fault that names the way out", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-token-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "nodes"), "a file in the way");
  await assert.rejects(freshToken(folder, "main", "node-1"), (error: unknown) => error instanceof LockstepError && error.code === "configuration" && /httpToken names one of yours/.test(error.message));
});
