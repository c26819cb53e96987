// Owns a node for tests of processes: the real parent and the real child, with the log in the child's
// memory. SIGUSR2 to the child makes the log's subscriptions end by themselves.

import { fileURLToPath } from "node:url";
import { MEMORY_LOG_LIMITS } from "../../../log/memory/limits.ts";
import { MemoryLog } from "../../../log/memory/memoryLog.ts";
import { systemClock, systemRandom } from "../../../ops/clock.ts";
import { resolveConfig } from "../../../ops/config/resolve.ts";
import { isLaunched, listenForEnd } from "../../../ops/launch.ts";
import { openLogger } from "../../../ops/logging.ts";
import { runChild } from "../../../ops/nodeProcess/child.ts";
import { runParent } from "../../../ops/nodeProcess/parent.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { bootId } from "../../../protocol/ids.ts";

const say = (line: string): void => void process.stderr.write(`lockstep: ${line}\n`);

function openLog(): MemoryLog {
  const log = new MemoryLog({ clock: systemClock, limits: MEMORY_LOG_LIMITS });
  const consume = log.consume.bind(log);
  log.consume = (options) => {
    process.on("SIGUSR2", () => options.onCrash(new LockstepError("unreachable", "the log's subscription ended by itself")));
    return consume(options);
  };
  return log;
}

if (isLaunched()) {
  const ending = listenForEnd(systemClock, 40_000);
  process.exit(await runChild({ ending, openLog, env: process.env, clock: systemClock, random: systemRandom, out: (line) => void process.stdout.write(`${line}\n`), say }));
} else {
  const resolved = resolveConfig({ options: {}, file: undefined, env: process.env, hostName: "memory-node" });
  const program = { module: fileURLToPath(import.meta.url), args: [] };
  const boot = bootId(process.env["LOCKSTEP_TEST_BOOT"] ?? "");
  process.exitCode = await runParent({ resolved, boot, program, env: process.env, clock: systemClock, logger: openLogger({ level: "info", file: null }), say });
}
