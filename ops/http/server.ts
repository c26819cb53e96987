// Owns a node's HTTP: who may ask, what an answer looks like when something is wrong, and the bounds.
//
// 1. Everything but `/healthz`, `/readyz` and `/metrics` needs the bearer token; so does what does not
//    exist, so that nobody learns by asking.
// 2. An answer that is no success is one JSON object `{"error", "expected"}`; what went wrong inside is
//    logged and not told.
// 3. Requests are small, few at once and over soon, whoever sends them.

import { hostname } from "node:os";
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { isLockstepError, LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Overview } from "../../protocol/ports/overview.ts";
import type { Identity, Uptime } from "../../protocol/ports/storage.ts";
import type { Door } from "../followerDoor.ts";
import type { NodeState } from "../nodeState.ts";
import { accountRoutes } from "./accountRoutes.ts";
import { followerRoutes } from "./followerRoutes.ts";
import { healthRoutes } from "./healthRoutes.ts";
import { pairRoutes } from "./pairRoutes.ts";
import { BadRequest, problem } from "./problem.ts";
import type { Token } from "./token.ts";
import { uptimeRoutes } from "./uptimeRoutes.ts";

export interface HttpOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly token: Token;
  readonly me: Identity;
  /** Null while the node starts. */
  readonly state: () => NodeState | null;
  readonly isDraining: () => boolean;
  /** Null while the node starts. */
  readonly door: () => Door | null;
  readonly overview: Overview;
  readonly uptime: Uptime;
  /** @throws when the database does not answer */
  readonly askDatabase: () => Promise<unknown>;
  readonly page: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RunningHttp {
  /** `host:port`. */
  readonly address: string;
  close(): Promise<void>;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** Answered without a token (1). */
    open?: true;
  }
}

/** Addresses that nobody can connect to: others find it under the machine's name. */
const EVERYWHERE = new Set(["0.0.0.0", "::"]);
const LONGEST_BODY_BYTES = 16_384;
const LONGEST_PARAMETER = 128;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 256;
const MAX_HEADER_BYTES = 8_192;

/** @throws LockstepError `configuration` when the address cannot be listened on */
export async function startHttp(options: HttpOptions): Promise<RunningHttp> {
  const app = buildHttp(options);
  const { host, port } = options;
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw new LockstepError("configuration", `HTTP cannot listen on ${host}:${port}: ${messageOf(error)}. httpHost and httpPort name another place, port 0 a free one`, error);
  }
  const listening = app.server.address();
  const reachable = EVERYWHERE.has(host) ? hostname() : host;
  const shown = reachable.includes(":") ? `[${reachable}]` : reachable;
  return { address: `${shown}:${typeof listening === "object" && listening !== null ? listening.port : port}`, close: async () => void (await app.close()) };
}

/** Not listening yet. */
export function buildHttp(options: HttpOptions): FastifyInstance {
  const { logger, token } = options;
  const app = fastify({
    logger: false,
    bodyLimit: LONGEST_BODY_BYTES,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: REQUEST_TIMEOUT_MS,
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    forceCloseConnections: true,
  }); // (3)
  app.server.maxConnections = MAX_CONNECTIONS;
  app.addHook("onRequest", async (request, reply) => {
    if (request.routeOptions.config.open === true || isAllowed(request, token)) return;
    await reply.code(401).header("www-authenticate", "Bearer").send(problem("unauthorized", "Authorization: Bearer TOKEN"));
  });
  app.addHook("onSend", async (_request, reply) => void reply.header("cache-control", "no-store"));
  app.setNotFoundHandler(async (_request, reply) => reply.code(404).send(problem("not found", "a path and a method of ops/http/README.md")));
  app.setErrorHandler(async (error: FastifyError, request, reply) => answerError(error, request, reply, logger));
  healthRoutes(app, options);
  accountRoutes(app, options);
  pairRoutes(app, options);
  followerRoutes(app, options);
  uptimeRoutes(app, options);
  return app;
}

function isAllowed(request: FastifyRequest, token: Token): boolean {
  const [, candidate] = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(request.headers.authorization ?? "") ?? [];
  return token.matches(candidate ?? "");
}

function answerError(error: FastifyError, request: FastifyRequest, reply: FastifyReply, logger: Logger): FastifyReply {
  if (error instanceof BadRequest) return reply.code(400).send(problem(error.message, error.expected));
  if (isLockstepError(error) && error.retry === "later") {
    logger.warn({ path: request.routeOptions.url, error: error.message }, "request not answered");
    return reply.code(503).header("retry-after", "1").send(problem("the database does not answer", "the same again in a moment"));
  }
  const status = error.statusCode ?? 500;
  if (status < 500) return reply.code(status).send(problem(error.message, "a well-formed request"));
  logger.error({ path: request.routeOptions.url, error: messageOf(error), stack: error.stack }, "request failed");
  return reply.code(500).send(problem("internal error", "nothing: the node's log says more"));
}
