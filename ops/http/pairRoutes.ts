// Owns the look at what was copied and what was not: `/pairs`, of which those with the status
// `Skipped` are the trades that were not copied, each with its reason and the numbers that decided it.

import type { FastifyInstance } from "fastify";
import { accountId, linkId } from "../../protocol/ids.ts";
import { pairKey, type PairStatus } from "../../protocol/pairs.ts";
import type { PairKey } from "../../protocol/ports/overview.ts";
import { BadRequest } from "./problem.ts";
import { answerPage, idFrom, optional, pageOf, parametersOf } from "./query.ts";
import type { HttpOptions } from "./server.ts";

const STATUSES: readonly PairStatus[] = ["Sending", "Open", "Closed", "Skipped", "Superseded"];

export function pairRoutes(app: FastifyInstance, { overview }: Pick<HttpOptions, "overview">): void {
  app.get("/pairs", async (request) => {
    const parameters = parametersOf(request.query, ["follower", "link", "status", "limit", "after"]);
    const filter = {
      follower: optional(parameters, "follower", (text) => idFrom("follower", text, accountId)),
      link: optional(parameters, "link", (text) => idFrom("link", text, linkId)),
      status: optional(parameters, "status", statusFrom),
    };
    return answerPage(pageOf(parameters, keyFrom), (page) => overview.pairs(filter, page), ({ pair }) => pairKey(pair));
  });
}

function statusFrom(text: string): PairStatus {
  const status = STATUSES.find((each) => each === text);
  if (status === undefined) throw new BadRequest("status is none", `one of ${STATUSES.join(", ")}`);
  return status;
}

/** As `pairKey` writes it. */
function keyFrom(text: string): PairKey {
  const [link, ticket, opening, ...rest] = text.split("/");
  const numbers = [ticket, opening].map((part) => (/^\d{1,16}$/.test(part ?? "") ? Number(part) : Number.NaN));
  const [masterTicket = Number.NaN, count = Number.NaN] = numbers;
  if (rest.length > 0 || !Number.isSafeInteger(masterTicket) || !(count <= 0x7fff_ffff)) throw new BadRequest("after is no key", "what `next` of the page before said");
  return { link: idFrom("after", link ?? "", linkId), masterTicket, opening: count };
}
