// Owns how a command hears that it shall end before its work is done.
//
// 1. The first signal ends it in order. Signals that come with it (a terminal and npx both send one) change
//    nothing; one that comes later ends it at once, and its processes end by themselves.

import type { Clock } from "../../protocol/ports/clock.ts";
import { exitCodeOf, SIGNALS } from "../launch.ts";

const TOGETHER_MS = 500;

interface Interrupt {
  readonly signal: AbortSignal;
  /** That of the signal; null as long as there was none. */
  exitCode(): number | null;
  /** Nothing is listened to any more. */
  done(): void;
}

/**
 * The exit code of a command's work, or that of the signal that ended it before it was over; what else the work throws is thrown on.
 * @param what of which one says that it was not over
 */
export async function unlessTold(clock: Clock, what: string, work: (interrupt: AbortSignal) => Promise<number>): Promise<number> {
  const told = listenForInterrupt(clock);
  try {
    return await work(told.signal);
  } catch (error) {
    const exitCode = told.exitCode();
    if (exitCode === null) throw error;
    process.stderr.write(`lockstep: told to end before ${what} was over\n`);
    return exitCode;
  } finally {
    told.done();
  }
}

function listenForInterrupt(clock: Clock): Interrupt {
  const controller = new AbortController();
  let told: { readonly exitCode: number; readonly atMs: number } | null = null;
  const on = (signal: NodeJS.Signals): void => {
    const atMs = clock.monotonicMs();
    if (told !== null && atMs - told.atMs > TOGETHER_MS) process.exit(told.exitCode); // 1
    told ??= { exitCode: exitCodeOf(signal), atMs };
    controller.abort();
  };
  for (const signal of SIGNALS) process.on(signal, on);
  return {
    signal: controller.signal,
    exitCode: () => told?.exitCode ?? null,
    done() {
      for (const signal of SIGNALS) process.off(signal, on);
    },
  };
}
