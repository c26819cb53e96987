// Owns the port for log lines. The shape is pino's: fields first, then one line of text.

export interface Logger {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}
