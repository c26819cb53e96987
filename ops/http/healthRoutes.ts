// Owns what supervisors, load balancers and Prometheus ask: `/healthz`, `/readyz`, `/metrics`. All open.
//
// 1. `/healthz` says that the process lives and its loop turns, nothing more: who ends a process that
//    is fenced or cut off would make it worse.
// 2. The database is asked once a second at most, however often `/readyz` is.

import type { FastifyInstance } from "fastify";
import { notReady } from "../nodeState.ts";
import type { HttpOptions } from "./server.ts";

const open = { config: { open: true } } as const;
const ASK_EVERY_MS = 1_000;

type HealthOptions = Pick<HttpOptions, "me" | "state" | "isDraining" | "askDatabase" | "page" | "clock">;

export function healthRoutes(app: FastifyInstance, options: HealthOptions): void {
  const { me, state, isDraining, page } = options;
  const databaseOk = askedSeldom(options);
  app.get("/healthz", open, async () => ({ status: "ok", node: me.node, boot: me.boot }));
  app.get("/readyz", open, async (_request, reply) => {
    const reasons = notReady(state(), await databaseOk(), isDraining());
    return reply.code(reasons.length === 0 ? 200 : 503).send({ ready: reasons.length === 0, reasons });
  });
  app.get("/metrics", open, async (_request, reply) => {
    const { contentType, text } = await page();
    return reply.type(contentType).send(text);
  });
}

/** Invariant 2. */
function askedSeldom({ clock, askDatabase }: HealthOptions): () => Promise<boolean> {
  let askedMs = Number.NEGATIVE_INFINITY;
  let answer = Promise.resolve(false);
  return () => {
    if (clock.monotonicMs() - askedMs >= ASK_EVERY_MS) {
      askedMs = clock.monotonicMs();
      answer = askDatabase().then(() => true, () => false);
    }
    return answer;
  };
}
