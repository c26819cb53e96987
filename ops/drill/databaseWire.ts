// Owns the way to PostgreSQL through a proxy: where the server is, and the URL of the same database behind the proxy.

import type { Address, Proxy } from "./proxy.ts";

const DEFAULT_PORT = 5_432;

export function databaseAddress(url: string): Address {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? DEFAULT_PORT : Number(port) };
}

export function databaseThrough(proxy: Pick<Proxy, "address">, url: string): string {
  const through = new URL(url);
  through.host = proxy.address;
  return through.href;
}
