// Owns a node's busy loop: a module that a drill has its nodes load, in which the node's main thread does nothing else from
// SIGUSR2 on, until the file that the drill made is gone or the drill itself is.
//
// 1. Nothing of the node's own knows of it.

import { existsSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const FILE = process.env.DRILL_BUSY_FILE;
const DRILL = Number(process.env.DRILL_PID);
const TURNS = 1_000_000;

function isDrillThere() {
  try {
    return process.kill(DRILL, 0);
  } catch {
    return false;
  }
}

function loop() {
  while (existsSync(FILE) && isDrillThere()) for (let turn = 0; turn < TURNS; turn += 1);
}

if (isMainThread && FILE !== undefined && DRILL > 0) process.on("SIGUSR2", loop);
