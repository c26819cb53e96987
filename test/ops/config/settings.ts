// Owns how the tests of the configuration resolve one: nothing is set but what a case says.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { resolveConfig, type ConfigInput, type ResolvedConfig } from "../../../ops/config/resolve.ts";
import { isLockstepError } from "../../../protocol/errors.ts";

export const resolved = (input: Partial<ConfigInput> = {}): ResolvedConfig => resolveConfig({ options: {}, file: undefined, env: {}, hostName: "host", ...input });

/** The lines that refuse it; none when it is taken. */
export function faultsOf(input: Partial<ConfigInput>): string[] {
  try {
    resolved(input);
    return [];
  } catch (error) {
    if (!isLockstepError(error, "configuration")) throw error;
    return error.message.split("\n");
  }
}

/** A file with this text, gone after the test. */
export async function fileWith(t: TestContext, text: string, name = "node.yaml"): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-config-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, name), text);
  return join(folder, name);
}
