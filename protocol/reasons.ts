// Owns the closed list of reasons why a trade was not copied, or why a copy ended. Each is
// written with the numbers that decided it, so that a person can check it.

export const SKIP_REASONS = {
  symbol_unknown: "the follower's broker has no such symbol",
  no_quote: "no quote of the follower's symbol yet",
  volume_below_minimum: "the volume is below the follower's minimum",
  volume_above_maximum: "the volume is above the follower's maximum",
  too_old: "the master's open is older than the age limit",
  price_moved: "the price moved further against us than the slippage allows",
  late_open_price_moved: "found late, and the price moved further against us than the slippage allows",
  gone_before_copy: "the master ended it before the copy was sent",
  own_tag: "the master's trade carries our own tag: it is a copy itself",
  pendings_off: "this link does not copy pending orders",
  link_off: "the link is switched off",
  refused: "the follower's broker refused it",
  dropped: "the order was dropped before the call and the trade is gone since",
  no_chain: "a part-closed trade whose first ticket is not known",
} as const;

export type SkipReason = keyof typeof SKIP_REASONS;

export const END_REASONS = {
  master_closed: "the master closed",
  master_cancelled: "the master's pending order ended",
  stop_loss: "the copy's own stop",
  take_profit: "the copy's own target",
  stop_out: "the follower's broker closed it for margin",
  manual: "closed by hand on the follower",
  closed_on_request: "a person had us close it",
  removed: "the copy's pending order ended at the follower's broker",
  part_below_grid: "the rest is below the follower's grid",
} as const;

export type EndReason = keyof typeof END_REASONS;

export type ReasonCode = SkipReason | EndReason;
/** The numbers behind a reason, by name with the unit in the name. */
export type ReasonDetail = Readonly<Record<string, number | string>>;
