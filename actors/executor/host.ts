// Owns a host: the thread in which broker calls are made. It holds no state of its own; sockets
// belong to the main thread, which hands over descriptors and closes them.
//
// 1. Gate 2 and the send are one turn of this thread: nothing runs between the comparison and the
//    hand-over to the operating system.
// 2. Only the wait for the answer uses a lane; the send never waits. A frame that did not fit goes
//    back to the main thread and passes gate 2 again when it returns.
// 3. Every end is a result. A frame that was not written whole is not sent; anything after that is unanswered.

import { workerData } from "node:worker_threads";
import { LockstepError, messageOf, unreachable } from "../../protocol/errors.ts";
import { FRAME_HEADER_BYTES, FrameReader } from "../../protocol/frames.ts";
import { hostClock } from "./hostClock.ts";
import type { CallResult, ConnectResult, HostData, HostResult, HostTask } from "./hostTasks.ts";
import { countPoolThreads } from "./laneCount.ts";
import { connectBlocking, peek, sendNow, waitForBytes } from "./native.ts";
import { SharedGate } from "./sharedGate.ts";

/** Answers to orders are small; a longer one is read in pieces. */
const READ_BYTES = 4_096;

const gate = SharedGate.attach((workerData as HostData).gate, hostClock);

export default async function run(task: HostTask): Promise<HostResult> {
  switch (task.kind) {
    case "warm":
      return { kind: "warm" };
    case "count":
      return { kind: "counted", threads: await countPoolThreads(task.asked) };
    case "connect":
      return connect(task);
    case "call":
      return call(task);
    default:
      return unreachable(task);
  }
}

async function connect(task: Extract<HostTask, { kind: "connect" }>): Promise<ConnectResult> {
  const startedMs = hostClock.monotonicMs();
  try {
    if (await connectBlocking(task.fd, task.address, task.timeoutMs)) return { kind: "connected" };
  } catch (error) {
    return { kind: "not_connected", detail: messageOf(error) };
  }
  const tookMs = Math.round(hostClock.monotonicMs() - startedMs);
  return { kind: "not_connected", detail: `no connection to ${task.address.ip}:${task.address.port} after ${tookMs} ms` };
}

function call(task: Extract<HostTask, { kind: "call" }>): CallResult | Promise<CallResult> {
  // One turn from here to the send (1).
  const verdict = task.permit === null ? "open" : gate.check(task.permit);
  if (verdict !== "open") return { kind: "refused", verdict };
  const callMadeAtMs = hostClock.monotonicMs();
  const sent = sendNow(task.fd, task.frame);
  switch (sent.kind) {
    case "sent":
      return answer(task, callMadeAtMs);
    case "would_block":
      return { kind: "would_block" };
    case "partly":
      return { kind: "not_sent", detail: `only ${sent.bytes} of ${task.frame.length} bytes were taken` };
    case "failed":
      return { kind: "not_sent", detail: sent.detail };
    default:
      return unreachable(sent);
  }
}

/** Waits on a lane until one whole answer came, the connection ended or the time is up. */
async function answer(task: Extract<HostTask, { kind: "call" }>, callMadeAtMs: number): Promise<CallResult> {
  const unanswered = (detail: string): CallResult => ({ kind: "unanswered", detail, callMadeAtMs });
  const frames = new FrameReader();
  const chunk = new Uint8Array(READ_BYTES);
  const header = new Uint8Array(FRAME_HEADER_BYTES);
  let received = 0;
  try {
    for (;;) {
      const leftMs = callMadeAtMs + task.timeoutMs - hostClock.monotonicMs();
      if (leftMs <= 0) return unanswered(`no answer within ${task.timeoutMs} ms`);
      const read = await waitForBytes(task.fd, chunk, leftMs);
      if (read === 0) return unanswered("the connection ended before the answer");
      if (read < 0) {
        // Out of time, broken, or a signal hit the lane's thread. Only the last goes on.
        if (peek(task.fd) === "ended") return unanswered("the connection broke before the answer");
        continue;
      }
      if (received < FRAME_HEADER_BYTES) header.set(chunk.subarray(0, Math.min(read, FRAME_HEADER_BYTES - received)), received);
      received += read;
      const message = frames.push(chunk.subarray(0, read))[0];
      if (message === undefined) continue;
      const reusable = received === FRAME_HEADER_BYTES + new DataView(header.buffer).getUint32(0);
      return { kind: "answered", message, callMadeAtMs, reusable };
    }
  } catch (error) {
    if (error instanceof LockstepError) return unanswered(`an answer that cannot be read: ${error.message}`);
    return unanswered(messageOf(error));
  }
}
