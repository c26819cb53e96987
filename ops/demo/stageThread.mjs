// Owns the entry of the stage's thread: a thread loads TypeScript only once tsx is registered in it.

import { register } from "tsx/esm/api";

register();
await import("./stageWorker.ts");
