// Owns the events of the writer's bench: one row each, spread over followers, some of them bad.

import { DEFAULT_LINK_SETTINGS, type Account, type Link } from "../../protocol/accounts.ts";
import { accountId, epoch, linkId, magic, symbolName, ticket, type AccountId } from "../../protocol/ids.ts";
import type { Points, VolumeUnits, WallMs } from "../../protocol/units.ts";
import type { PairRowEvent } from "../../storage/layers.ts";

const MASTER = accountId("master");
const FOLLOWERS = 64;
const FIRST_MAGIC = 7_000;
const FIRST_FOLLOWER_TICKET = 5_000_000;

const followerOf = (index: number): AccountId => accountId(`follower${index}`);
const account = (id: AccountId, role: Account["role"], login: number): Account => ({ id, role, platform: "mt5", broker: "bench:1", login, credentialsRef: "env:NONE", enabled: true });

export const ACCOUNTS: readonly Account[] = [account(MASTER, "master", 1), ...Array.from({ length: FOLLOWERS }, (_, index) => account(followerOf(index), "follower", index + 2))];

export const LINKS: readonly Link[] = Array.from({ length: FOLLOWERS }, (_, index) => ({
  id: linkId(`link${index}`),
  master: MASTER,
  follower: followerOf(index),
  magic: magic(FIRST_MAGIC + index),
  enabled: true,
  settings: DEFAULT_LINK_SETTINGS,
}));

/** Event number `index`: a copy that stands open. With `badEvery`, one in so many has a volume that the table refuses. */
export function eventOf(index: number, badEvery: number | null): PairRowEvent {
  const follower = followerOf(index % FOLLOWERS);
  const isBad = badEvery !== null && index % badEvery === badEvery - 1;
  const volume = 10_000_000 as VolumeUnits;
  return {
    kind: "pair",
    follower,
    // Nobody ever owned it: the fence lets exactly this one in.
    epoch: epoch(0),
    n: index,
    pair: {
      link: linkId(`link${index % FOLLOWERS}`),
      masterTicket: ticket(index),
      opening: 1,
      master: MASTER,
      follower,
      status: "Open",
      holds: "position",
      symbol: symbolName("EURUSD"),
      digits: 5,
      side: index % 2 === 0 ? "buy" : "sell",
      followerTicket: ticket(FIRST_FOLLOWER_TICKET + index),
      initialVolume: volume,
      volume: isBad ? (-1 as VolumeUnits) : volume,
      masterInitialVolume: volume,
      masterVolume: volume,
      openPrice: (108_000 + (index % 1_000)) as Points,
      stopLoss: 107_000 as Points,
      takeProfit: 110_000 as Points,
      reason: null,
      detail: {},
      changedAtMs: (1_761_000_000_000 + index) as WallMs,
    },
  };
}
