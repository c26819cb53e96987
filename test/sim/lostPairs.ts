// Owns a way to the log on which what is said of pairs is lost while it is down, and all else arrives.

import { decodeOwnerEvent } from "../../protocol/codec.ts";
import { LockstepError } from "../../protocol/errors.ts";
import type { AppendResult, OutgoingRecord, Producer } from "../../protocol/ports/log.ts";

export interface LossyWay {
  down: boolean;
  readonly wrapProducer: (producer: Producer) => Producer;
}

export function lostPairs(): LossyWay {
  const way: LossyWay = {
    down: false,
    wrapProducer: (producer) => ({
      append(record: OutgoingRecord, onSettled): AppendResult {
        const isLost = way.down && record.topic.endsWith("pair-events") && record.value !== null && decodeOwnerEvent(record.value).kind === "pair";
        if (!isLost) return producer.append(record, onSettled);
        onSettled?.(new LockstepError("unreachable", "lost on the way"));
        return "accepted";
      },
      flush: () => producer.flush(),
      close: () => producer.close(),
    }),
  };
  return way;
}
