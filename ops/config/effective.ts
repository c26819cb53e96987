// Owns how settings are shown: in the log at start, secrets left out.
//
// 1. A password never leaves: not of a URL's user, not of a parameter that is named like one.

import { KEY_NAMES, type KeyName } from "./keys.ts";
import type { ResolvedConfig } from "./resolve.ts";

const HIDDEN = "***";
const NAMED_LIKE_A_SECRET = /pass|secret|token|key|credential/i;

/** Each setting as text, with where it came from unless that is the default. */
export function effectiveSettings({ config, origins }: ResolvedConfig): Record<KeyName, string> {
  const shown = (name: KeyName): string => {
    const value = config[name];
    const text = value === null ? "none" : name === "databaseUrl" ? redactedUrl(String(value)) : String(value);
    return origins[name] === "default" ? text : `${text} (${origins[name]})`;
  };
  return Object.fromEntries(KEY_NAMES.map((name) => [name, shown(name)])) as Record<KeyName, string>;
}

/** A text that is no URL shows nothing. */
export function redactedUrl(text: string): string {
  if (!URL.canParse(text)) return HIDDEN;
  const url = new URL(text);
  if (url.password !== "") url.password = HIDDEN;
  for (const name of [...url.searchParams.keys()]) if (NAMED_LIKE_A_SECRET.test(name)) url.searchParams.set(name, HIDDEN);
  return url.href;
}
