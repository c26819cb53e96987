// Owns where the client's own log lines go. Its levels are lowered by one: what it calls an error is
// an ordinary rebalance, or a broker that it finds again; what matters reaches us as a rejection.

import { logLevel, type logCreator } from "kafkajs";
import type { Logger } from "../../protocol/ports/logging.ts";

export function clientLog(logger: Logger): logCreator {
  return () =>
    ({ namespace, level, log }) => {
      const { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...fields } = log;
      const text = `kafka client: ${message}`;
      const named = { ...fields, part: namespace };
      if (level === logLevel.ERROR) logger.warn(named, text);
      else if (level === logLevel.WARN) logger.info(named, text);
      else logger.debug(named, text);
    };
}
