// Owns the entry of the brokers' process: TypeScript is loaded through tsx, then the stage takes over.

import { register } from "tsx/esm/api";

register();
await import("./stageRun.ts");
