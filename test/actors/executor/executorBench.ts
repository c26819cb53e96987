// Owns the bench of the executor's tests: one executor for a file, and for each test an open gate
// and a frame server whose answers the test decides.

import { after, afterEach, before, beforeEach } from "node:test";
import type { CallSocket } from "../../../actors/executor/callSocket.ts";
import { sendNow } from "../../../actors/executor/native.ts";
import { FrameServer, type Peer } from "../../support/scriptedBroker.ts";
import { until } from "../../support/until.ts";
import { boot, connectTo, openGate, PERMIT, type Rig } from "./executorFixture.ts";

export const answer = (message: Record<string, unknown>, peer: Peer): void => peer.send({ echo: message["n"] });

/** Writes until not one byte more fits. */
export function fill(socket: CallSocket): void {
  for (const size of [100_000, 1]) while (sendNow(socket.fd, new Uint8Array(size)).kind !== "would_block");
}

export class ExecutorBench {
  rig!: Rig;
  server!: FrameServer;
  /** Whether the server answers by itself. */
  answering = true;
  onFrame!: (message: Record<string, unknown>, peer: Peer) => void;
  readonly sockets: CallSocket[] = [];

  async open(): Promise<CallSocket> {
    const socket = await connectTo(this.rig.executor, this.server.port);
    this.sockets.push(socket);
    await until("the broker has accepted it", () => this.server.peers.length >= this.sockets.length);
    return socket;
  }

  openMany(count: number): Promise<CallSocket[]> {
    return Promise.all(Array.from({ length: count }, () => this.open()));
  }

  /** The numbers of the calls that reached the server. */
  asked(): unknown[] {
    return this.server.received.map((message) => message["n"]);
  }
}

/** Sets the bench up around the tests of the file that calls it. */
export function executorBench(): ExecutorBench {
  const bench = new ExecutorBench();
  before(async () => {
    bench.rig = await boot();
  });
  after(() => bench.rig.executor.stop());
  beforeEach(async () => {
    bench.answering = true;
    bench.onFrame = (message, peer) => (bench.answering ? answer(message, peer) : undefined);
    bench.server = await FrameServer.start((message, peer) => bench.onFrame(message, peer));
    openGate(bench.rig.gate);
    bench.rig.gate.setEpoch(PERMIT.slot, PERMIT.epoch);
  });
  afterEach(async () => {
    for (const socket of bench.sockets.splice(0)) socket.end();
    await until("no call is under way", () => bench.rig.executor.counts().inFlight === 0);
    await bench.server.close();
  });
  return bench;
}
