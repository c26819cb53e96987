#!/usr/bin/env node
// Owns the `lockstep` command: TypeScript is loaded through tsx, then the command line takes over.

import { register } from "tsx/esm/api";

register();
const { main } = await import("../main.ts");
process.exitCode = await main(process.argv.slice(2));
