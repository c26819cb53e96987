// Owns values that change over time, and when a copy's value may be judged by its master's.
//
// 1. A copy is judged at rest only: where the master's value stood, and the copy lived, for longer
//    than the copier's patience lasts. What stands at the end of the log is always at rest.

import type { Patience } from "./patience.ts";

/** A place in the broker's log. `n` orders, `atMs` measures. */
export interface Moment {
  readonly n: number;
  readonly atMs: number;
}

/** `value` is in force from here to the next step. */
export interface Step<T> extends Moment {
  readonly value: T;
}

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Period<T> extends Span {
  readonly value: T;
  /** It was not over when the log ended. */
  readonly isLast: boolean;
}

/** @param end where the last value ceased to be in force; null when it still is at the end of the log */
export function periodsOf<T>(steps: readonly Step<T>[], end: Moment | null, logEndMs: number): Period<T>[] {
  return steps.map(({ atMs, value }, index) => {
    const until = steps[index + 1] ?? end;
    return { value, fromMs: atMs, toMs: until?.atMs ?? logEndMs, isLast: until === null };
  });
}

/** The value in force just before entry `n`; null before the first. */
export function valueBefore<T>(steps: readonly Step<T>[], n: number): T | null {
  return steps.findLast((step) => step.n < n)?.value ?? null;
}

/** Whether a value that passes `test` was in force at some moment of the span, its borders included. */
export function wasHeld<T>(steps: readonly Step<T>[], { fromMs, toMs }: Span, test: (value: T) => boolean): boolean {
  return steps.some(({ atMs, value }, index) => atMs <= toMs && (steps[index + 1]?.atMs ?? Infinity) >= fromMs && test(value));
}

/** A value of the copy over its life. `end` is null while it lives. */
export interface Life<T> {
  readonly steps: readonly Step<T>[];
  readonly end: Moment | null;
}

/** The part of a master's period in which the copy must have come to agree; null where nothing is at rest (1). */
export function restOf(period: Period<unknown>, copy: Life<unknown>, patience: Patience): Span | null {
  const fromMs = Math.max(period.fromMs, copy.steps[0]?.atMs ?? Infinity);
  const toMs = Math.min(period.toMs, copy.end?.atMs ?? Infinity);
  const standsAtEnd = period.isLast && copy.end === null;
  return toMs > patience.dueMs(fromMs) || (standsAtEnd && fromMs <= toMs) ? { fromMs, toMs } : null;
}

/** Whether the copy agreed within a rest: at its end where that is the end of the log, else at some moment of it. */
export function agreed<T>(rest: Span, period: Period<unknown>, copy: Life<T>, patience: Patience, test: (value: T) => boolean): boolean {
  const last = copy.steps.at(-1);
  if (period.isLast && copy.end === null) return last !== undefined && test(last.value);
  return wasHeld(copy.steps, { fromMs: rest.fromMs, toMs: patience.dueMs(rest.toMs) }, test);
}
