// Owns running Kafka's own command-line tools from the fetched jars: what they say about groups and
// topics is no opinion of ours.

import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { LockstepError } from "../../protocol/errors.ts";
import type { Environment } from "../credentials.ts";
import { javaEnvironment, locateJava } from "./programs.ts";
import { javaOptions } from "./settings.ts";

/** By the name that a user types. Each takes `--bootstrap-server`. */
export const TOOLS = {
  groups: "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
  topics: "org.apache.kafka.tools.TopicCommand",
} as const;

export type ToolName = keyof typeof TOOLS;

/** @throws LockstepError `configuration` */
export function toolName(text: string): ToolName {
  if (Object.hasOwn(TOOLS, text)) return text as ToolName;
  throw new LockstepError("configuration", `expected one of Kafka's tools ${Object.keys(TOOLS).join(", ")}, found ${JSON.stringify(text)}`);
}

export interface ToolOptions {
  readonly tool: ToolName;
  /** As the tool's own help says; the brokers are added. */
  readonly args: readonly string[];
  readonly brokers: readonly string[];
  readonly libFolder: string;
  readonly env: Environment;
  /** Takes what the tool writes on standard output; its standard error is ours. */
  readonly out: { write(text: string): unknown };
}

/** Resolves with the tool's exit code. @throws LockstepError `configuration` when there is no Java */
export async function runTool({ tool, args, brokers, libFolder, env, out }: ToolOptions): Promise<number> {
  const java = await locateJava(env);
  const options = [...javaOptions(libFolder, tmpdir()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF"];
  return new Promise((resolve, reject) => {
    const child = spawn(java, [...options, TOOLS[tool], "--bootstrap-server", brokers.join(","), ...args], { env: javaEnvironment(env), stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.setEncoding("utf8").on("data", (text: string) => out.write(text));
    child.on("error", (error) => reject(new LockstepError("configuration", `${java} does not run: ${error.message}`, error)));
    child.on("close", (code) => resolve(code ?? 1));
  });
}
