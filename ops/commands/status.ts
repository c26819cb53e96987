// Owns `lockstep status`: who owns what, who lives, how far the writers are, what was skipped.

import { hostname } from "node:os";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { settingsOf, type SettingOptions } from "../config/nodeOptions.ts";
import { resolveSettings } from "../config/resolve.ts";
import type { KeyName } from "../config/keys.ts";
import type { Environment } from "../credentials.ts";
import { readStatus } from "../status/read.ts";
import { statusReport } from "../status/report.ts";
import { statusText } from "../status/text.ts";

export type StatusCommandOptions = SettingOptions & { readonly json?: boolean | undefined };

export interface StatusCommandIo {
  readonly out: { write(text: string): unknown };
  readonly env: Environment;
  readonly logger: Logger;
  readonly clock: Clock;
}

const STATUS_KEYS = ["cell", "databaseUrl", "kafkaBrokers", "stateDir"] as const satisfies readonly KeyName[];

/**
 * Exit code 0 when every enabled account has a live owner, 1 when one has none.
 * @throws LockstepError `configuration`: exit code 2
 */
export async function statusCommand(options: StatusCommandOptions, { out, env, logger, clock }: StatusCommandIo): Promise<number> {
  const config = resolveSettings({ options: settingsOf(options), file: options.config, env, hostName: hostname() }, STATUS_KEYS);
  const report = statusReport(await readStatus({ config, env, logger, clock }));
  out.write(`${options.json === true ? JSON.stringify(report) : statusText(report)}\n`);
  return report.holds ? 0 : 1;
}
