// Owns the storage contract as a whole: Postgres and its in-memory twin pass the same cases.

import { applyCases } from "./storageApplyCases.ts";
import { directoryCases } from "./storageDirectoryCases.ts";
import type { StorageFactory } from "./storageFixture.ts";
import { fenceCases } from "./storageFenceCases.ts";
import { identityCases } from "./storageIdentityCases.ts";
import { overviewCases } from "./storageOverviewCases.ts";
import { pairCases } from "./storagePairCases.ts";
import { stateCases } from "./storageStateCases.ts";
import { registryCases } from "./storageRegistryCases.ts";
import { spreadCases } from "./storageSpreadCases.ts";
import { takeCases } from "./storageTakeCases.ts";
import { uptimeCases } from "./storageUptimeCases.ts";

export function storageContract(make: StorageFactory): void {
  registryCases(make);
  takeCases(make);
  identityCases(make);
  spreadCases(make);
  directoryCases(make);
  applyCases(make);
  pairCases(make);
  stateCases(make);
  fenceCases(make);
  overviewCases(make);
  uptimeCases(make);
}
