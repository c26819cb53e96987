// Owns the links of one follower in its actor: one memory a link, made when the link is first heard
// of and kept for the actor's life.
//
// 1. A link never goes away: one that was removed is switched off, and its copies are followed on.
// 2. New settings hold for the next decision; what is under way goes on as it was decided.

import { isDeepStrictEqual } from "node:util";
import type { Link } from "../../protocol/accounts.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { PairRow } from "../../protocol/ports/storage.ts";
import { LinkCopies, type Copy } from "./linkCopies.ts";

export class LinkStates {
  readonly #states: LinkCopies[];

  constructor(links: readonly Link[]) {
    this.#states = links.map((link) => new LinkCopies(link));
  }

  get all(): readonly LinkCopies[] {
    return this.#states;
  }

  of(master: AccountId): readonly LinkCopies[] {
    return this.#states.filter(({ link }) => link.master === master);
  }

  copies(): readonly Copy[] {
    return this.#states.flatMap(({ copies }) => [...copies.values()]);
  }

  cancelTimers(): void {
    for (const copy of this.copies()) {
      copy.pause?.cancel();
      copy.later?.cancel();
    }
  }

  /** Takes the settings of each, and makes a memory for a new one. Whether anything is other than before. */
  change(links: readonly Link[]): boolean {
    let changed = false;
    for (const link of links) {
      const state = this.#states.find((known) => known.link.id === link.id);
      if (state !== undefined && isDeepStrictEqual(state.link, link)) continue;
      changed = true;
      if (state === undefined) this.#states.push(new LinkCopies(link));
      else state.link = link; // (2)
    }
    return changed;
  }

  /** Whether anything is known of this trade: what we have said of it ourselves is newer than any row. */
  knows({ pair }: PairRow): boolean {
    return (this.#states.find(({ link }) => link.id === pair.link)?.copies.get(pair.masterTicket)?.pair ?? null) !== null;
  }

  /** @param settlesAtMs when an order that whoever wrote the row may have sent up to now is settled */
  remember(row: PairRow, settlesAtMs: number): void {
    const copy = this.#states.find(({ link }) => link.id === row.pair.link)?.copy(row.pair.masterTicket);
    if (copy === undefined) return;
    copy.pair = row.pair;
    if (row.pair.status === "Sending") copy.settlesAtMs = settlesAtMs;
  }
}
