// Owns the brokers' process: a server with its log and its player for each master, so that their work
// stands in no node's way, as it would not in other companies' houses.
//
// 1. It ends when it is told to, and when its parent is gone, whatever ended it. Servers of this machine that
//    it keeps are then its to stop, unless others use them.

import { messageOf } from "../../protocol/errors.ts";
import type { AccountId } from "../../protocol/ids.ts";
import { systemClock } from "../clock.ts";
import { Performance } from "../demo/performance.ts";
import { Ends } from "../ends.ts";
import { resolveKafka } from "../kafka/resolve.ts";
import { isLaunched, listenForEnd } from "../launch.ts";
import { openLogger } from "../logging.ts";
import { resolveDatabase } from "../postgres/resolve.ts";
import type { KeptServer, StageCommand, StageReport } from "./stageMessages.ts";

const LONGEST_END_MS = 25_000;

class StageRun {
  #performances: readonly Performance[] = [];
  readonly #ends = new Ends();
  #played = 0;
  /** Tells of the first order of accounts that are waited for. */
  #onOrder: (account: AccountId) => void = () => undefined;

  async do(command: StageCommand): Promise<StageReport> {
    switch (command.kind) {
      case "open":
        await Promise.all(command.keeps.map((server) => this.#keep(server)));
        this.#performances = command.performances.map((data) => new Performance(data, (account) => this.#onOrder(account)));
        return { kind: "listening", ports: await Promise.all(this.#performances.map((performance) => performance.listen())) };
      case "play":
        await Promise.all(this.#performances.map((performance) => performance.play(() => tell({ kind: "scene", played: (this.#played += 1) }))));
        return { kind: "played" };
      case "act":
        await Promise.all(this.#performances.map((performance) => performance.act(command.act)));
        return { kind: "acted" };
      case "await_order":
        return { kind: "order", account: await this.#orderOf(new Set(command.accounts)) };
      case "close":
        await this.close();
        return { kind: "closed" };
    }
  }

  #orderOf(accounts: ReadonlySet<AccountId>): Promise<AccountId> {
    return new Promise((resolve) => {
      this.#onOrder = (account) => {
        if (accounts.has(account)) resolve(account);
      };
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#performances.map((performance) => performance.close()));
    this.#performances = [];
    await this.#ends.run();
  }

  async #keep(server: KeptServer): Promise<void> {
    const options = { env: process.env, logger: openLogger({ level: "warn", file: null }), clock: systemClock };
    const kept = server === "database" ? await resolveDatabase(options) : await resolveKafka(options);
    this.#ends.add(() => kept.stop());
  }
}

/** A parent that is gone hears nothing; the end of the channel says so. */
function tell(report: StageReport): void {
  if (process.connected) process.send?.(report, () => undefined);
}

isLaunched();
const ending = listenForEnd(systemClock, LONGEST_END_MS);
const run = new StageRun();
process.on("message", (command: StageCommand) => void run.do(command).then(tell, (error: unknown) => tell({ kind: "failed", message: messageOf(error) })));
// 1
ending.signal.addEventListener("abort", () => void run.close().finally(() => process.exit(ending.exitCode() ?? 0)));
if (ending.signal.aborted) process.exit(ending.exitCode() ?? 0);
