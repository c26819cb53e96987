// Owns when one of many may begin: so many a second in the long run, and a few at once after a rest.
// Pure: what is known of the past is one moment.
//
// 1. In any second no more begin than the burst and the pace together.
// 2. Who would have to wait too long is told so, and takes nobody's turn.

export interface Pace {
  readonly perSecond: number;
  /** At once, when nobody has come for a while. */
  readonly burst: number;
  readonly maxWaitMs: number;
}

export type Turn =
  /** `paidUntilMs`: what the next one is asked with. */
  | { readonly kind: "turn"; readonly waitMs: number; readonly paidUntilMs: number }
  | { readonly kind: "full"; readonly waitMs: number };

/** @param paidUntilMs until when the pace is used up by those who came before; before them all -Infinity */
export function nextTurn(paidUntilMs: number, nowMs: number, { perSecond, burst, maxWaitMs }: Pace): Turn {
  const stepMs = 1_000 / perSecond;
  const fromMs = Math.max(paidUntilMs, nowMs);
  const waitMs = Math.max(0, fromMs - (burst - 1) * stepMs - nowMs);
  return waitMs > maxWaitMs ? { kind: "full", waitMs } : { kind: "turn", waitMs, paidUntilMs: fromMs + stepMs };
}
