// Owns playing a script at the master's broker: scene by scene, at its moment, through the hand of
// the person at the master's terminal.

import type { Ticket } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import { LockstepError, unreachable } from "../../protocol/errors.ts";
import type { Trader, TraderOutcome } from "../broker/trader.ts";
import type { BrokerServer } from "../broker/server.ts";
import type { Scene, Step } from "./script.ts";

export interface PlayerOptions {
  readonly server: BrokerServer;
  readonly trader: Trader;
  readonly scenes: readonly Scene[];
  /** When each scene begins, from the start. */
  readonly offsetsMs: readonly number[];
  readonly clock: Clock;
  readonly onScene: (played: number) => void;
}

/** The comment under which a statement's trade is opened: a checker finds it by this. */
export const roleComment = (role: Ticket): string => `s${role}`;

/**
 * Resolves when the last scene is over.
 * @throws LockstepError `bad_statement`: the broker refused a step, so the statement cannot have happened like this
 */
export async function play({ server, trader, scenes, offsetsMs, clock, onScene }: PlayerOptions): Promise<void> {
  const startMs = clock.monotonicMs();
  /** What stands now for each of the statement's tickets. */
  const standing = new Map<Ticket, Ticket>();
  for (const [index, scene] of scenes.entries()) {
    const waitMs = startMs + (offsetsMs[index] ?? 0) - clock.monotonicMs();
    await new Promise<void>((resolve) => (waitMs > 0 ? void clock.after(waitMs, resolve) : clock.soon(resolve)));
    for (const step of scene.steps) perform(server, trader, standing, step);
    onScene(index + 1);
  }
}

function perform(server: BrokerServer, trader: Trader, standing: Map<Ticket, Ticket>, step: Step): void {
  if (step.kind === "quote") return server.broker.setQuotes([{ instrument: step.symbol, bid: step.bid, ask: step.ask }]);
  const outcome = step.kind === "stop_out" ? stopOut(server, trader, standing.get(step.role) ?? step.role) : ask(trader, standing, step);
  if (outcome.refusal !== null) throw new LockstepError("bad_statement", `the master's broker refuses ${step.kind} of ticket ${step.role}: ${outcome.code} ${outcome.text}`);
  if (outcome.left !== null) standing.set(step.role, outcome.left);
}

/** The broker's own act, not the trader's. */
function stopOut(server: BrokerServer, trader: Trader, ticket: Ticket): TraderOutcome {
  const outcome = server.broker.stopOut(trader.account, ticket);
  return { ...outcome, code: outcome.refusal === null ? 0 : 1, text: outcome.refusal ?? "" };
}

function ask(trader: Trader, standing: ReadonlyMap<Ticket, Ticket>, step: Exclude<Step, { kind: "quote" | "stop_out" }>): TraderOutcome {
  const { role } = step;
  const ticket = standing.get(role) ?? role;
  const comment = roleComment(role);
  switch (step.kind) {
    case "open":
      return trader.open({ symbol: step.symbol, side: step.side, volume: step.volume, stopLoss: step.stopLoss, takeProfit: step.takeProfit, comment });
    case "place":
      return trader.place({ symbol: step.symbol, pending: step.pending, volume: step.volume, price: step.price, stopLoss: step.stopLoss, takeProfit: step.takeProfit, comment });
    case "modify":
      return trader.modify(ticket, step);
    case "part_close":
      return trader.partClose(ticket, step.volume);
    case "close":
      return trader.close(ticket);
    case "change":
      return trader.change(ticket, step.price, step);
    case "cancel":
      return trader.cancel(ticket);
    default:
      return unreachable(step);
  }
}

