// Owns how a statement's days become the seconds or minutes of a demo.

import type { Scene } from "./script.ts";

/** `max`: no pause at all. A number: that many seconds of the statement in one. */
export type Speed = "max" | "default" | number;

/** Nights and weekends are cut to this. */
const LONGEST_GAP_MS = 30 * 60_000;
const DEFAULT_LENGTH_MS = 28_000;
/** At the default speed two scenes are this far apart at least, if the length allows it. */
const SHORTEST_GAP_MS = 40;
const SHARE_FOR_SHORTEST = 0.6;

/** When each scene begins, in milliseconds from the start of the demo. @param lengthMs of the whole, at the default speed */
export function pace(scenes: readonly Scene[], speed: Speed, lengthMs = DEFAULT_LENGTH_MS): number[] {
  const gaps = scenes.map((scene, index) => Math.min(LONGEST_GAP_MS, scene.atMs - (scenes[index - 1]?.atMs ?? scene.atMs)));
  return running(gaps.map(gapScale(gaps, speed, lengthMs)));
}

function gapScale(gaps: readonly number[], speed: Speed, lengthMs: number): (gap: number) => number {
  if (speed === "max") return () => 0;
  if (speed !== "default") return (gap) => gap / speed;
  const shortestMs = Math.min(SHORTEST_GAP_MS, (lengthMs * SHARE_FOR_SHORTEST) / gaps.length);
  const total = gaps.reduce((sum, gap) => sum + gap, 0);
  // All in one moment: nothing tells the scenes apart.
  if (total === 0) return () => lengthMs / gaps.length;
  const scale = (lengthMs - shortestMs * gaps.length) / total;
  return (gap) => shortestMs + gap * scale;
}

function running(gaps: readonly number[]): number[] {
  let sum = 0;
  return gaps.map((gap) => (sum += gap));
}
