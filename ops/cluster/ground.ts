// Owns what a cluster stands on: a real database with a cell of its own, a real Kafka, and that nothing of
// the cell is left in Kafka afterwards.
//
// 1. Topics and groups go at once. The rows of a cluster stay for a day, for whoever wants to look at them.

import { GroupView } from "../../log/kafka/groupView.ts";
import { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import { KAFKA_LOG_LIMITS } from "../../log/kafka/limits.ts";
import { messageOf } from "../../protocol/errors.ts";
import { cellId, type CellId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { writersGroup } from "../../protocol/topics.ts";
import { pause } from "../../protocol/waiting.ts";
import { forgetCell, forgetCells } from "../../storage/oldCells.ts";
import { openStorage, type Storage } from "../../storage/storage.ts";
import type { Environment } from "../credentials.ts";
import type { Ends } from "../ends.ts";
import { clearCell } from "../kafka/clearCell.ts";
import { resolveKafka } from "../kafka/resolve.ts";
import { resolveDatabase } from "../postgres/resolve.ts";

export interface GroundOptions {
  /** Before the run's name: what cells of this kind are called. */
  readonly cells: string;
  readonly run: string;
  /** Whether the cell's rows are kept for a day. */
  readonly keepsRows: boolean;
  readonly partitions: number;
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Ground {
  readonly cell: CellId;
  readonly storage: Storage;
  readonly log: KafkaLog;
  readonly groups: GroupView;
  /** Where both are. */
  readonly databaseUrl: string;
  readonly brokers: readonly string[];
}

const FORGOTTEN_AFTER_MS = 24 * 3_600_000;
const COORDINATOR_LIMIT_MS = 60_000;
const COORDINATOR_POLL_MS = 250;

/** What it opens is ended through `ends`. @throws LockstepError `configuration`, `unreachable`, `database_busy`, `database_fault` */
export async function openGround({ cells, run, keepsRows, partitions, env, clock, logger }: GroundOptions, ends: Ends): Promise<Ground> {
  const cell = cellId(`${cells}${run}`);
  const database = await resolveDatabase({ env, logger, clock });
  ends.add(() => database.stop());
  const connections = { url: database.url, logger, maxConnections: 4, connectTimeoutMs: 5_000, statementTimeoutMs: 10_000 };
  const storage = await openStorage({ ...connections, cell });
  if (!keepsRows) ends.add(() => forgetCell({ ...connections, cell }));
  ends.add(() => storage.close());
  await forgetCells(connections, cells, FORGOTTEN_AFTER_MS); // 1
  await storage.directory.partitions(partitions);
  const kafka = await resolveKafka({ env, logger, clock });
  ends.add(() => kafka.stop());
  const client = { brokers: kafka.brokers, clientId: `lockstep ${cell} cluster`, clock, logger, limits: KAFKA_LOG_LIMITS };
  const log = new KafkaLog({ ...client, replication: { replicationFactor: 1, minInsyncReplicas: 1 } });
  ends.add(() => log.close());
  const groups = new GroupView(client);
  ends.add(() => groups.close());
  await coordinated(groups, cell, clock);
  ends.add(() => clearCell({ cell, partitions, log, groups, clock }).catch((error: unknown) => logger.warn({ cell, error: messageOf(error) }, "what the cell has in Kafka was not taken away"))); // 1
  return { cell, storage, log, groups, databaseUrl: database.url, brokers: kafka.brokers };
}

/** A Kafka that is new has no coordinator of groups before somebody asks for one, and makes it slowly on a busy machine: nodes need not wait for that. */
async function coordinated(groups: GroupView, cell: CellId, clock: Clock): Promise<void> {
  const limitMs = clock.monotonicMs() + COORDINATOR_LIMIT_MS;
  for (;;) {
    try {
      return void (await groups.describe(writersGroup(cell)));
    } catch (error) {
      if (clock.monotonicMs() > limitMs) throw error;
    }
    await pause(clock, COORDINATOR_POLL_MS);
  }
}
