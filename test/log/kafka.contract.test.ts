// Owns the pass of the log on a real Kafka through the contract of the event log's port.

import { logContract } from "../contract/logContract.ts";
import { kafkaFixture } from "./kafkaFixture.ts";

logContract("Kafka", { create: kafkaFixture, patienceMs: 60_000 });
