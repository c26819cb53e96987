// Owns the one reading of the broker's log: folded into the history of each account, with whatever
// could not have happened on the way.
//
// 1. An entry that contradicts what was before it is named and otherwise left out.

import { unreachable } from "../../../protocol/errors.ts";
import type { AccountId } from "../../../protocol/ids.ts";
import type { BrokerLogEntry } from "../../broker/log.ts";
import { FoldedAccount, type TradeEntry } from "./folded.ts";
import type { AccountHistory } from "./history.ts";
import { QuoteBook } from "./prices.ts";
import type { Moment } from "./periods.ts";

export interface Histories {
  readonly accounts: ReadonlyMap<AccountId, AccountHistory>;
  readonly quotes: QuoteBook;
  /** The last entry. */
  readonly end: Moment;
  /** What is impossible in this log, a line each. */
  readonly faults: readonly string[];
}

export function foldLog(log: readonly BrokerLogEntry[]): Histories {
  const fold = new Fold();
  for (const entry of log) fold.take(entry);
  return fold;
}

class Fold implements Histories {
  readonly accounts = new Map<AccountId, FoldedAccount>();
  readonly quotes = new QuoteBook();
  readonly faults: string[] = [];
  end: Moment = { n: 0, atMs: 0 };
  /** Which account asked entry `n`. */
  readonly #asked = new Map<number, FoldedAccount>();

  take(entry: BrokerLogEntry): void {
    if (entry.n !== this.end.n + 1) this.faults.push(`entry ${entry.n} comes after entry ${this.end.n}`);
    this.end = { n: entry.n, atMs: entry.atMs };
    const fault = this.#fold(entry);
    if (fault !== null) this.faults.push(`entry ${entry.n}: ${fault}`); // 1
  }

  /** Why the entry is impossible, or null. */
  #fold(entry: BrokerLogEntry): string | null {
    switch (entry.kind) {
      case "login":
      case "disconnect":
      case "missed":
      case "quirks":
        if (entry.account !== null) this.accounts.get(entry.account)?.ears.take(entry);
        return null;
      case "fault":
        this.accounts.get(entry.account)?.ears.take(entry);
        return entry.requestN === null ? null : this.#requester(entry.requestN, (account, n) => account.befell(n, entry.fault));
      case "account":
        if (this.accounts.has(entry.account)) return `account ${entry.account} is there twice`;
        this.accounts.set(entry.account, new FoldedAccount(entry.account, entry.platform, entry.symbols));
        return null;
      case "quote":
        if (entry.bid > entry.ask) return `${entry.instrument}: bid ${entry.bid} above ask ${entry.ask}`;
        this.quotes.add(entry.instrument, entry.digits, { n: entry.n, atMs: entry.atMs, bid: entry.bid, ask: entry.ask });
        return null;
      case "answer":
        return this.#requester(entry.requestN, (account, n) => account.answered(n, entry));
      case "late":
        return this.#requester(entry.requestN, (account, n) => account.happenedLate(n, entry));
      case "request":
      case "deal":
      case "modified":
      case "grown":
      case "reticketed":
      case "pending":
        return this.#ofAccount(entry);
      default:
        return unreachable(entry);
    }
  }

  #requester(requestN: number, tell: (account: FoldedAccount, requestN: number) => string | null): string | null {
    const account = this.#asked.get(requestN);
    return account === undefined ? `about entry ${requestN}, which is no request` : tell(account, requestN);
  }

  #ofAccount(entry: TradeEntry | Extract<BrokerLogEntry, { kind: "request" }>): string | null {
    const account = this.accounts.get(entry.account);
    if (account === undefined) return `account ${entry.account} is not in the log`;
    if (entry.kind === "request") {
      this.#asked.set(entry.n, account);
      account.asked(entry);
      return null;
    }
    const { causeN } = entry;
    if (causeN !== null && this.#asked.get(causeN) !== account && !this.quotes.has(causeN)) return `caused by entry ${causeN}, which is no quote and no request of ${entry.account}`;
    return account.happened(entry);
  }
}
