// Owns where log lines go: pino, to standard error or to a file. Standard output is for results.

import { destination, pino, type Level, type Logger as PinoLogger } from "pino";
import type { Logger } from "../protocol/ports/logging.ts";

export interface LogTarget {
  readonly level: Level;
  /** Null: standard error. */
  readonly file: string | null;
}

/** A synchronous destination: the line before a crash is the one that matters. */
export function openLogger({ level, file }: LogTarget): Logger & Pick<PinoLogger, "flush"> {
  return pino({ level, base: null }, destination({ dest: file ?? 2, sync: true, mkdir: true }));
}
