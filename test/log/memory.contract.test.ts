// Owns the in-memory log's pass through the contract of the event log's port.

import { MemoryLog } from "../../log/memory/memoryLog.ts";
import { systemClock, systemRandom } from "../../ops/clock.ts";
import { logContract } from "../contract/logContract.ts";
import { MEMBER_LIMITS, memoryMember } from "./memoryMember.ts";

logContract("in memory", {
  create(t) {
    // Random batch lengths: nothing in the suite may depend on where a batch ends.
    const options = { clock: systemClock, random: systemRandom, limits: MEMBER_LIMITS };
    const log = new MemoryLog(options);
    t.after(() => log.close());
    return Promise.resolve({
      log,
      another: () => {
        const other = new MemoryLog(options, log.store);
        t.after(() => other.close());
        return Promise.resolve(other);
      },
      trim: (position) => Promise.resolve(log.trim(position)),
      async compact(topic, last) {
        await last();
        log.compact(topic);
      },
      member: memoryMember(options, log.store),
    });
  },
  patienceMs: 5_000,
});
