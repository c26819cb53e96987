// Owns a man in the middle between one node and a server: what goes through it can be cut, or swallowed
// without a word, and let through again.
//
// 1. Cut: every connection is reset, and whoever comes is reset at once. The port stays ours: let go, somebody
//    else could have it by the time it is needed again.
// 2. Swallow: connections stay and are accepted, and nothing gets through them either way; neither side learns
//    of the other's end. A connection that lived through it stays deaf afterwards, as one whose way back is
//    forgotten: whoever has it must give it up.
// 3. It holds no more than a socket's own buffers: a side that does not read is not read for.

import { createConnection, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export type Passage = "open" | "cut" | "swallow";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What is made of the bytes on their way; plain ones go on as they are. */
export interface Conversation {
  readonly fromClient: (piece: Buffer) => void;
  readonly fromServer: (piece: Buffer) => void;
}

export interface ConversationEnds {
  readonly toServer: (piece: Buffer) => void;
  readonly toClient: (piece: Buffer) => void;
  /** Where the client has connected to. */
  readonly proxyPort: number;
}

export type Talk = (ends: ConversationEnds) => Conversation;

const plain: Talk = ({ toServer, toClient }) => ({ fromClient: toServer, fromServer: toClient });

interface Pair {
  readonly client: Socket;
  /** Null: it came while everything was swallowed. */
  readonly server: Socket | null;
  isDeaf: boolean;
}

export class Proxy {
  readonly #target: Address;
  readonly #talk: Talk;
  readonly #listener: Server;
  readonly #pairs = new Set<Pair>();
  #passage: Passage = "open";

  private constructor(target: Address, talk: Talk) {
    this.#target = target;
    this.#talk = talk;
    this.#listener = createServer((client) => this.#accept(client));
  }

  /** Listens on a free port of the loopback. */
  static async open(target: Address, talk: Talk = plain): Promise<Proxy> {
    const proxy = new Proxy(target, talk);
    await new Promise<void>((resolve, reject) => {
      proxy.#listener.once("error", reject);
      proxy.#listener.listen(0, "127.0.0.1", resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  set passage(passage: Passage) {
    this.#passage = passage;
    for (const pair of this.#pairs) {
      if (passage === "cut") reset(pair); // 1
      else if (passage === "swallow") pair.isDeaf = true; // 2
    }
  }

  async close(): Promise<void> {
    this.passage = "cut";
    await new Promise<void>((resolve) => this.#listener.close(() => resolve()));
  }

  #accept(client: Socket): void {
    client.on("error", () => undefined); // its close says the same
    if (this.#passage === "cut") return void client.resetAndDestroy(); // 1
    const isDeaf = this.#passage === "swallow";
    const pair: Pair = { client, server: isDeaf ? null : createConnection(this.#target), isDeaf };
    this.#pairs.add(pair);
    client.on("close", () => {
      this.#pairs.delete(pair);
      pair.server?.destroySoon();
    });
    if (pair.server === null) return void client.resume();
    this.#join(pair, pair.server);
  }

  #join(pair: Pair, server: Socket): void {
    const { client } = pair;
    const to = (from: Socket, socket: Socket) => (piece: Buffer) => {
      if (pair.isDeaf || socket.write(piece)) return;
      from.pause(); // 3
      socket.once("drain", () => from.resume());
    };
    const conversation = this.#talk({ toServer: to(client, server), toClient: to(server, client), proxyPort: this.port });
    server.on("error", () => undefined);
    server.on("close", () => {
      if (!pair.isDeaf) client.destroySoon(); // 2
    });
    client.on("data", (piece) => {
      if (!pair.isDeaf) conversation.fromClient(piece);
    });
    server.on("data", (piece) => {
      if (!pair.isDeaf) conversation.fromServer(piece);
    });
  }
}

function reset({ client, server }: Pair): void {
  client.resetAndDestroy();
  server?.destroy();
}
