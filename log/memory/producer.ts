// Owns one producer of the in-memory log: an outbox whose sends reach the store in the turn in which
// they begin, and are answered in a later one, as over a network.

import type { Clock } from "../../protocol/ports/clock.ts";
import type { ProducerOptions } from "../../protocol/ports/log.ts";
import { Outbox } from "../outbox.ts";
import type { MemoryStore } from "./store.ts";

export function memoryProducer(clock: Clock, store: MemoryStore, { maxBuffered }: ProducerOptions, onClosed: () => void): Outbox {
  return new Outbox({
    maxBuffered,
    cut: (waiting) => waiting.length,
    send(records, done) {
      const results = store.append(records);
      clock.soon(() => done(results));
    },
    onClosed: async () => onClosed(),
  });
}
