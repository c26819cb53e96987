// Owns the cases of `lockstep apply` as a command: what it prints, its exit codes, and what is
// stored afterwards.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock } from "../../../ops/clock.ts";
import { applyCommand, type ApplyCommandOptions } from "../../../ops/commands/apply.ts";
import { cellId } from "../../../protocol/ids.ts";
import { openStorage, type Storage } from "../../../storage/storage.ts";
import { CONNECTION, migratedDatabase } from "../../storage/postgresStorage.ts";
import { silent } from "../../support/silent.ts";

const FILE = `accounts:
  - { id: m1, role: master, platform: mt4, broker: "h:1", login: 1, credentials: env:M1 }
  - { id: f1, role: follower, platform: mt4, broker: "h:1", login: 2, credentials: env:F1 }
links:
  - { id: m1-f1, master: m1, follower: f1, magic: 7001, sizing: { mode: multiplier, factor: 1.5 } }
`;

let cells = 0;

interface Setting {
  readonly storage: Storage;
  apply(text: string, options?: ApplyCommandOptions): Promise<{ readonly code: number; readonly out: string; readonly err: string }>;
}

/** A cell of its own, named in the environment. */
async function setting(t: TestContext): Promise<Setting> {
  const url = await migratedDatabase();
  const cell = cellId(`apply-${process.pid}-${(cells += 1)}`);
  const folder = await mkdtemp(join(tmpdir(), "lockstep-apply-"));
  t.after(() => rm(folder, { recursive: true }));
  const storage = await openStorage({ ...CONNECTION, url, cell });
  t.after(() => storage.close());
  return {
    storage,
    async apply(text, options = {}) {
      const file = join(folder, "accounts.yaml");
      await writeFile(file, text);
      const told = { out: "", err: "" };
      const code = await applyCommand(file, options, {
        out: { write: (words) => (told.out += words) },
        err: { write: (words) => (told.err += words) },
        env: { DATABASE_URL: url, LOCKSTEP_CELL: cell },
        logger: silent,
        clock: systemClock,
      });
      return { code, out: told.out, err: told.err.replaceAll(file, "FILE") };
    },
  };
}

const json = (text: string): unknown => JSON.parse(text);
const NOTHING = { added: [], changed: [], removed: [], refused: [] };

test("a dry run shows the difference and writes nothing; then it is put, and put again nothing changes", async (t) => {
  const { apply, storage } = await setting(t);
  const added = { ...NOTHING, added: ["accounts/m1", "accounts/f1", "links/m1-f1"] };
  const dry = await apply(FILE, { dryRun: true, json: true });
  assert.deepEqual([dry.code, json(dry.out), dry.err], [0, added, "dry run: nothing was written\n"]);
  assert.equal(await storage.directory.version(), 0);
  assert.deepEqual(json((await apply(FILE, { json: true })).out), added);
  assert.deepEqual((await storage.directory.links()).map(({ id, settings }) => [id, settings.sizing]), [["m1-f1", { mode: "multiplier", factorMillionths: 1_500_000 }]]);
  assert.deepEqual(await apply(FILE), { code: 0, out: "nothing changes\n", err: "" });
  assert.equal(await storage.directory.version(), 1);
});

test("what changes is told in the words of the file", async (t) => {
  const { apply } = await setting(t);
  await apply(FILE);
  const other = FILE.replace("factor: 1.5 }", "factor: 0.2 }, slippagePoints: 80").replace('"h:1", login: 2', '"h:2", login: 2');
  const told = await apply(other, { dryRun: true });
  assert.equal(told.out, "changed  accounts/f1/broker: h:1 -> h:2\nchanged  links/m1-f1/sizing: mode multiplier, factor 1.5 -> mode multiplier, factor 0.2\nchanged  links/m1-f1/slippagePoints: 50 -> 80\n");
  assert.deepEqual(json((await apply(other, { json: true })).out), {
    ...NOTHING,
    changed: [
      { path: "accounts/f1/broker", from: "h:1", to: "h:2" },
      { path: "links/m1-f1/sizing", from: { mode: "multiplier", factor: "1.5" }, to: { mode: "multiplier", factor: "0.2" } },
      { path: "links/m1-f1/slippagePoints", from: 50, to: 80 },
    ],
  });
});

test("a link that is taken out is close-only, and named again it is on", async (t) => {
  const { apply, storage } = await setting(t);
  await apply(FILE);
  const without = FILE.replace(/ {2}- \{ id: m1-f1.*\n/, "").replace("links:", "links: []");
  assert.deepEqual(await apply(without), { code: 0, out: "removed  links/m1-f1: close-only, its open copies are followed to their end\n", err: "" });
  assert.deepEqual((await storage.directory.links()).map(({ enabled }) => enabled), [false]);
  assert.equal((await apply(FILE)).out, "changed  links/m1-f1/enabled: false -> true\n");
});

test("what cannot change is refused by name with exit code 2, and nothing of the file is written", async (t) => {
  const { apply, storage } = await setting(t);
  await apply(FILE);
  const told = await apply(FILE.replace("login: 2", "login: 3").replace("factor: 1.5", "factor: 9"), { json: true });
  assert.equal(told.code, 2);
  assert.deepEqual((json(told.out) as { refused: unknown }).refused, [{ path: "accounts/f1/login", why: "its login is 2 for ever, not 3" }]);
  assert.match(told.err, /refused, nothing was written/);
  assert.equal(await storage.directory.version(), 1);
});

test("a file with faults is refused whole: every one with its line, exit code 2, nothing written", async (t) => {
  const { apply, storage } = await setting(t);
  const bad = FILE.replace("role: follower", "role: slave").replace("magic: 7001", "magic: x");
  const told = await apply(bad, { json: true });
  const lines = ['FILE:3: expected one of master, follower, got "slave"', 'FILE:5: expected a whole number from 1 to 2147483647, got "x"'];
  assert.deepEqual([told.code, told.err], [2, `${lines.join("\n")}\n`]);
  assert.deepEqual((json(told.out) as { refused: { path: string }[] }).refused.map(({ path }) => path), ["accounts/f1/role", "links/m1-f1/magic"]);
  assert.equal(await storage.directory.version(), 0);
});

test("the option names the cell before the environment does, and a file that is not there is a fault of the configuration", async (t) => {
  const { apply, storage } = await setting(t);
  await apply(FILE, { cell: `apply-${process.pid}-elsewhere` });
  assert.equal(await storage.directory.version(), 0);
  const io = { out: { write: () => 0 }, err: { write: () => 0 }, env: {}, logger: silent, clock: systemClock };
  await assert.rejects(applyCommand("no-such-file.yaml", {}, io), { code: "configuration", message: /no-such-file.yaml: expected a readable file/ });
  await assert.rejects(applyCommand("x", { cell: "no cell" }, io), { code: "invalid_value" });
});
