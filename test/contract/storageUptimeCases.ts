// Owns the contract of the record of the nodes' minutes: the worst of a minute is kept, and nothing for ever.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nodeId } from "../../protocol/ids.ts";
import { freshCell, type StorageFactory } from "./storageFixture.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const DEGRADED = "degraded: no account lease";
const NODE = nodeId("n1");

export function uptimeCases(make: StorageFactory): void {
  describe("uptime", () => {
    test("the worst of a minute is kept, in whatever order it comes, also within one record", async (t) => {
      const { uptime } = await (await make(t)).open();
      const nowMs = await uptime.record(NODE, []);
      const minute = (ago: number): number => Math.floor(nowMs / MINUTE_MS) * MINUTE_MS - ago * MINUTE_MS;
      await uptime.record(NODE, [{ minuteMs: minute(1), state: "ok" }, { minuteMs: minute(2), state: DEGRADED }, { minuteMs: minute(3), state: "ok" }, { minuteMs: minute(3), state: DEGRADED }, { minuteMs: minute(3), state: "ok" }]);
      await uptime.record(NODE, [{ minuteMs: minute(1), state: DEGRADED }, { minuteMs: minute(2), state: "ok" }, { minuteMs: minute(4) + 59_999, state: "ok" }]);
      await uptime.record(NODE, [{ minuteMs: minute(1), state: "ok" }]);
      assert.deepEqual(await uptime.read(NODE, HOUR_MS, 100), [
        { minuteMs: minute(1), state: DEGRADED },
        { minuteMs: minute(2), state: DEGRADED },
        { minuteMs: minute(3), state: DEGRADED },
        { minuteMs: minute(4), state: "ok" },
      ]);
    });

    test("newest first, as far back as asked on the database's clock, and no more than asked", async (t) => {
      const { uptime } = await (await make(t)).open();
      const nowMs = await uptime.record(NODE, []);
      const minute = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
      await uptime.record(NODE, [30, 90, 10].map((ago) => ({ minuteMs: minute - ago * MINUTE_MS, state: "ok" })));
      const agos = async (lastMs: number, limit: number): Promise<number[]> => (await uptime.read(NODE, lastMs, limit)).map(({ minuteMs }) => (minute - minuteMs) / MINUTE_MS);
      assert.deepEqual(await agos(HOUR_MS, 100), [10, 30]);
      assert.deepEqual(await agos(2 * HOUR_MS, 2), [10, 30]);
      assert.deepEqual(await agos(2 * HOUR_MS, 100), [10, 30, 90]);
    });

    test("after 90 days a minute is forgotten, also a gone node's", async (t) => {
      const { uptime } = await (await make(t)).open();
      const gone = nodeId("gone");
      const nowMs = await uptime.record(NODE, []);
      const minute = (days: number): number => Math.floor(nowMs / MINUTE_MS) * MINUTE_MS - days * DAY_MS;
      for (const node of [NODE, gone]) await uptime.record(node, [91, 89].map((days) => ({ minuteMs: minute(days), state: "ok" })));
      await uptime.record(NODE, []);
      for (const node of [NODE, gone]) assert.deepEqual(await uptime.read(node, 100 * DAY_MS, 100), [{ minuteMs: minute(89), state: "ok" }]);
    });

    test("nodes and cells have minutes of their own", async (t) => {
      const fixture = await make(t);
      const { uptime } = await fixture.open();
      const elsewhere = (await fixture.open(freshCell())).uptime;
      const nowMs = await uptime.record(NODE, []);
      await uptime.record(NODE, [{ minuteMs: nowMs, state: DEGRADED }]);
      assert.deepEqual([await uptime.read(nodeId("n2"), HOUR_MS, 10), await elsewhere.read(NODE, HOUR_MS, 10)], [[], []]);
    });
  });
}
