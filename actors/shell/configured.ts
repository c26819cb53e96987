// Owns what a node knows of what is configured: as of one reading of the directory, and of what it
// parked itself since.

import type { Account, Link } from "../../protocol/accounts.ts";
import type { AccountId, LinkId } from "../../protocol/ids.ts";
import type { DirectoryState } from "../../protocol/ports/storage.ts";

export class Configured {
  readonly #accounts: ReadonlyMap<AccountId, Account>;
  readonly #links: ReadonlyMap<LinkId, Link>;
  readonly #parked: Set<AccountId>;

  constructor({ accounts, links, parked }: Pick<DirectoryState, "accounts" | "links" | "parked">) {
    this.#accounts = new Map(accounts.map((account) => [account.id, account]));
    this.#links = new Map(links.map((link) => [link.id, link]));
    this.#parked = new Set(parked.keys());
  }

  /** Null: not to be served, as far as is known. */
  served(id: AccountId): Account | null {
    const account = this.#accounts.get(id);
    return account?.enabled !== true || this.#parked.has(id) ? null : account;
  }

  /** Also one that is not to be served. */
  account(id: AccountId): Account | null {
    return this.#accounts.get(id) ?? null;
  }

  linksOf(follower: AccountId): readonly Link[] {
    return [...this.#links.values()].filter((link) => link.follower === follower);
  }

  /** Also one that is switched off. */
  hasLink(id: LinkId): boolean {
    return this.#links.has(id);
  }

  park(id: AccountId): void {
    this.#parked.add(id);
  }
}
