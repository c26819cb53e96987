// Owns a man in the middle between a writer and PostgreSQL that knows one thing of its protocol: when a
// transaction is to be committed.

import { databaseAddress, databaseThrough } from "../../ops/drill/databaseWire.ts";
import { Proxy } from "../../ops/drill/proxy.ts";

/**
 * When every connection is cut. `before`: the server never hears of it. `during`: it is on its way, and may be done or not. `reply`: it is done,
 * and nobody hears of that. `after`: it is done and known, and the next thing said is not heard.
 */
export type AtCommit = "pass" | "before" | "during" | "reply" | "after";

export interface DatabaseProxy {
  readonly url: string;
  /** Asked at each COMMIT. */
  atCommit: () => AtCommit;
  cut(): void;
  /** Nothing gets through, and nobody is told. */
  swallow(): void;
  open(): void;
  close(): Promise<void>;
}

const COMMIT = Buffer.from("COMMIT\0");

export async function databaseProxy(target: string): Promise<DatabaseProxy> {
  const inner = await Proxy.open(databaseAddress(target), ({ toServer, toClient }) => {
    let [isDone, isKnown] = [false, false];
    const cutAll = (): void => {
      inner.passage = "cut";
      inner.passage = "open";
    };
    return {
      fromClient(piece) {
        if (isKnown) return cutAll();
        const asked = piece.includes(COMMIT) ? proxy.atCommit() : null;
        if (asked === "before") return cutAll();
        [isDone, isKnown] = [asked === "reply", asked === "after"];
        toServer(piece);
        if (asked === "during") cutAll();
      },
      fromServer: (piece) => (isDone ? cutAll() : toClient(piece)),
    };
  });
  const proxy: DatabaseProxy = {
    url: databaseThrough(inner, target),
    atCommit: () => "pass",
    cut: () => void (inner.passage = "cut"),
    swallow: () => void (inner.passage = "swallow"),
    open: () => void (inner.passage = "open"),
    close: () => inner.close(),
  };
  return proxy;
}
