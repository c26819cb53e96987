// Owns what is to be done when this process is gone, whatever ends it: a shell that waits at the end of a pipe.
//
// 1. The pipe breaks with us; nothing has to be noticed or asked.

import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Runs the command once we are gone, or have taken it back by the function this resolves with: then never. Resolves when it waits.
 * @param command of a shell, made of nothing from outside
 */
export async function onceWeAreGone(command: string): Promise<() => void> {
  const shell = spawn("/bin/sh", ["-c", `echo waits; read -r word || { ${command}; } >/dev/null`], { detached: true, stdio: ["pipe", "pipe", "ignore"] });
  shell.stdin.on("error", () => undefined);
  await once(shell.stdout, "data"); // (1)
  shell.stdout.destroy();
  shell.unref();
  return () => void shell.stdin.end("never mind\n");
}
