// Owns the look at who owns what: `/owner/{follower}`, `/accounts`, `/links`, `/nodes`, `/held`.
//
// 1. Any node answers for the whole cell: the rows say it. `/held` alone is this process's own word: a row
//    names one owner, so whoever looks for two compares these.
// 2. An owner that cannot prove its lease is none: 404, also when it is this node and only it knows yet. The gate says so at
//    each request, before the database is asked: it may be the database that cannot be reached.
// 3. Of credentials the reference is shown, never what is behind it.

import type { FastifyInstance } from "fastify";
import { accountId, linkId, type AccountId } from "../../protocol/ids.ts";
import type { Identity } from "../../protocol/ports/storage.ts";
import { problem } from "./problem.ts";
import { answerPage, idFrom, pageOf, parametersOf } from "./query.ts";
import type { HttpOptions } from "./server.ts";

const PAGE = ["limit", "after"];

export function accountRoutes(app: FastifyInstance, { overview, me, state, door }: Pick<HttpOptions, "overview" | "me" | "state" | "door">): void {
  const mayActFor = (account: AccountId): boolean => door()?.standing(account) === "open";
  const isMe = (owner: Identity): boolean => owner.node === me.node && owner.boot === me.boot;
  app.get<{ Params: { follower: string } }>("/owner/:follower", async (request, reply) => {
    parametersOf(request.query, []);
    const account = idFrom("follower", request.params.follower, accountId);
    const owner = door()?.standing(account) === "fenced" ? null : await overview.owner(account);
    if (owner?.live !== true || (isMe(owner) && !mayActFor(account))) return reply.code(404).send(problem("no node owns it now", "an account with a live owner")); // (2)
    const { node, boot, epoch, address } = owner;
    return { account, node, boot, epoch, address };
  });
  app.get("/accounts", async (request) => {
    const page = pageOf(parametersOf(request.query, PAGE), (text) => idFrom("after", text, accountId));
    const answer = await answerPage(page, (wanted) => overview.accounts(wanted), ({ id }) => id);
    const items = answer.items.map((item) => (item.owner !== null && isMe(item.owner) && !mayActFor(item.id) ? { ...item, owner: { ...item.owner, live: false } } : item)); // (2)
    return { ...answer, items };
  });
  app.get("/links", async (request) => {
    const page = pageOf(parametersOf(request.query, PAGE), (text) => idFrom("after", text, linkId));
    return answerPage(page, (wanted) => overview.links(wanted), ({ id }) => id);
  });
  app.get("/held", async (request) => {
    parametersOf(request.query, []);
    const now = state();
    return { ...me, fenced: now?.fenced ?? true, items: now?.accounts ?? [] }; // (1)
  });
  app.get("/nodes", async (request) => {
    parametersOf(request.query, []);
    return { items: await overview.nodes() };
  });
}
