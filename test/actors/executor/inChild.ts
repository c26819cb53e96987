// Owns one scenario of the executor in a process of its own, whose pool has the size that
// UV_THREADPOOL_SIZE asked for. Prints one JSON object.

import { connect } from "node:net";
import type { CallSocket } from "../../../actors/executor/callSocket.ts";
import { FrameServer } from "../../support/scriptedBroker.ts";
import { until } from "../../support/until.ts";
import { ask, boot, connectTo, threads, type Rig } from "./executorFixture.ts";

const [scenario, lanes, reserve] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];

// The pool has its threads already: loading this file used it.
if (scenario === "lie") process.env["UV_THREADPOOL_SIZE"] = String(lanes + reserve);
const server = await FrameServer.start(() => undefined);
const rig = await boot({ lanes, reserve, maxWaiting: 1_000 });
const report = await run();
await rig.executor.stop();
await server.close();
process.stdout.write(JSON.stringify(report));

async function run(): Promise<object> {
  switch (scenario) {
    case "count":
    case "lie":
      return { counted: rig.executor.counts().poolThreads };
    case "trip":
      return trip(rig);
    case "hung":
      return lookUpByName(await hang(lanes));
    default:
      throw new Error(`no scenario ${scenario}`);
  }
}

async function hang(count: number): Promise<CallSocket[]> {
  const sockets: CallSocket[] = [];
  for (let n = 0; n < count; n++) sockets.push(await connectTo(rig.executor, server.port));
  for (const [n, socket] of sockets.entries()) void ask(rig.executor, socket, n);
  await until("all calls are made", () => server.received.length === count);
  return sockets;
}

/** A trip with as many calls on lanes as there are, and as many again waiting. */
async function trip({ executor, gate }: Rig): Promise<object> {
  const sockets: CallSocket[] = [];
  for (let n = 0; n < 2 * lanes; n++) sockets.push(await connectTo(executor, server.port));
  const before = { threads: threads(), hosts: executor.hostThreads.map((host) => host.threadId) };
  const calls = sockets.map((socket, n) => ask(executor, socket, n));
  await until("all lanes are taken", () => server.received.length === lanes);
  gate.trip();
  executor.dropWaiting();
  executor.resetUnanswered();
  const kinds = (await Promise.all(calls.map((call) => call.outcome))).map((outcome) => outcome.kind);
  const after = { threads: threads(), hosts: executor.hostThreads.map((host) => host.threadId) };
  return { before, after, lost: executor.counts().hostsLost, unknown: kinds.filter((kind) => kind === "unknown").length, dropped: kinds.filter((kind) => kind === "dropped").length, made: server.received.length };
}

/** What a database client does after its connection broke: a look-up and a connect, while no lane is free. */
async function lookUpByName(sockets: CallSocket[]): Promise<object> {
  const inFlight = rig.executor.counts().inFlight;
  const peer = await new Promise<string>((resolve, reject) => {
    const socket = connect({ host: "localhost", port: server.port, family: 4 }, () => {
      resolve(socket.remoteAddress ?? "");
      socket.destroy();
    });
    socket.once("error", reject);
  });
  const report = { peer, inFlightBefore: inFlight, inFlightAfter: rig.executor.counts().inFlight };
  for (const socket of sockets) socket.end();
  return report;
}
