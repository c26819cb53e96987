// Owns the look at how nodes did: `/uptime`, from what they recorded in the database.
//
// 1. Minutes alike that follow each other are one span. Between spans there may be a hole: nobody recorded then.

import type { FastifyInstance } from "fastify";
import { nodeId } from "../../protocol/ids.ts";
import { UPTIME_OK, type UptimeMinute } from "../../protocol/ports/storage.ts";
import { BadRequest } from "./problem.ts";
import { idFrom, optional, parametersOf } from "./query.ts";
import type { HttpOptions } from "./server.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DEFAULT_HOURS = 24;
const MOST_HOURS = 168;

export function uptimeRoutes(app: FastifyInstance, { me, uptime }: Pick<HttpOptions, "me" | "uptime">): void {
  app.get("/uptime", async (request) => {
    const parameters = parametersOf(request.query, ["hours", "node"]);
    const hours = optional(parameters, "hours", hoursFrom) ?? DEFAULT_HOURS;
    const node = optional(parameters, "node", (text) => idFrom("node", text, nodeId)) ?? me.node;
    const minutes = await uptime.read(node, hours * HOUR_MS, MOST_HOURS * 60);
    const ok = minutes.filter(({ state }) => state === UPTIME_OK).length;
    return { node, hours, minutes: { ok, degraded: minutes.length - ok }, items: spansOf(minutes) };
  });
}

function hoursFrom(text: string): number {
  const hours = Number(text);
  if (!/^\d{1,3}$/.test(text) || hours < 1 || hours > MOST_HOURS) throw new BadRequest("hours is out of bounds", `a whole number from 1 to ${MOST_HOURS}`);
  return hours;
}

interface Span {
  readonly state: string;
  readonly from: string;
  /** Not in it any more. */
  readonly until: string;
  readonly minutes: number;
}

/** Invariant 1; the newest first, as they come. */
function spansOf(minutes: readonly UptimeMinute[]): Span[] {
  const spans: { readonly state: string; fromMs: number; readonly untilMs: number }[] = [];
  for (const { minuteMs, state } of minutes) {
    const newer = spans.at(-1);
    if (newer?.state === state && newer.fromMs === minuteMs + MINUTE_MS) newer.fromMs = minuteMs;
    else spans.push({ state, fromMs: minuteMs, untilMs: minuteMs + MINUTE_MS });
  }
  return spans.map(({ state, fromMs, untilMs }) => ({ state, from: iso(fromMs), until: iso(untilMs), minutes: (untilMs - fromMs) / MINUTE_MS }));
}

const iso = (ms: number): string => new Date(ms).toISOString();
