// Owns whether an address reaches this machine alone.

import { BlockList, isIP } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** Of names only `localhost`: any other may come to mean another address. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family === 0 ? host.toLowerCase() === "localhost" : LOOPBACK.check(host, family === 4 ? "ipv4" : "ipv6");
}
