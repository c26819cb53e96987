// Owns a logger that keeps its lines, so that a test can ask whether something was said loudly.

import type { Logger } from "../../protocol/ports/logging.ts";

export interface RecordingLogger extends Logger {
  readonly lines: { readonly level: "debug" | "info" | "warn" | "error"; readonly fields: object; readonly text: string }[];
}

export function recordingLogger(): RecordingLogger {
  const lines: RecordingLogger["lines"] = [];
  return {
    lines,
    debug: (fields, text) => void lines.push({ level: "debug", fields, text }),
    info: (fields, text) => void lines.push({ level: "info", fields, text }),
    warn: (fields, text) => void lines.push({ level: "warn", fields, text }),
    error: (fields, text) => void lines.push({ level: "error", fields, text }),
  };
}
