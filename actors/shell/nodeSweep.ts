// Owns the removal of nodes' rows that nobody needs any more: every node does it now and then, while it can
// prove its lease. A sweep that fails is none; the next one does its work.

import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Registry } from "../../protocol/ports/storage.ts";
import { messageOf } from "../../protocol/errors.ts";
import { within } from "../../protocol/waiting.ts";
import type { LeaseProfile } from "../core/leaseProfile.ts";
import type { SharedGate } from "../executor/sharedGate.ts";

export interface NodeSweepOptions {
  readonly registry: Registry;
  readonly gate: SharedGate;
  readonly profile: LeaseProfile;
  readonly clock: Clock;
  readonly logger: Logger;
}

const EVERY_MS = 300_000;
/** Long after anybody asks what became of a node. */
const DEAD_FOR_MS = 86_400_000;

export class NodeSweep {
  readonly #options: NodeSweepOptions;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(options: NodeSweepOptions) {
    this.#options = options;
  }

  /** Every few minutes from now on. */
  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#options.clock.after(EVERY_MS, () => void this.#sweep().then(() => this.start()));
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #sweep(): Promise<void> {
    const { registry, gate, profile, clock, logger } = this.#options;
    if (gate.leftMs() === 0) return;
    try {
      const swept = await within(clock, profile.queryTimeoutMs, "sweep", registry.sweep(DEAD_FOR_MS));
      if (swept > 0) logger.info({ nodes: swept }, "rows of nodes that are long gone were removed");
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "rows of nodes not swept yet");
    }
  }
}
