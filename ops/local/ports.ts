// Owns finding ports of the loopback for servers of ours.

import { createServer } from "node:net";
import { LockstepError } from "../../protocol/errors.ts";

/** A port of the loopback that nobody listens on, until somebody else takes it: `preferred` if it is free. */
export async function freePort(preferred: number | null): Promise<number> {
  const port = (preferred === null ? null : await listenOnce(preferred)) ?? (await listenOnce(0));
  if (port === null) throw new LockstepError("unreachable", "no port of 127.0.0.1 is free");
  return port;
}

function listenOnce(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : null));
    });
  });
}
