// Owns the reading of a broker server's address.

import { LockstepError } from "../../protocol/errors.ts";

export interface BrokerAddress {
  readonly host: string;
  readonly port: number;
}

const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/;

/** Reads `host:port`; an IPv6 host is written in brackets. @throws LockstepError `invalid_value` */
export function brokerAddress(text: string): BrokerAddress {
  const match = ADDRESS.exec(text);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || !(port >= 1 && port <= 65_535)) throw new LockstepError("invalid_value", `broker: expected host:port, got ${JSON.stringify(text)}`);
  return { host, port };
}
