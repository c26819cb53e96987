// Owns the resolving of credential references, in the process that needs them. The secret itself
// goes to the broker session and nowhere else.

import { readFileSync } from "node:fs";
import { LockstepError, messageOf } from "../protocol/errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The secret behind `env:NAME` or `file:PATH` (its first line).
 * @throws LockstepError `configuration`, never with the secret in it
 */
export function resolveCredentials(reference: string, env: Environment): string {
  const [kind, name] = split(reference);
  if (kind === "env") {
    const secret = env[name];
    if (secret === undefined) throw new LockstepError("configuration", `credentials ${reference}: the environment has no ${name}`);
    return secret;
  }
  if (kind === "file") {
    try {
      return readFileSync(name, "utf8").split("\n")[0]?.trim() ?? "";
    } catch (error) {
      throw new LockstepError("configuration", `credentials ${reference}: ${messageOf(error)}`, error);
    }
  }
  // Not the text itself: somebody may have written the secret where a reference belongs.
  throw new LockstepError("configuration", "credentials: expected a reference env:NAME or file:PATH");
}

function split(reference: string): readonly [string, string] {
  const colon = reference.indexOf(":");
  return [reference.slice(0, colon), reference.slice(colon + 1)];
}
