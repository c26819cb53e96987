// Owns a process that leaves a command to be run once it is gone, says so, and waits to be killed; or takes it back
// and ends when it is told so.

import { onceWeAreGone } from "../../../ops/local/lastWill.ts";

const takeBack = await onceWeAreGone(process.argv[2] ?? "");
process.stdout.write("waits\n");
process.stdin.once("data", () => {
  takeBack();
  process.stdin.destroy();
});
