// Owns asking whether a Kafka answers, and as which cluster.

import { Kafka, logLevel } from "kafkajs";

const ASK_LIMIT_MS = 2_000;

/** The cluster's id, once the broker takes part in it; null when nobody answers, or not as a whole Kafka yet. */
export async function answeringCluster(broker: string): Promise<string | null> {
  const kafka = new Kafka({
    brokers: [broker],
    clientId: "lockstep-start",
    connectionTimeout: ASK_LIMIT_MS,
    requestTimeout: ASK_LIMIT_MS,
    retry: { retries: 0 },
    logLevel: logLevel.NOTHING, // what it says is our answer
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    const { clusterId, brokers } = await admin.describeCluster();
    return brokers.length > 0 ? clusterId : null;
  } catch {
    return null;
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
