// Owns the pass of the storage on Postgres through the contract.

import { storageContract } from "../contract/storageContract.ts";
import { postgresFixture } from "./postgresStorage.ts";

storageContract(postgresFixture);
