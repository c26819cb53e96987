// Owns the event log of a demo: in memory, or on Kafka with topics and groups that go when the demo is
// over, also those of connections that died in it.

import { GroupView } from "../../log/kafka/groupView.ts";
import { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import { KAFKA_LOG_LIMITS } from "../../log/kafka/limits.ts";
import { MEMORY_LOG_LIMITS } from "../../log/memory/limits.ts";
import { MemoryLog } from "../../log/memory/memoryLog.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { CellId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { EventLog } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Environment } from "../credentials.ts";
import { Ends } from "../ends.ts";
import { clearCell } from "../kafka/clearCell.ts";
import { resolveKafka } from "../kafka/resolve.ts";

/** A connection that can also end as that of a process that dies. */
export interface MortalLog extends EventLog {
  kill(): void;
}

export interface DemoLog {
  open(): MortalLog;
  close(): Promise<void>;
}

export interface DemoLogOptions {
  readonly cell: CellId;
  readonly partitions: number;
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Each connection is a log of its own: what was in it dies with its process. */
export const memoryDemoLog = ({ clock }: DemoLogOptions): DemoLog => ({
  open: () => new MemoryLog({ clock, limits: MEMORY_LOG_LIMITS }),
  close: () => Promise.resolve(),
});

/** @throws LockstepError `configuration` (no Java or Maven, a bad KAFKA_BROKERS), `unreachable` */
export async function kafkaDemoLog(options: DemoLogOptions): Promise<DemoLog> {
  const { cell, partitions, clock, logger } = options;
  const ends = new Ends();
  const kafka = await resolveKafka(options);
  ends.add(() => kafka.stop());
  const client = { brokers: kafka.brokers, clientId: `lockstep ${cell}`, clock, logger, limits: KAFKA_LOG_LIMITS };
  const open = (): KafkaLog => new KafkaLog({ ...client, replication: { replicationFactor: 1, minInsyncReplicas: 1 } });
  ends.add(async () => {
    const [log, groups] = [open(), new GroupView(client)];
    try {
      await clearCell({ cell, partitions, log, groups, clock });
    } finally {
      await Promise.all([log.close(), groups.close()]);
    }
  });
  return {
    open,
    async close() {
      const [failure] = await ends.run();
      if (failure !== undefined) logger.warn({ error: messageOf(failure) }, "what the demo has in Kafka was not taken away");
    },
  };
}
