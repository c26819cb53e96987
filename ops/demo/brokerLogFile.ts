// Owns reading a broker's log file back for a checker.

import { readFile } from "node:fs/promises";
import type { BrokerLogEntry } from "../broker/log.ts";

export async function readBrokerLog(file: string): Promise<BrokerLogEntry[]> {
  const text = await readFile(file, "utf8");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as BrokerLogEntry]));
}
