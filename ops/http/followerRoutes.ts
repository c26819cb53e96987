// Owns what may be asked of one follower: a close of one of its positions, and the stream of its events.
//
// 1. Each request is judged by the gate of that moment, whatever the connection's last one was answered.
// 2. A close goes on whether or not its client waits: the journal, the log and the row have its outcome.
// 3. A follower that another node has is named with that node, also while we are fenced: the row says it.

import type { FastifyInstance, FastifyReply } from "fastify";
import type { CloseOutcome } from "../../actors/shell/manualClose.ts";
import { accountId, ticket, type AccountId, type Ticket } from "../../protocol/ids.ts";
import { unreachable } from "../../protocol/errors.ts";
import { LOT } from "../../protocol/units.ts";
import { followerStream } from "./followerStream.ts";
import { BadRequest, problem } from "./problem.ts";
import { idFrom, parametersOf } from "./query.ts";
import type { HttpOptions } from "./server.ts";

type FollowerOptions = Pick<HttpOptions, "overview" | "me" | "door" | "clock" | "logger">;

const RETRY_AFTER_S = "1";
const MOST_STREAMS = 100;

export function followerRoutes(app: FastifyInstance, options: FollowerOptions): void {
  const { door } = options;
  app.post<{ Params: { follower: string; ticket: string } }>("/followers/:follower/positions/:ticket/close", async (request, reply) => {
    parametersOf(request.query, []);
    const account = idFrom("follower", request.params.follower, accountId);
    const closed = ticketFrom(request.params.ticket);
    if (!(await isHere(options, account, reply))) return reply;
    // The broker may take longer than a client is allowed to be silent.
    request.raw.socket.setTimeout(0);
    const outcome = await (door()?.close(account, closed) ?? null);
    request.raw.socket.setTimeout(app.server.timeout);
    return outcome === null ? unavailable(reply, "the follower is not served yet", "the same again in a moment") : answerClose(reply, account, closed, outcome);
  });
  app.get<{ Params: { follower: string } }>("/followers/:follower/events", async (request, reply) => {
    parametersOf(request.query, []);
    const account = idFrom("follower", request.params.follower, accountId);
    if (!(await isHere(options, account, reply))) return reply;
    const here = door();
    if (here === null || here.listening >= MOST_STREAMS) return unavailable(reply, "too many streams are open", `at most ${MOST_STREAMS}`);
    followerStream(reply, account, { ...options, door: here });
    return reply;
  });
}

function ticketFrom(text: string): Ticket {
  try {
    if (/^\d{1,16}$/.test(text)) return ticket(Number(text));
  } catch {
    // said below
  }
  throw new BadRequest("ticket is none", "the whole number that the broker shows");
}

/** False: the request is answered. */
async function isHere({ overview, me, door }: FollowerOptions, account: AccountId, reply: FastifyReply): Promise<boolean> {
  const standing = door()?.standing(account) ?? "elsewhere";
  if (standing === "open") return true;
  if (standing === "fenced") {
    leaseLost(reply);
    return false;
  }
  const owner = await overview.owner(account);
  const isElsewhere = owner?.live === true && (owner.node !== me.node || owner.boot !== me.boot);
  if (isElsewhere) void reply.code(404).send({ ...problem("the follower is at another node", "the same request there"), node: owner.node, address: owner.address }); // 3
  // The row says us, and we do not: it is coming or going.
  else if (owner?.live === true) leaseLost(reply);
  else void reply.code(404).send(problem("no node has this follower now", "a follower with a live owner"));
  return false;
}

const leaseLost = (reply: FastifyReply): FastifyReply => unavailable(reply, "lease lost; retry", "the same again in a moment, or the owner of then");

const unavailable = (reply: FastifyReply, error: string, expected: string): FastifyReply => reply.code(503).header("retry-after", RETRY_AFTER_S).send(problem(error, expected));

function answerClose(reply: FastifyReply, follower: AccountId, closed: Ticket, outcome: CloseOutcome): FastifyReply {
  const about = { follower, ticket: closed };
  switch (outcome.kind) {
    case "done":
    case "done_in_part":
      return reply.send({ ...about, outcome: outcome.kind, lots: outcome.volume / LOT, pricePoints: outcome.price });
    case "refused":
      return reply.send({ ...about, outcome: outcome.kind, refusal: outcome.refusal, code: outcome.code, text: outcome.text });
    case "unknown":
      return reply.send({ ...about, outcome: outcome.kind, detail: outcome.detail });
    case "already_closed":
      return reply.send({ ...about, outcome: outcome.kind, reason: outcome.reason, rest: outcome.rest });
    case "no_such_copy":
      return reply.code(404).send(problem(outcome.why, "the ticket of a copy's open position"));
    case "busy":
      return reply.code(409).send(problem(outcome.why, "the same again when that has ended"));
    case "not_sent":
      return unavailable(reply, `not sent: ${outcome.why}`, "the same again in a moment");
    case "fenced":
      return leaseLost(reply);
    default:
      return unreachable(outcome);
  }
}
