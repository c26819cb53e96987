// Owns a process that has encoded nothing: it decodes the golden files and writes what it found to
// standard output as JSON.

import { readFileSync } from "node:fs";
import { bytesOfHex, GOLDEN_RECORDS, goldenFile } from "./goldenRecords.ts";

const found = GOLDEN_RECORDS.map(({ name, decode }) => [name, decode(bytesOfHex(readFileSync(goldenFile(name), "utf8")))]);
process.stdout.write(JSON.stringify(Object.fromEntries(found)));
