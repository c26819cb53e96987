// Owns the tests of a node's parent and child as real processes, on a real PostgreSQL: how they end,
// and what the database says of it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { commandLine } from "../../../ops/local/processes.ts";
import { pause } from "../../../protocol/waiting.ts";
import { systemClock } from "../../../ops/clock.ts";
import { nothingLeft, runCommand, says, startCommand, withoutProc } from "../cli/lockstep.ts";
import { nodeEnvironment, rowsOf, runningNode, startingNode, type NodeRun } from "./nodeFixture.ts";

const TOKEN = "0123456789abcdef";

async function get({ address }: NodeRun, path: string, token?: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`http://${address}${path}`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
  return { status: response.status, text: await response.text() };
}

describe("lockstep node", { skip: withoutProc, concurrency: 2 }, () => {
  test("ready, it answers; SIGTERM: it drains, gives its accounts and its lease back, and exits 0", async (t) => {
    const node = await runningNode(t, { LOCKSTEP_HTTP_TOKEN: "env:LOCKSTEP_SECRET_HTTP", LOCKSTEP_SECRET_HTTP: TOKEN });
    assert.deepEqual(await rowsOf(node), { live: true, ended: false, owner: "node-1" });
    assert.deepEqual(await get(node, "/readyz"), { status: 200, text: '{"ready":true,"reasons":[]}' });
    assert.equal((await get(node, "/owner/f0")).status, 401);
    assert.deepEqual(JSON.parse((await get(node, "/owner/f0", TOKEN)).text), { account: "f0", node: "node-1", boot: "boot-1", epoch: 1, address: node.address });
    const { text } = await get(node, "/metrics");
    assert.match(text, /^lockstep_fenced 0$/m);
    assert.match(text, /^lockstep_accounts_held\{role="follower",actor="(?:starting|connecting)"\} 1$/m);

    // Another that wants the same address ends before it takes a lease.
    const [, port = ""] = node.address.split(":");
    const other = await runCommand(t, ["node"], { env: { ...nodeEnvironment("other", node.database), LOCKSTEP_HTTP_PORT: port, LOCKSTEP_LOG_LEVEL: "error" } });
    assert.equal(other.code, 2);
    assert.match(other.err, /^lockstep: node node-1: HTTP cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*\n$/);

    node.command.child.kill("SIGTERM");
    const { code, out, err } = await node.command.ended;
    assert.equal(code, 0, err);
    assert.equal(out, `node node-1 ready, http ${node.address}\n`);
    assert.match(err, /"msg":"node drains"[^]*"msg":"node has ended"/);
    assert.doesNotMatch(err, new RegExp(TOKEN));
    assert.deepEqual(await rowsOf(node), { live: false, ended: true, owner: null });
    await nothingLeft(node.command);
  });

  test("a ctrl-C that comes from terminal and npx alike is one signal: it drains", async (t) => {
    const node = await runningNode(t);
    process.kill(-(node.command.child.pid ?? 0), "SIGINT");
    node.command.child.kill("SIGINT");
    const { code, err } = await node.command.ended;
    assert.equal(code, 0, err);
    assert.deepEqual(await rowsOf(node), { live: false, ended: true, owner: null });
  });

  test("a second signal stops it at once: exit code 143, and the parent has ended the lease", async (t) => {
    const node = await runningNode(t);
    // Nothing of a child that stands still can drain.
    process.kill(node.childPid, "SIGSTOP");
    const { ended, child } = node.command;
    while ((await commandLine(node.childPid)) !== "") {
      child.kill("SIGTERM");
      await pause(systemClock, 100);
    }
    const { code, err } = await ended;
    assert.equal(code, 143, err);
    assert.match(err, /^lockstep: node node-1: its process was ended by SIGKILL; its lease is ended, its accounts are free$/m);
    assert.deepEqual(await rowsOf(node), { live: false, ended: true, owner: "node-1" });
    await nothingLeft(node.command);
  });

  test("a child that is killed: its parent ends the lease at once and exits 1", async (t) => {
    const node = await runningNode(t);
    process.kill(node.childPid, "SIGKILL");
    const { code, err } = await node.command.ended;
    assert.equal(code, 1, err);
    assert.match(err, /^lockstep: node node-1: its process was ended by SIGKILL; its lease is ended, its accounts are free$/m);
    assert.deepEqual(await rowsOf(node), { live: false, ended: true, owner: "node-1" });
    await nothingLeft(node.command);
  });

  test("a parent that is killed: the child notices, drains and ends by itself", async (t) => {
    const node = await runningNode(t);
    node.command.child.kill("SIGKILL");
    await nothingLeft(node.command);
    assert.deepEqual(await rowsOf(node), { live: false, ended: true, owner: null });
  });

  test("what cannot be gone on with ends the child at once with its reason: exit code 1, the lease is ended", async (t) => {
    const node = await runningNode(t);
    process.kill(node.childPid, "SIGUSR2");
    const { code, err } = await node.command.ended;
    assert.equal(code, 1, err);
    assert.match(err, /^lockstep: node node-1: the log's subscription ended by itself$/m);
    assert.match(err, /^lockstep: node node-1: its process ended with exit code 1; its lease is ended, its accounts are free$/m);
    assert.deepEqual(await rowsOf(node), { live: false, ended: true, owner: "node-1" });
  });

  test("SIGTERM while its parent starts a server of this machine: exit code 0, there was no child, and the server is gone", async (t) => {
    const command = await startingNode(t);
    command.child.kill("SIGTERM");
    const { code, out, err } = await command.ended;
    assert.deepEqual([code, out], [0, ""], err);
    assert.doesNotMatch(err, /"msg":"node starts"/);
    await nothingLeft(command);
  });

  test("a second signal before there is a child: exit code 143, at once", async (t) => {
    const parent = 'import { SignalWatch } from "./ops/nodeProcess/signals.ts"; import { systemClock } from "./ops/clock.ts"; new SignalWatch(systemClock); setInterval(() => undefined, 60_000); console.log("listens");';
    const command = await startCommand(t, ["--eval", parent], { program: ["--import", "tsx", "--input-type=module"] });
    await says(command, "out", /^listens$/m);
    while (command.child.exitCode === null && command.child.signalCode === null) {
      command.child.kill("SIGTERM");
      await pause(systemClock, 100);
    }
    assert.equal((await command.ended).code, 143, command.err());
  });

  test("settings that cannot be: exit code 2, one line each, nothing started", async (t) => {
    const { code, out, err } = await runCommand(t, ["node", "--lanes", "0", "--profile", "slow"], { env: { LOCKSTEP_HTTP_PORT: "x", LOCKSTEP_LANE: "1", DATABASE_URL: "mysql://root:hunter2@x/y" } });
    assert.deepEqual([code, out], [2, ""]);
    assert.deepEqual(err.trimEnd().split("\n").map((line) => line.split(":")[1]?.trim().split(" ")[0]), ["environment", "databaseUrl", "profile", "lanes", "httpPort"]);
    assert.doesNotMatch(err, /hunter2/);
  });
});
