// Owns what is said when a folder, a database or an installation cannot be used.

import assert from "node:assert/strict";
import { chmod, lstat, mkdir, mkdtemp, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../../ops/clock.ts";
import { completeLinks } from "../../../ops/postgres/binaries.ts";
import { lockFile } from "../../../ops/local/fileLock.ts";
import { resolveDatabase, resolveStateFolder } from "../../../ops/postgres/resolve.ts";
import { sharedPostgres } from "../../support/postgres.ts";
import { isRoot, sandbox } from "./members.ts";
import { silent } from "../../support/silent.ts";

const resolve = (env: Readonly<Record<string, string>>) => resolveDatabase({ env, logger: silent, clock: systemClock });

test("a state folder that is a file is refused by name, with what to set", async (t) => {
  const box = await sandbox(t);
  await writeFile(join(box.base, "file"), "");
  await assert.rejects(resolve({ LOCKSTEP_STATE_DIR: join(box.base, "file") }), (error: Error) => {
    assert.match(error.message, new RegExp(`the state folder ${box.base}/file cannot be used: it is not a folder. LOCKSTEP_STATE_DIR`));
    return "code" in error && error.code === "configuration";
  });
});

test("a state folder that cannot be written is refused", { skip: isRoot && "root may write anywhere" }, async (t) => {
  const box = await sandbox(t);
  await mkdir(join(box.base, "closed"), { mode: 0o500 });
  await assert.rejects(resolveStateFolder({ LOCKSTEP_STATE_DIR: join(box.base, "closed") }), { code: "configuration", message: /EACCES/ });
});

test("an empty LOCKSTEP_STATE_DIR is refused", async () => {
  await assert.rejects(resolveStateFolder({ LOCKSTEP_STATE_DIR: "" }), { code: "configuration", message: /set, but empty/ });
});

test("a folder of somebody else is refused", { skip: !isRoot && "only root can make one" }, async (t) => {
  const box = await sandbox(t);
  await mkdir(join(box.stateDir, "pg"), { recursive: true }); // root's, where the server's user should be the owner
  await assert.rejects(box.start(), { code: "configuration", message: /uid-\d+\/pg cannot be used: it belongs to uid 0, and the server runs as uid \d+/ });
});

test("a database that is broken, foreign or of another release is refused with what is wrong", async (t) => {
  const box = await sandbox(t);
  await (await box.start()).stop();
  const data = join(box.stateDir, "pg", "data");
  await writeFile(join(data, "PG_VERSION"), "9\n");
  await assert.rejects(box.start(), { code: "configuration", message: /pg\/data was made by PostgreSQL 9, this is \d+/ });
  await writeFile(join(data, "PG_VERSION"), "18\n");
  await rm(join(data, "global", "pg_control"));
  await assert.rejects(box.start(), { code: "unreachable", message: /did not start: .*pg_control.*postgres\.log/ });
  await rm(join(data, "lockstep.password"));
  await assert.rejects(box.start(), { code: "configuration", message: /pg\/data is no database of ours/ });
});

test("a folder lock that is never given back ends the wait with its name", async (t) => {
  const box = await sandbox(t);
  const held = await lockFile(join(box.base, "lock"), "exclusive", systemClock, 1_000);
  await assert.rejects(lockFile(join(box.base, "lock"), "exclusive", systemClock, 30), { code: "unreachable", message: /another process has held .*\/lock/ });
  await held.release();
  await (await lockFile(join(box.base, "lock"), "exclusive", systemClock, 1_000)).release();
});

test("a shared lock becomes the only one when nobody shares it any more", async (t) => {
  const box = await sandbox(t);
  const [one, two] = await Promise.all([1, 2].map(() => lockFile(join(box.base, "users"), "shared", systemClock, 1_000)));
  assert.ok(one && two);
  assert.equal(one.tryExclusive(), false);
  await one.release();
  assert.equal(two.tryExclusive(), true);
  await two.release();
});

test("DATABASE_URL: text that is no Postgres URL is refused without being shown", async () => {
  await assert.rejects(resolve({ DATABASE_URL: "mysql://u:secret@h/db" }), (error: Error) => !error.message.includes("secret") && "code" in error && error.code === "configuration");
});

test("DATABASE_URL: a server that is not there is named without its password", async () => {
  await assert.rejects(resolve({ DATABASE_URL: "postgres://u:secret@127.0.0.1:1/db" }), (error: Error) => {
    assert.equal(error.message, "DATABASE_URL (127.0.0.1:1): connect ECONNREFUSED 127.0.0.1:1");
    return "code" in error && error.code === "configuration";
  });
});

test("DATABASE_URL: a server that answers is used, and stop leaves it alone", async () => {
  const url = await sharedPostgres();
  const database = await resolve({ DATABASE_URL: url });
  await database.stop();
  assert.deepEqual({ url: database.url, source: database.source }, { url, source: "DATABASE_URL" });
  await (await resolve({ DATABASE_URL: url })).stop();
});

test("library links that the installer did not make are made; those that are there stay", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-links-"));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "native", "lib"), { recursive: true });
  await writeFile(join(folder, "native", "lib", "libx.so.1.2"), "library");
  await writeFile(join(folder, "native", "lib", "libx.so"), "own");
  const entry = (target: string) => ({ source: "native/lib/libx.so.1.2", target: `native/lib/${target}` });
  await writeFile(join(folder, "native", "pg-symlinks.json"), JSON.stringify([entry("libx.so.1"), entry("libx.so")]));
  await completeLinks(folder);
  await completeLinks(folder);
  assert.equal(await readlink(join(folder, "native", "lib", "libx.so.1")), "libx.so.1.2");
  assert.equal(await readFile(join(folder, "native", "lib", "libx.so.1"), "utf8"), "library");
  assert.equal((await lstat(join(folder, "native", "lib", "libx.so"))).isSymbolicLink(), false);
});

test("a state folder that only its owner may pass: refused by name where setpriv is not to be had", { skip: !isRoot && "only root acts for another user" }, async (t) => {
  const box = await sandbox(t);
  await chmod(box.base, 0o700);
  const { answer } = await box.member({ env: { PATH: "/nonexistent" } });
  assert.equal(answer.code, "configuration");
  assert.match(answer.message ?? "", new RegExp(`PostgreSQL does not run as root, and uid \\d+ may not pass through ${box.base}; .*setpriv`));
});
