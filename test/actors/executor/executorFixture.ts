// Owns what the executor's tests share: an executor of a few lanes in this very process, whatever
// the size of its pool, and calls of a frame that a FrameServer answers.

import { readdirSync } from "node:fs";
import { systemClock } from "../../../ops/clock.ts";
import type { CallOutcome } from "../../../actors/executor/callOutcome.ts";
import type { CallSocket } from "../../../actors/executor/callSocket.ts";
import { Executor, type ExecutorOptions, type Handed } from "../../../actors/executor/executor.ts";
import { SharedGate } from "../../../actors/executor/sharedGate.ts";
import { encodeFrame } from "../../../protocol/frames.ts";
import type { Epoch } from "../../../protocol/ids.ts";
import type { Permit } from "../../../protocol/orders.ts";
import { recordingLogger, type RecordingLogger } from "../../support/recordingLogger.ts";

/** Threads of libuv's pool in this process: 4 is libuv's own default. */
export const POOL = Number(process.env["UV_THREADPOOL_SIZE"] ?? 4);
export const LANES = 3;
export const PERMIT: Permit = { slot: 0, epoch: 5 as Epoch };

export interface Rig {
  readonly executor: Executor;
  readonly gate: SharedGate;
  readonly log: RecordingLogger;
}

export const liveGate = (): SharedGate => {
  const gate = SharedGate.create(8, systemClock);
  gate.setEpoch(PERMIT.slot, PERMIT.epoch);
  openGate(gate);
  return gate;
};

export function openGate(gate: SharedGate, forMs = 600_000): void {
  gate.trip();
  gate.lift(gate.state(), { monotonicMs: systemClock.monotonicMs() + forMs, wallMs: systemClock.wallMs() + forMs });
}

export async function boot(options: Partial<ExecutorOptions> = {}): Promise<Rig> {
  const gate = options.gate ?? liveGate();
  const log = recordingLogger();
  const executor = await Executor.boot({ lanes: LANES, reserve: POOL - LANES, hosts: 2, maxWaiting: 100, maxWaitMs: 60_000, clock: systemClock, log, gate, ...options });
  return { executor, gate, log };
}

export async function connectTo(executor: Executor, port: number): Promise<CallSocket> {
  const opened = await executor.open({ ip: "127.0.0.1", family: "IPv4", port }, 5_000, 5_000).outcome;
  if (opened.kind !== "open") throw new Error(`not open: ${JSON.stringify(opened)}`);
  return opened.socket;
}

export function ask(executor: Executor, socket: CallSocket, n: number, options: { permit?: Permit | null; timeoutMs?: number; padding?: number } = {}): Handed<CallOutcome> {
  const frame = encodeFrame({ n, padding: new Uint8Array(options.padding ?? 0) });
  return executor.call(socket, frame, options.permit === undefined ? PERMIT : options.permit, options.timeoutMs ?? 30_000);
}

/** Descriptors of this process that are sockets. */
export const descriptors = (): number => readdirSync("/proc/self/fd").length;
export const threads = (): number => readdirSync("/proc/self/task").length;
