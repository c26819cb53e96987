// Owns the tests of how commands end: by signals, and when their launcher is killed. Nothing is left.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { until } from "../../support/until.ts";
import { nothingLeft, says, startCommand, withoutProc, type Command } from "./lockstep.ts";

const playing = (command: Command): Promise<void> => says(command, "err", /^playing /m);

describe("a signal ends it in order", { skip: withoutProc, concurrency: 2 }, () => {
  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    test(`broker, ${signal}: exit code 0`, async (t) => {
      const command = await startCommand(t, ["broker", "--port", "0"]);
      await says(command, "out", /^broker listening on 127\.0\.0\.1:\d+\n/);
      command.child.kill(signal);
      assert.equal((await command.ended).code, 0);
      await nothingLeft(command);
    });
  }

  test("postgres, SIGTERM: exit code 0", async (t) => {
    const command = await startCommand(t, ["postgres"], { database: "embedded" });
    await says(command, "out", /^postgres:\/\/.*\n/);
    command.child.kill("SIGTERM");
    assert.equal((await command.ended).code, 0);
    await nothingLeft(command);
  });

  test("postgres, SIGHUP while its server starts: exit code 0, and the server is gone", async (t) => {
    const command = await startCommand(t, ["postgres"], { database: "embedded" });
    await until("a process of its server is there", () => command.left().length > 1);
    command.child.kill("SIGHUP");
    assert.equal((await command.ended).code, 0);
    await nothingLeft(command);
  });

  test("demo, SIGINT to all of its terminal's group: exit code 130, its brokers and its PostgreSQL are gone", async (t) => {
    const command = await startCommand(t, ["demo"], { database: "embedded" });
    await playing(command);
    assert.ok(command.left().length > 2, "launcher, launched and PostgreSQL");
    process.kill(-(command.child.pid ?? 0), "SIGINT");
    const { code, out, err } = await command.ended;
    assert.deepEqual([code, out], [130, ""]);
    assert.match(err, /^lockstep: told to end before the demo was over\n$/m);
    await nothingLeft(command);
  });

  test("demo, SIGTERM to its launcher alone: exit code 143", async (t) => {
    const command = await startCommand(t, ["demo", "--followers", "1"]);
    await playing(command);
    command.child.kill("SIGTERM");
    assert.equal((await command.ended).code, 143);
    await nothingLeft(command);
  });
});

test("a demo whose launcher is killed ends by itself and takes its PostgreSQL along", { skip: withoutProc }, async (t) => {
  const command = await startCommand(t, ["demo", "--followers", "1"], { database: "embedded" });
  await playing(command);
  command.child.kill("SIGKILL");
  await nothingLeft(command);
});
