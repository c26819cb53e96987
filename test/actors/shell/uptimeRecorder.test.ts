// Owns the cases of a node's recorded minutes: which were ok, which were not, and on whose clock.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedGate } from "../../../actors/executor/sharedGate.ts";
import { NO_LEASE, UptimeRecorder } from "../../../actors/shell/uptimeRecorder.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { cellId } from "../../../protocol/ids.ts";
import type { Clock } from "../../../protocol/ports/clock.ts";
import type { Uptime } from "../../../protocol/ports/storage.ts";
import { MemoryDatabase } from "../../../storage/memory/cells.ts";
import { me } from "../../contract/storageFixture.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { silent } from "../../support/silent.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const LEASE_MS = 45_000;

/** A node's gate and clocks beside the database's; the test begins half a minute into one. */
class Scene {
  readonly world = new FakeScheduler(1);
  readonly database = new MemoryDatabase(this.world);
  readonly storage = this.database.storage(cellId("uptime"));
  isDown = false;
  /** Records get no answer; how many did not. */
  hangs = false;
  unanswered = 0;
  /** Our clocks stand still while it is frozen; a suspended machine's monotonic clock has missed so much. */
  missedMs = 0;
  wallAheadMs = 0;
  isFrozen = false;
  readonly clock: Clock = {
    monotonicMs: () => this.world.monotonicMs() - this.missedMs,
    wallMs: () => this.world.wallMs() + this.wallAheadMs,
    after: (delayMs, fn) => {
      let timer = this.world.after(delayMs, () => run());
      const run = (): void => (this.isFrozen ? void (timer = this.world.after(100, run)) : fn());
      return { cancel: () => timer.cancel() };
    },
    soon: (fn) => void this.clock.after(0, fn),
  };
  readonly gate = SharedGate.create(1, this.clock);
  readonly uptime: Uptime = {
    record: async (node, minutes) => {
      if (this.hangs) {
        this.unanswered++;
        return new Promise<never>(() => undefined);
      }
      if (this.isDown) throw new LockstepError("database_busy", "down");
      return this.storage.uptime.record(node, minutes);
    },
    read: (node, lastMs, limit) => this.storage.uptime.read(node, lastMs, limit),
  };
  recorder = this.#recorder();
  #renewing: { cancel: () => void } | null = null;

  #recorder(): UptimeRecorder {
    return new UptimeRecorder({ me: me("n1"), uptime: this.uptime, gate: this.gate, clock: this.clock, logger: silent });
  }

  get #deadline(): { monotonicMs: number; wallMs: number } {
    return { monotonicMs: this.clock.monotonicMs() + LEASE_MS, wallMs: this.clock.wallMs() + LEASE_MS };
  }

  /** A keeper's renewals: every five seconds, as long as the database answers. */
  renew(): void {
    this.#renewing?.cancel();
    if (!this.isDown && !this.gate.extend(this.#deadline)) this.gate.lift(this.gate.state(), this.#deadline);
    this.#renewing = this.clock.after(5_000, () => this.renew());
  }

  async start(): Promise<void> {
    await this.world.advance(Math.ceil(this.world.monotonicMs() / MINUTE_MS) * MINUTE_MS + MINUTE_MS / 2 - this.world.monotonicMs());
    this.recorder.start();
    this.renew();
    await this.world.advance(MINUTE_MS);
  }

  async stop(): Promise<void> {
    this.#renewing?.cancel();
    const stopped = this.recorder.stop();
    await this.world.advance(6_000);
    await stopped;
    assert.equal(this.world.pending, 0);
  }

  /** Of each minute from the newest back: `.` ok, `x` degraded, blank where there is no row. */
  async shown(): Promise<string> {
    const rows = new Map((await this.uptime.read(me("n1").node, 24 * HOUR_MS, 10_000)).map(({ minuteMs, state }) => [minuteMs, state]));
    const newestMs = Math.max(...rows.keys());
    const oldestMs = Math.min(...rows.keys());
    let text = "";
    for (let minuteMs = oldestMs; minuteMs <= newestMs; minuteMs += MINUTE_MS) {
      const state = rows.get(minuteMs);
      assert.ok(state === undefined || state === "ok" || state === NO_LEASE);
      text += state === undefined ? " " : state === "ok" ? "." : "x";
    }
    return text;
  }
}

function recorded(name: string, shown: string, body: (scene: Scene) => Promise<void>): void {
  test(name, async () => {
    const scene = new Scene();
    await scene.start();
    await body(scene);
    await scene.stop();
    assert.equal(await scene.shown(), shown);
  });
}

recorded("a node starts without a lease, and is ok in the minutes after that", "x.....", async (scene) => {
  await scene.world.advance(4 * MINUTE_MS);
});

recorded("an outage of the database shows once it is back: ok until the lease could not be proven any more, then degraded", "x..xxx..", async (scene) => {
  await scene.world.advance(MINUTE_MS); // half past
  scene.isDown = true; // and 45 s later the gate is closed
  await scene.world.advance(2.5 * MINUTE_MS);
  scene.isDown = false;
  await scene.world.advance(2 * MINUTE_MS);
});

recorded("an outage that the lease outlives is ok", "x.....", async (scene) => {
  scene.isDown = true;
  await scene.world.advance(0.5 * MINUTE_MS);
  scene.isDown = false;
  await scene.world.advance(3.5 * MINUTE_MS);
});

recorded("a fence of a moment makes its minute degraded", "x.x..", async (scene) => {
  await scene.world.advance(MINUTE_MS);
  scene.gate.trip();
  scene.renew();
  await scene.world.advance(2 * MINUTE_MS);
});

recorded("nor is one forgotten that came while a record was not answered", "x.x..", async (scene) => {
  await scene.world.advance(MINUTE_MS);
  scene.hangs = true;
  await scene.world.until(() => scene.unanswered > 0);
  scene.gate.trip();
  scene.renew();
  await scene.world.advance(4_000);
  scene.hangs = false;
  await scene.world.advance(2 * MINUTE_MS);
});

recorded("a frozen node's minutes are degraded after the thaw, from where its lease had lapsed", "x..xxxx..", async (scene) => {
  await scene.world.advance(MINUTE_MS);
  scene.isFrozen = true;
  await scene.world.advance(4 * MINUTE_MS);
  scene.isFrozen = false;
  await scene.world.advance(1.5 * MINUTE_MS);
});

recorded("so are a suspended machine's, whose monotonic clock knows nothing of them", "x.xxxxx..", async (scene) => {
  await scene.world.advance(MINUTE_MS);
  scene.isFrozen = true;
  const fromMs = scene.world.monotonicMs();
  await scene.world.advance(4 * MINUTE_MS);
  scene.missedMs = scene.world.monotonicMs() - fromMs;
  scene.isFrozen = false;
  await scene.world.advance(1.5 * MINUTE_MS);
});

recorded("a wall clock that is an hour off, or steps, changes no minute but the one in which it fences", "x.x...", async (scene) => {
  await scene.world.advance(MINUTE_MS);
  scene.wallAheadMs = HOUR_MS;
  await scene.world.advance(3 * MINUTE_MS);
});

recorded("a database clock that jumps ahead under an open gate makes no minutes", "x..     ...", async (scene) => {
  await scene.world.advance(MINUTE_MS);
  scene.database.server.failOver(6 * MINUTE_MS);
  await scene.world.advance(2 * MINUTE_MS);
});

test("a minute in which the node did not exist has no row", async () => {
  const scene = new Scene();
  await scene.start();
  await scene.stop();
  scene.gate.trip();
  await scene.world.advance(3 * MINUTE_MS);
  const second = new UptimeRecorder({ me: me("n1"), uptime: scene.uptime, gate: scene.gate, clock: scene.clock, logger: silent });
  scene.recorder = second;
  await scene.start();
  await scene.stop();
  assert.match(await scene.shown(), /^x\. +x\.$/);
});
