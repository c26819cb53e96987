// Owns the twin of the record of the nodes' minutes.

import { UPTIME_OK, type Uptime } from "../../protocol/ports/storage.ts";
import { KEPT_DAYS } from "../uptime.ts";
import type { MemoryCell } from "./cells.ts";

const MINUTE_MS = 60_000;
const KEPT_MS = KEPT_DAYS * 86_400_000;

export function memoryUptime({ server, uptime }: MemoryCell): Uptime {
  return {
    async record(node, minutes) {
      const nowMs = server.nowMs();
      for (const states of uptime.values()) for (const minuteMs of [...states.keys()]) if (minuteMs < nowMs - KEPT_MS) states.delete(minuteMs);
      const states = uptime.get(node) ?? new Map<number, string>();
      uptime.set(node, states);
      for (const { minuteMs, state } of minutes) {
        const minute = Math.floor(minuteMs / MINUTE_MS) * MINUTE_MS;
        if ((states.get(minute) ?? UPTIME_OK) === UPTIME_OK) states.set(minute, state);
      }
      return nowMs;
    },
    async read(node, lastMs, limit) {
      const found = [...(uptime.get(node) ?? [])].filter(([minuteMs]) => minuteMs > server.nowMs() - lastMs);
      return found.sort(([a], [b]) => b - a).slice(0, limit).map(([minuteMs, state]) => ({ minuteMs, state }));
    },
  };
}
