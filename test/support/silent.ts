// Owns the logger of whoever has nothing to say in a test.

import type { Logger } from "../../protocol/ports/logging.ts";

export const silent: Logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
