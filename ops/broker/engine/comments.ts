// Owns the ways in which a broker's layers treat comments otherwise than the platform does: they
// cut them shorter, write their own words over them, or lose them.
//
// 1. Whatever is done, nothing longer than `commentCharacters` is kept.

import type { CloseReason } from "../../../protocol/trades.ts";
import { markedComment, type PlatformRules } from "./platform.ts";

export interface CommentQuirks {
  /** Characters of a comment that are kept: 31 on the platforms, 27 or 26 behind some layers. */
  readonly commentCharacters: number;
  /**
   * What a stop or target makes of the comment in the history: what the `platform` does, `mc42 Filled SL` (`appended`),
   * or `Filled SL` alone (`replaced`).
   */
  readonly stopComment: "platform" | "appended" | "replaced";
  /**
   * Comments that are lost: that of a new position or pending (`opened`), of what a part-close leaves (`rest`), of the part
   * that it closes (`part`). On MT4 the last two are the chain.
   */
  readonly clearedComments: readonly ("opened" | "rest" | "part")[];
}

const FILLED: Readonly<Record<CloseReason, string | null>> = { manual: null, stop_loss: "Filled SL", take_profit: "Filled TP", stop_out: null };

/** The platform's rules, with these ways in place of its own. */
export function withComments(rules: PlatformRules, { commentCharacters, stopComment, clearedComments }: CommentQuirks): PlatformRules {
  const kept = (comment: string): string => comment.slice(0, commentCharacters); // 1
  const unlessCleared = (which: CommentQuirks["clearedComments"][number], comment: string): string => (clearedComments.includes(which) ? "" : kept(comment));
  return {
    ...rules,
    storedComment: (comment) => unlessCleared("opened", rules.storedComment(comment)),
    split: (position, volume, newTicket) => {
      const { part, rest } = rules.split(position, volume, newTicket);
      return { part: { ...part, comment: unlessCleared("part", part.comment) }, rest: { ...rest, comment: unlessCleared("rest", rest.comment) } };
    },
    historyComment: (comment, reason) => {
      const filled = FILLED[reason];
      if (stopComment === "platform" || filled === null) return kept(rules.historyComment(comment, reason));
      return kept(stopComment === "replaced" ? filled : markedComment(comment, comment === "" ? filled : ` ${filled}`, commentCharacters));
    },
  };
}
