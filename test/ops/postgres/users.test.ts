// Owns the embedded PostgreSQL as root and as an ordinary user, one after the other.

import assert from "node:assert/strict";
import { chmod, cp, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { CLONE_FOLDER, ownFolder } from "../../../ops/local/stateFolder.ts";
import { locateBinaries } from "../../../ops/postgres/binaries.ts";
import { dataFolder } from "../../../ops/postgres/dataFolder.ts";
import { chooseLauncher, serviceUser } from "../../../ops/postgres/serviceUser.ts";
import { execute } from "../../support/postgres.ts";
import { isRoot, ORDINARY, sandbox, withoutOrdinary } from "./members.ts";
import { silent } from "../../support/silent.ts";

test("root, an ordinary user without an account, and root again use one clone one after the other", { skip: withoutOrdinary }, async (t) => {
  const box = await sandbox(t);
  const base = join(box.base, "new", "state"); // made by whoever comes first
  const use = async (user: typeof ORDINARY | null, sql: string): Promise<Record<string, unknown>[]> => {
    const here = await box.member({ env: { LOCKSTEP_STATE_DIR: base }, ...(user === null ? {} : { user }) });
    assert.equal(here.answer.message, undefined);
    const rows = await execute(here.answer.url ?? "", sql);
    await here.leave();
    return rows;
  };
  await use(null, "CREATE TABLE of_root AS SELECT 7 AS x");
  const [folder] = await use(ORDINARY, "SHOW data_directory");
  assert.deepEqual(await use(null, "SELECT x FROM of_root"), [{ x: 7 }]);
  assert.equal(folder?.["data_directory"], join(base, `uid-${ORDINARY.uid}`, "pg", "data"));
  assert.equal((await stat(base)).mode & 0o7777, 0o1777);
});

test("root in a folder that only root may pass", { skip: !isRoot && "only root acts for another user" }, async (t) => {
  const box = await sandbox(t);
  await chmod(box.base, 0o700);
  const first = await box.start();
  await execute(first.url, "CREATE TABLE kept AS SELECT 7 AS x");
  await execute(first.url, "CHECKPOINT");
  await first.stop();
  assert.deepEqual(await execute((await box.start()).url, "SELECT x FROM kept"), [{ x: 7 }]);
  assert.notEqual((await stat(join(box.stateDir, "pg", "data"))).uid, 0);
});

test("root with a clone that only root may pass: its programs run from there all the same", { skip: !isRoot && "only root acts for another user" }, async (t) => {
  const box = await sandbox(t);
  const { postgres } = await locateBinaries();
  const native = join(box.base, "clone", "native");
  await cp(dirname(dirname(postgres)), native, { recursive: true, verbatimSymlinks: true });
  await chmod(join(box.base, "clone"), 0o700);
  const binaries = { postgres: join(native, "bin", "postgres"), initdb: join(native, "bin", "initdb") };
  const user = await serviceUser(CLONE_FOLDER);
  const folder = await ownFolder(join(box.base, "clone", "pg"), user);
  const launcher = await chooseLauncher(user, binaries.postgres, folder);
  const data = await dataFolder(folder, binaries, launcher, silent);
  assert.equal((await stat(data.path)).uid, user.uid);
});
