// Owns what Postgres does not take of a text from outside.

/** Postgres stores any text but the NUL character; in JSON it is escaped already. */
export const storableText = (text: string): string => text.replaceAll("\0", "\u{FFFD}");
