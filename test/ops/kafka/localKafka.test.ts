// Owns the local Kafka's life: started, shared, stopped, and started again after every kind of death.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { portsOf } from "../../../ops/kafka/settings.ts";
import { eventually } from "../../support/postgres.ts";
import { readFirst, sandbox, write } from "./members.ts";

test("a process that was killed leaves its Kafka to the next one; a Kafka that was killed is started again with its records, at its old address", async (t) => {
  const box = await sandbox(t);
  const victim = await box.member();
  const [orphan] = await box.pids();
  await write(victim.brokers ?? [], "kept", "a record");
  await victim.kill();
  const here = await box.start();
  assert.equal(here.pid, orphan);
  process.kill(here.pid, "SIGKILL");
  const again = await box.start();
  assert.notEqual(again.pid, orphan);
  assert.deepEqual(again.brokers, victim.brokers);
  assert.equal(await readFirst(again.brokers, "kept", "g"), "a record");
  await here.stop();
  await here.stop();
  assert.deepEqual(await box.pids(), [again.pid]);
  await again.stop();
  assert.deepEqual(await box.pids(), []);
});

test("killed while it formats, killed while it starts: those that start at once afterwards share one Kafka, on the loopback alone, until the last one is out", async (t) => {
  const box = await sandbox(t);
  const formats = box.launch();
  await eventually("the format tool is at work", async () => (await box.pids()).length > 0);
  formats.kill("SIGKILL");
  const starts = box.launch();
  await eventually("the server is under way", async () => (await box.names("kafka.out")).length > 0 && (await box.pids()).length > 0);
  starts.kill("SIGKILL");
  const [here, other] = await Promise.all([box.start(), box.member()]);
  assert.deepEqual(here.brokers, other.brokers);
  assert.deepEqual(await box.pids(), [here.pid]);
  assert.deepEqual(await box.names("unfinished-"), []);

  const ports = portsOf(await readFile(join(box.folder, "server.properties"), "utf8"));
  assert.deepEqual(here.brokers, [`127.0.0.1:${ports?.broker}`]);
  for (const port of [ports?.broker ?? 0, ports?.controller ?? 0]) {
    assert.equal(await isOpen("127.0.0.1", port), true);
    for (const address of otherAddresses()) assert.equal(await isOpen(address, port), false, `${address} is not the loopback`);
  }

  await here.stop();
  await write(other.brokers ?? [], "works", "a record");
  await other.leave();
  assert.deepEqual(await box.pids(), []);
});

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const answer = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", () => answer(true)).once("error", () => answer(false));
  });
}

/** Of this machine, besides 127.0.0.1. */
function otherAddresses(): string[] {
  const outer = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).filter(({ family, internal }) => family === "IPv4" && !internal).map(({ address }) => address));
  return process.platform === "linux" ? ["127.0.0.2", ...outer] : outer; // elsewhere it belongs to nobody
}
