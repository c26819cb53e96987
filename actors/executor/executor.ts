// Owns the executor: a fixed number of lanes for blocking broker calls, the queue in front of
// them, and the count of who is on one.
//
// 1. At most `lanes` tasks are with the hosts; the rest of libuv's pool is a reserve that files and
//    name look-ups always find free. A lane of a dead host counts as used until it has returned.
// 2. Calls past the cap wait in the order they came; the queue is bounded in number and in time, and
//    full is an answer. What waits can be cancelled or dropped at once; what runs ends by itself.
// 3. The in-flight count falls before the caller continues.
// 4. The number of threads is counted at boot, and another one than asked for is refused.

import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { DropCause, Permit } from "../../protocol/orders.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { callOutcome, openOutcome, type CallOutcome, type Dropped, type OpenOutcome } from "./callOutcome.ts";
import { CallSocket } from "./callSocket.ts";
import { HostPool, type TaskEnd } from "./hostPool.ts";
import type { HostTask } from "./hostTasks.ts";
import type { SocketAddress } from "./native.ts";
import { checkExecutorSizes, type ExecutorSizes } from "./sizes.ts";
import type { SharedGate } from "./sharedGate.ts";

export interface ExecutorOptions extends ExecutorSizes {
  readonly gate: SharedGate;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Work that was handed over. `cancel` drops it if it still waits, and does nothing after that. */
export interface Handed<T> {
  /** Never rejects. */
  readonly outcome: Promise<T>;
  cancel(): void;
}

export interface ExecutorCounts {
  readonly lanes: number;
  /** Threads that libuv's pool was counted to have. */
  readonly poolThreads: number;
  readonly inFlight: number;
  readonly waiting: number;
  /** Lanes of dead hosts that have not returned yet. */
  readonly stranded: number;
  readonly hosts: number;
  readonly hostsLost: number;
}

interface Job {
  readonly task: HostTask;
  readonly socket: CallSocket;
  readonly dropped: (drop: Dropped) => void;
  /** True when the job has settled, false when nothing was written and it must be offered again. */
  readonly ended: (end: TaskEnd) => boolean;
  /** After this moment it does not wait any more. */
  readonly waitUntilMs: number;
  /** Runs while it waits. */
  timer: Timer | null;
}

/** How long a frame that did not fit stays outside before it asks gate 2 again. */
const OFFER_AGAIN_MS = 5;

export class Executor {
  readonly #options: ExecutorOptions;
  readonly #pool: HostPool;
  readonly #waiting = new Set<Job>();
  /** Jobs whose frame did not fit, until they are offered again. */
  readonly #resting = new Set<Job>();
  readonly #running = new Set<Job>();
  #stranded = 0;
  #poolThreads = 0;
  #stopped = false;

  private constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#pool = new HostPool({ hosts: options.hosts, maxTasks: options.lanes, gate: options.gate.buffer, log: options.log, onChange: () => this.#pump() });
  }

  /**
   * Starts all hosts, warms them and counts the pool's threads.
   * @throws LockstepError `configuration` for sizes that cannot be, `executor` when the machine gave another number of threads, or is not Linux
   */
  static async boot(options: ExecutorOptions): Promise<Executor> {
    checkExecutorSizes(options);
    if (process.platform !== "linux") throw new LockstepError("executor", `blocking broker calls need Linux, this is ${process.platform}`);
    const executor = new Executor(options);
    try {
      await executor.#prove();
    } catch (error) {
      await executor.stop();
      throw error;
    }
    return executor;
  }

  /** Connects a socket, blocking on a lane. `userTimeoutMs`: given up by the kernel when nothing is acknowledged for so long. */
  open(address: SocketAddress, timeoutMs: number, userTimeoutMs: number): Handed<OpenOutcome> {
    let socket: CallSocket;
    try {
      socket = new CallSocket(address.family, userTimeoutMs);
    } catch (error) {
      return { outcome: Promise.resolve({ kind: "failed", detail: messageOf(error) }), cancel: () => undefined };
    }
    return this.#hand<OpenOutcome>({ kind: "connect", fd: socket.fd, address, timeoutMs }, socket, (end) => openOutcome(socket, end));
  }

  /**
   * Makes one call: gate 2, the send, the wait for one answer frame. One call at a time on a socket.
   * `timeoutMs` counts from the send. A null permit is for what is no order.
   */
  call(socket: CallSocket, frame: Uint8Array, permit: Permit | null, timeoutMs: number): Handed<CallOutcome> {
    return this.#hand<CallOutcome>({ kind: "call", fd: socket.fd, frame, permit, timeoutMs }, socket, (end) => callOutcome(socket, end));
  }

  /** At a trip: what waits is dropped, what runs goes on. */
  dropWaiting(): void {
    this.#dropAll("gate", "the fence tripped");
  }

  /** At the lease's end: every call that is still unanswered becomes unknown by the reset of its socket. */
  resetUnanswered(): void {
    for (const job of this.#running) job.socket.end();
  }

  counts(): ExecutorCounts {
    return {
      lanes: this.#options.lanes,
      poolThreads: this.#poolThreads,
      inFlight: this.#running.size,
      waiting: this.#waiting.size + this.#resting.size,
      stranded: this.#stranded,
      hosts: this.#pool.ready,
      hostsLost: this.#pool.lost,
    };
  }

  /** The host threads of this moment. */
  get hostThreads(): HostPool["workers"] {
    return this.#pool.workers;
  }

  /** Drops what waits, resets what runs and ends the hosts. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#dropAll("stopped", "the executor was stopped");
    this.resetUnanswered();
    await this.#pool.stop();
  }

  async #prove(): Promise<void> {
    const { hosts, lanes, reserve, log } = this.#options;
    const warmed = await Promise.all(Array.from({ length: hosts }, () => this.#pool.run({ kind: "warm" })));
    const counted = await this.#pool.run({ kind: "count", asked: lanes + reserve });
    for (const end of [...warmed, counted]) {
      if (end.kind === "host_lost") throw new LockstepError("executor", `a host thread could not start: ${end.detail}`);
    }
    this.#poolThreads = counted.kind === "result" && counted.result.kind === "counted" ? counted.result.threads : 0;
    if (this.#poolThreads !== lanes + reserve) {
      throw new LockstepError(
        "executor",
        `${lanes} lanes and a reserve of ${reserve} need ${lanes + reserve} threads in the pool, counted ${this.#poolThreads > lanes + reserve ? "more" : this.#poolThreads}: set UV_THREADPOOL_SIZE to the sum before the process starts`,
      );
    }
    log.info({ lanes, reserve, poolThreads: this.#poolThreads, hosts }, "executor is ready");
  }

  #hand<T>(task: HostTask, socket: CallSocket, read: (end: TaskEnd) => T | Dropped | "again"): Handed<T | Dropped> {
    let settle: (outcome: T | Dropped) => void = () => undefined;
    const outcome = new Promise<T | Dropped>((resolve) => (settle = resolve));
    const job: Job = {
      task,
      socket,
      waitUntilMs: this.#options.clock.monotonicMs() + this.#options.maxWaitMs,
      timer: null,
      dropped: (drop) => {
        // A socket that was to be connected and never will be belongs to nobody.
        if (task.kind === "connect") socket.end();
        settle(drop);
      },
      ended: (end) => {
        const verdict = read(end);
        if (verdict !== "again") settle(verdict);
        return verdict !== "again";
      },
    };
    this.#admit(job);
    return { outcome, cancel: () => this.#drop(job, "cancelled", "cancelled while waiting") };
  }

  #admit(job: Job): void {
    if (this.#stopped) job.dropped({ kind: "dropped", cause: "stopped", detail: "the executor was stopped" });
    else if (this.#waiting.size === 0 && this.#laneIsFree()) this.#start(job);
    else if (this.#waiting.size + this.#resting.size >= this.#options.maxWaiting) {
      job.dropped({ kind: "dropped", cause: "queue_full", detail: `${this.#options.maxWaiting} calls wait already` });
    } else this.#wait(job);
  }

  /** In the queue until a lane is free, its time is up or it is dropped. */
  #wait(job: Job): void {
    this.#waiting.add(job);
    job.timer = this.#options.clock.after(this.#waitLeftMs(job), () => this.#drop(job, "queue_full", `no lane within ${this.#options.maxWaitMs} ms`));
  }

  #waitLeftMs(job: Job): number {
    return Math.max(0, job.waitUntilMs - this.#options.clock.monotonicMs());
  }

  #laneIsFree(): boolean {
    return this.#pool.ready > 0 && this.#running.size + this.#stranded < this.#options.lanes; // (1)
  }

  #pump(): void {
    for (const job of this.#waiting) {
      if (!this.#laneIsFree()) return;
      this.#waiting.delete(job);
      this.#start(job);
    }
  }

  #start(job: Job): void {
    job.timer?.cancel();
    // Its descriptor is closed already, and its number may be another account's by now.
    if (job.socket.ended) return job.dropped({ kind: "dropped", cause: "session_down", detail: "the socket was ended before the call" });
    this.#running.add(job);
    job.socket.enter();
    void this.#pool.run(job.task).then((end) => this.#returned(job, end));
  }

  #returned(job: Job, end: TaskEnd): void {
    this.#running.delete(job); // (3)
    if (end.kind === "result") {
      job.socket.leave();
    } else {
      // The lane may still be blocked: the shutdown wakes it, and until it has returned it is used (1).
      this.#stranded += 1;
      job.socket.end();
      void end.lanesReturned.then(() => {
        this.#stranded -= 1;
        job.socket.leave();
        this.#pump();
      });
    }
    if (!job.ended(end)) this.#rest(job);
    this.#pump();
  }

  /** A frame that did not fit stays outside, without a lane, and is dropped like anything that waits. */
  #rest(job: Job): void {
    if (this.#stopped) return job.dropped({ kind: "dropped", cause: "stopped", detail: "the executor was stopped" });
    this.#resting.add(job);
    const leftMs = this.#waitLeftMs(job);
    job.timer = this.#options.clock.after(Math.min(leftMs, OFFER_AGAIN_MS), () => {
      if (leftMs <= OFFER_AGAIN_MS) {
        job.socket.end();
        return this.#drop(job, "session_down", `the connection took nothing for ${this.#options.maxWaitMs} ms`);
      }
      this.#resting.delete(job);
      this.#wait(job);
      this.#pump();
    });
  }

  #drop(job: Job, cause: DropCause, detail: string): void {
    const waited = this.#waiting.delete(job);
    const rested = this.#resting.delete(job);
    if (!waited && !rested) return;
    job.timer?.cancel();
    job.dropped({ kind: "dropped", cause, detail });
  }

  #dropAll(cause: DropCause, detail: string): void {
    for (const job of [...this.#resting, ...this.#waiting]) this.#drop(job, cause, detail);
  }
}
