// Owns the in-memory twin's pass through the storage contract.

import { MemoryDatabase } from "../../storage/memory/cells.ts";
import { freshCell } from "../contract/storageFixture.ts";
import { storageContract } from "../contract/storageContract.ts";
import { FakeScheduler } from "../sim/scheduler.ts";

storageContract(async () => {
  const clock = new FakeScheduler(1);
  const database = new MemoryDatabase(clock);
  const ownCell = freshCell();
  return {
    cell: ownCell,
    open: async (cell = ownCell) => database.storage(cell),
    passTime: async (ms) => clock.advance(ms),
  };
});
