// Owns the storage contract as a whole: Postgres and its in-memory twin pass the same cases.

import { directoryCases } from "./storageDirectoryCases.ts";
import type { StorageFactory } from "./storageFixture.ts";
import { pairCases } from "./storagePairCases.ts";
import { registryCases } from "./storageRegistryCases.ts";

export function storageContract(make: StorageFactory): void {
  registryCases(make);
  directoryCases(make);
  pairCases(make);
}
