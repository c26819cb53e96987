// Owns a man in the middle between a Kafka client and its broker, for a case that swallows, garbles or holds
// back what it chooses: the drills' own proxy with the case's hooks.

import { kafkaTalk, type Verdict } from "../../ops/drill/kafkaWire.ts";
import { Proxy } from "../../ops/drill/proxy.ts";

export interface KafkaProxy {
  readonly brokers: readonly string[];
  /** Asked for each response; default: all pass. */
  onResponse: (api: number, frame: Buffer) => Verdict;
  /** Told of each request, whole. */
  onRequest: (api: number, frame: Buffer) => void;
  /** Cuts all connections, and takes no new ones until `mend`. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function kafkaProxy(broker: string): Promise<KafkaProxy> {
  const port = Number(broker.split(":").at(-1));
  const hooks = { onResponse: (api: number, frame: Buffer) => proxy.onResponse(api, frame), onRequest: (api: number, frame: Buffer) => proxy.onRequest(api, frame) };
  const inner = await Proxy.open({ host: "127.0.0.1", port }, kafkaTalk(port, hooks));
  const proxy: KafkaProxy = {
    brokers: [inner.address],
    onResponse: () => "pass",
    onRequest: () => undefined,
    cut: () => void (inner.passage = "cut"),
    mend: () => void (inner.passage = "open"),
    close: () => inner.close(),
  };
  return proxy;
}
