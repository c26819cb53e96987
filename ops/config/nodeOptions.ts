// Owns the settings as options of a command, and as the README's table: both made from the one table.

import type { Command } from "commander";
import { envOf, KEY_NAMES, KEYS, optionOf, type Key, type KeyName } from "./keys.ts";

/** What commander hands over: each option under its key's name, since both have the same words. */
export type SettingOptions = Readonly<Partial<Record<KeyName | "config", string>>>;

export function withSettings(command: Command, names: readonly KeyName[] = KEY_NAMES): Command {
  for (const name of names) {
    const spec: Key<unknown> = KEYS[name];
    command.option(`${optionOf(name)} ${spec.placeholder}`, `${spec.meaning}${spec.fallback === null ? "" : `; default: ${spec.fallback}`} [${envOf(name)}]`);
  }
  return command.option("--config <file>", "a YAML file with these settings, one \"key: value\" a line [LOCKSTEP_CONFIG]");
}

/** The options that are settings. */
export function settingsOf(options: SettingOptions): Partial<Record<KeyName, string>> {
  return Object.fromEntries(KEY_NAMES.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])));
}

/** Markdown: one row a setting. */
export function settingsTable(): string {
  const rows = KEY_NAMES.map((name) => {
    const spec: Key<unknown> = KEYS[name];
    return `| \`${name}\` | \`${optionOf(name)}\` | \`${envOf(name)}\` | ${spec.fallback === null ? "" : `\`${spec.fallback}\``} | ${spec.meaning} |`;
  });
  return ["| key in the file | option | environment | default | meaning |", "|---|---|---|---|---|", ...rows].join("\n");
}
