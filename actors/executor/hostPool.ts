// Owns the host threads: a small fixed number of them in one Piscina.
//
// 1. All hosts are made at boot and none is retired: a new one comes only in the place of one that died.
// 2. A host that dies ends its tasks at once, but its lanes are native threads and may still be
//    blocked; they have returned when the thread's `exit` came, which node holds back until then.
// 3. No AbortSignal ever reaches Piscina: aborting one task would end the host and all its calls.
// 4. A task is only handed over while a host is ready, so that Piscina never keeps a queue of its own.

import { fileURLToPath } from "node:url";
import type { Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import { messageOf } from "../../protocol/errors.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { HostData, HostResult, HostTask } from "./hostTasks.ts";

export type TaskEnd =
  | { readonly kind: "result"; readonly result: HostResult }
  /** The host died under it. `lanesReturned` resolves when no lane of that host is in a call any more. */
  | { readonly kind: "host_lost"; readonly detail: string; readonly lanesReturned: Promise<unknown> };

interface Host {
  readonly worker: Worker;
  /** Kept, because a dead worker forgets its own. */
  readonly threadId: number;
  readonly exited: Promise<unknown>;
  lost: boolean;
}

export interface HostPoolOptions {
  readonly hosts: number;
  /** Tasks that may be with the hosts at once. */
  readonly maxTasks: number;
  readonly gate: SharedArrayBuffer;
  readonly log: Logger;
  /** A host died or its replacement is ready. */
  readonly onChange: () => void;
}

export class HostPool {
  readonly #piscina: Piscina;
  readonly #options: HostPoolOptions;
  readonly #hosts: Host[] = [];
  /** The host that Piscina's balancer chose for the task being handed over. */
  #chosen: Host | null = null;
  #lostCount = 0;
  #stopping = false;

  constructor(options: HostPoolOptions) {
    this.#options = options;
    const data: HostData = { gate: options.gate };
    this.#piscina = new Piscina({
      filename: fileURLToPath(new URL("./host.ts", import.meta.url)),
      // Named in full: it must not matter how this process itself was taught TypeScript.
      execArgv: ["--import", import.meta.resolve("tsx")],
      workerData: data,
      minThreads: options.hosts,
      maxThreads: options.hosts,
      idleTimeout: Infinity, // (1)
      concurrentTasksPerWorker: options.maxTasks,
      // A host must go on with its event loop while it has no task: lanes may still return.
      atomics: "disabled",
      recordTiming: false,
      loadBalancer: (_task, workers) => {
        const least = workers.reduce<(typeof workers)[number] | null>((a, b) => (a !== null && a.currentUsage <= b.currentUsage ? a : b), null);
        this.#chosen = this.#hosts.find((host) => host.threadId === least?.id) ?? null;
        return least;
      },
    });
    this.#piscina.on("error", (error: Error) => options.log.error({ error }, "a host thread failed to start, or while it had no task"));
    this.#adopt();
    this.#piscina.on("workerCreate", () => {
      this.#adopt();
      options.onChange();
    });
  }

  /** Hosts that take tasks now. */
  get ready(): number {
    return this.#hosts.length;
  }

  /** Hosts that died since boot; each was replaced. */
  get lost(): number {
    return this.#lostCount;
  }

  /** The threads themselves. */
  get workers(): readonly Worker[] {
    return this.#hosts.map((host) => host.worker);
  }

  /** Never rejects. The caller has seen `ready` above 0 in this turn (4). */
  async run(task: HostTask): Promise<TaskEnd> {
    this.#chosen = null;
    const running = this.#piscina.run(task) as Promise<HostResult>; // (3)
    const host = this.#chosen as Host | null;
    try {
      return { kind: "result", result: await running };
    } catch (error) {
      if (host === null) return { kind: "host_lost", detail: `no host took it: ${messageOf(error)}`, lanesReturned: Promise.resolve() };
      // A task that failed by itself leaves no lane behind, but which it was cannot be known: the host goes.
      if (!host.lost) void host.worker.terminate();
      return { kind: "host_lost", detail: messageOf(error), lanesReturned: host.exited };
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#piscina.destroy();
  }

  #adopt(): void {
    for (const worker of this.#piscina.threads) {
      if (this.#hosts.some((host) => host.worker === worker)) continue;
      const host: Host = { worker, threadId: worker.threadId, exited: new Promise((resolve) => void worker.once("exit", resolve)), lost: false };
      worker.once("error", (error) => this.#lose(host, error));
      worker.once("exit", (code) => this.#lose(host, new Error(`the thread ended with code ${code}`)));
      this.#hosts.push(host);
    }
  }

  #lose(host: Host, error: unknown): void {
    if (host.lost) return;
    host.lost = true;
    this.#hosts.splice(this.#hosts.indexOf(host), 1);
    if (this.#stopping) return;
    this.#lostCount += 1;
    this.#options.log.error({ error, thread: host.threadId, lost: this.#lostCount }, "a host thread died; its calls are unknown, another host takes its place");
    this.#options.onChange();
  }
}
