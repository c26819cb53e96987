// Owns finding Java and Maven on this machine, and how their processes are started.
//
// 1. What is missing is said in one line, with what to install or to set instead, before anything
//    was made.
// 2. Nothing of JAVA_TOOL_OPTIONS or CLASSPATH comes into Kafka from outside.

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Environment } from "../credentials.ts";

const OLDEST_JAVA = 17;

/** The path of Java. @throws LockstepError `configuration` */
export async function locateJava(env: Environment): Promise<string> {
  const home = env["JAVA_HOME"];
  const java = (home === undefined ? null : await executable(join(home, "bin", "java"))) ?? (await inPath("java", env));
  if (java === null) throw missing("no java in PATH or JAVA_HOME"); // (1)
  return java;
}

/** The path of Maven. @throws LockstepError `configuration` */
export async function locateMaven(env: Environment): Promise<string> {
  const maven = await inPath("mvn", env);
  if (maven === null) throw missing("no mvn in PATH to fetch it with"); // (1)
  return maven;
}

/** @throws LockstepError `configuration` when it is too old for Kafka */
export async function checkJava(java: string, env: Environment): Promise<void> {
  const { stderr } = await promisify(execFile)(java, ["-XX:-UsePerfData", "-version"], { env: javaEnvironment(env) }).catch((error: unknown) => {
    throw missing(`${java} does not run: ${messageOf(error).trim().split("\n").at(-1) ?? ""}`);
  });
  const found = /version "(\d+)/.exec(stderr)?.[1];
  if (found === undefined || Number(found) < OLDEST_JAVA) throw missing(`${java} is of release ${found ?? "unknown"}`);
}

/** What a Java program of ours gets of the environment (2). */
export const javaEnvironment = (env: Environment): Record<string, string> => ({ PATH: env["PATH"] ?? "", LC_ALL: "C.UTF-8", TZ: "UTC" });

function missing(why: string): LockstepError {
  return new LockstepError("configuration", `the local Kafka cannot run: ${why}. Install Java ${OLDEST_JAVA} or newer and Maven, or set KAFKA_BROKERS`);
}

async function inPath(name: string, env: Environment): Promise<string | null> {
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    const found = folder === "" ? null : await executable(join(folder, name));
    if (found !== null) return found;
  }
  return null;
}

async function executable(path: string): Promise<string | null> {
  return access(path, constants.X_OK).then(
    () => path,
    () => null,
  );
}
