// Owns the writers' property: whatever is said, in whatever order, with whatever rows and whatever breaks meanwhile, the
// tables end as if each event had been written by itself, in the order of the log.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { epoch, linkId, ticket, type AccountId, type CellId, type SymbolName } from "../../protocol/ids.ts";
import type { PairEvent, PairStatus } from "../../protocol/pairs.ts";
import type { PairRow, PairStore } from "../../protocol/ports/storage.ts";
import type { OwnerEvent } from "../../protocol/accountState.ts";
import { isLockstepError } from "../../protocol/errors.ts";
import type { WallMs } from "../../protocol/units.ts";
import type { Storage } from "../../storage/storage.ts";
import { MemoryDatabase } from "../../storage/memory/cells.ts";
import { account, claiming, link, MASTER, me, pairEvent, renewing } from "../contract/storageFixture.ts";
import { FakeScheduler } from "../sim/scheduler.ts";
import type { AtCommit } from "./databaseProxy.ts";
import { ground, raising } from "./ground.ts";

const RUNS = 20;
const EPOCHS = 3;
/** What a row's symbol makes the database say. X: always, and it is the row's. P: always, by a class that blames nobody. T: a few times, by a class that passes. */
const ALWAYS = ["X21000", "X22003", "X23514"];
const NOBODYS = ["XP0001"];
const PASSING = ["T08006", "T40001", "T40P01", "T42703", "T53100", "T55P03", "T57014"];
const WELL = "EURUSD";
const STATUSES: readonly PairStatus[] = ["Sending", "Open", "Open", "Closed", "Skipped"];

interface Said {
  readonly epoch: number;
  readonly n: number;
  readonly what: "marker" | "state" | { readonly trade: number; readonly opening: number; readonly status: PairStatus; readonly symbol: string };
}

const anyRow = fc.record({
  trade: fc.integer({ min: 1, max: 4 }),
  opening: fc.integer({ min: 1, max: 2 }),
  status: fc.constantFrom(...STATUSES),
  symbol: fc.oneof({ weight: 14, arbitrary: fc.constant(WELL) }, { weight: 3, arbitrary: fc.constantFrom(...ALWAYS) }, { weight: 1, arbitrary: fc.constantFrom(...NOBODYS) }, { weight: 2, arbitrary: fc.constantFrom(...PASSING) }),
});
const anySaid: fc.Arbitrary<Said> = fc.record({ epoch: fc.integer({ min: 1, max: EPOCHS + 1 }), n: fc.integer({ min: 1, max: 9 }), what: fc.oneof({ weight: 1, arbitrary: fc.constant("marker" as const) }, { weight: 1, arbitrary: fc.constant("state" as const) }, { weight: 6, arbitrary: anyRow }) });

/** Batches as they come into the log, what is said again later in any order, and what becomes of each commit. */
const anyRun = fc.record({
  batches: fc.array(fc.array(anySaid, { minLength: 1, maxLength: 14 }), { minLength: 1, maxLength: 4 }),
  again: fc.array(fc.nat(), { maxLength: 12 }),
  commits: fc.array(fc.constantFrom<AtCommit>("pass", "pass", "before", "during", "reply", "after"), { maxLength: 10 }),
});

const FOLLOWERS = Array.from({ length: RUNS }, (_, index) => account(`follower${index}`, "follower", 100 + index));
const LINKS = FOLLOWERS.map(({ id }, index) => link(`link${index}`, MASTER.id, id, 9_000 + index));

test("random batches with rows of each class, stale epochs, markers, repeats and cuts end as event by event", async (t) => {
  const g = await ground(t, { accounts: [MASTER, ...FOLLOWERS], links: LINKS, epochs: EPOCHS });
  await raising(g, 3);
  let commits: readonly AtCommit[] = [];
  let asked = 0;
  const { metrics, writer } = await g.start({ atCommit: () => commits[asked++] ?? "pass" });
  const expected = { written: 0, rejected: 0 };
  let run = 0;
  await fc.assert(
    fc.asyncProperty(anyRun, async (plan) => {
      const follower = FOLLOWERS[run % FOLLOWERS.length]?.id ?? MASTER.id;
      const own = linkId(`link${run % FOLLOWERS.length}`);
      run += 1;
      const event = ({ epoch: at, n, what }: Said): OwnerEvent => {
        if (what === "marker") return { kind: "adopted", follower, epoch: epoch(at), n };
        if (what === "state") return { kind: "account", follower, epoch: epoch(at), n, state: { connected: n % 2 === 0, funds: null, lastError: null, changedAtMs: n as WallMs } };
        const { symbol, trade, ...rest } = what;
        return pairEvent([at, n], { ...rest, link: own, follower, symbol: symbol as SymbolName, masterTicket: ticket(trade) });
      };
      // Something is in already: else nothing could be told of a class that blames nobody.
      const first = pairEvent([1, 1], { link: own, follower, masterTicket: ticket(99), status: "Skipped", reason: "price_moved" });
      const batches = plan.batches.map((batch) => batch.map(event));
      const told = batches.flat();
      const again = plan.again.flatMap((pick) => told[pick % told.length] ?? []);
      const reference = await oneByOne(g.cell, [first, ...told, ...again]);

      [commits, asked] = [[], 0];
      await g.sql("ALTER SEQUENCE tries RESTART");
      await g.say([first]);
      await g.caughtUp();
      [commits, asked] = [plan.commits, 0];
      for (const batch of [...batches, again]) await g.say(batch);
      await g.caughtUp();
      assert.deepEqual(await g.storage.pairs.rowsOf(follower), reference.rows);
      assert.equal(await g.storage.pairs.projectedEpoch(follower), reference.projected);
      assert.deepEqual(await stateOf(g.storage, follower), reference.state);
      const kept = await g.sql("SELECT code, event FROM rejected_rows WHERE cell = $1 AND follower = $2", [g.cell, follower]);
      assert.deepEqual(kept.map(({ event: text }) => JSON.stringify(text)).sort(), [...reference.rejected].sort());
      expected.written += reference.written;
      expected.rejected += reference.rejections;
      assert.deepEqual([metrics.of("rows_written"), metrics.of("rows_rejected"), writer.waiting], [expected.written, expected.rejected, null], "each counts once");
    }),
    { numRuns: RUNS, interruptAfterTimeLimit: 120_000, endOnFailure: true },
  );
});

interface Reference {
  readonly rows: readonly PairRow[];
  readonly projected: number;
  readonly state: unknown;
  /** Their JSON texts. */
  readonly rejected: ReadonlySet<string>;
  readonly rejections: number;
  readonly written: number;
}

/** The twin, one event at a time, with the trigger's part done by hand. */
async function oneByOne(cell: CellId, events: readonly OwnerEvent[]): Promise<Reference> {
  const storage = new MemoryDatabase(new FakeScheduler(1)).storage(cell);
  await storage.directory.put([MASTER, ...FOLLOWERS], LINKS);
  await storage.registry.renew(me("owner"), renewing());
  for (let acquired = 0; acquired < EPOCHS; acquired++) for (const held of await storage.registry.claim(me("owner"), claiming())) await storage.registry.release(me("owner"), held, 0);
  const rejected = new Set<string>();
  let [written, rejections] = [0, 0];
  for (const event of events) {
    try {
      if (event.kind === "pair" && event.pair.symbol.startsWith("X") && (await passesFence(storage.pairs, event))) throw new RaisedByTrigger();
      written += (await storage.pairs.write([event])).written;
    } catch (error) {
      if (!(error instanceof RaisedByTrigger) && !isLockstepError(error, "row_fault")) throw error;
      rejected.add(JSON.stringify(event));
      rejections += 1;
    }
  }
  const follower = events[0]?.follower ?? MASTER.id;
  return { rows: await storage.pairs.rowsOf(follower), projected: await storage.pairs.projectedEpoch(follower), state: await stateOf(storage, follower), rejected, rejections, written };
}

const stateOf = async ({ overview }: Pick<Storage, "overview">, follower: AccountId): Promise<unknown> => (await overview.accounts({ limit: 100, after: null })).find(({ id }) => id === follower)?.state;

class RaisedByTrigger extends Error {}

/** As a trade that nobody has seen: neither a version nor another opening is in its way, only the fence. */
async function passesFence(pairs: PairStore, event: Extract<PairEvent, { kind: "pair" }>): Promise<boolean> {
  if (event.pair.status === "Closed") return true;
  return (await pairs.tryOut([{ ...event, pair: { ...event.pair, masterTicket: ticket(1_000_000) } }])).written === 1;
}
