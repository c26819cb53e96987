// Owns the drills of the judge's tests as they go when all is right, each with a place where a test may break something.

import { FAST } from "../../../../actors/core/leaseProfile.ts";
import { DRILLS } from "../../../../ops/drill/drills.ts";
import type { DrillRecord, Expectations } from "../../../../ops/drill/record.ts";
import { F1, F2, M1, N1, N2 } from "./drillCast.ts";
import { DrillStage } from "./drillStage.ts";

export const KILLED: Partial<Expectations> = { accounts: "move", silentFrom: "fault", gap: true, lostOldestMs: 50 };
export const FROZEN: Partial<Expectations> = { accounts: "move", silentFrom: "heal", gap: true };
export const CUT: Partial<Expectations> = { accounts: "move", copiesUntilDeadline: true, gap: true };
/** As the drills themselves say. */
const DOWN = DRILLS["db-down"].rounds[0]!.expects;
const STOPPED = DRILLS["clean-stop"].rounds[0]!.expects;
const SESSION_CUT = DRILLS["session-cut"].rounds[0]!.expects;
const LOG_GONE = DRILLS["kafka-restart"].rounds[0]!.expects;

/** A stopped node's, with the claim poll. */
export const QUICK_MS = 4_000;

type Break = (stage: DrillStage) => void;
const NOTHING: Break = () => undefined;

interface Breaks {
  readonly before?: Break;
  /** In the gap. */
  readonly within?: Break;
  /** In place of the takeover. */
  readonly takeover?: Break;
  /** Some seconds later. */
  readonly after?: Break;
  readonly more?: Partial<DrillRecord>;
  readonly expects?: Partial<Expectations>;
}

const TAKES: Break = (stage) => stage.acquire(F1, N2, 2);

/** What is not broken is played once. */
function once<B>(play: (breaks?: B) => DrillRecord): (breaks?: B) => DrillRecord {
  let plain: DrillRecord | null = null;
  return (breaks) => (breaks === undefined ? (plain ??= play()) : play(breaks));
}

function ended(stage: DrillStage, after: Break): void {
  stage.trade(4_000);
  after(stage);
  stage.trade(4_000);
  stage.rest();
}

/** n1 is killed while the master trades; its lease is ended, and n2 claims f1. */
function playKilled({ before = NOTHING, within = NOTHING, takeover = TAKES, after = NOTHING, more = {}, expects = {} }: Breaks = {}): DrillRecord {
  const stage = new DrillStage();
  stage.trade(5_000);
  before(stage);
  stage.fault(N1);
  stage.node(N1).acting = false;
  stage.pass(40);
  stage.end(N1);
  within(stage);
  stage.trade(400);
  takeover(stage);
  ended(stage, after);
  return stage.record("process-kill", { ...KILLED, ...expects }, more);
}

/** n1 stands still until its lease is over, n2 claims f1, and n1 goes on. */
function playFrozen({ before = NOTHING, after = NOTHING, more = {}, expects = {} }: Breaks = {}): DrillRecord {
  const stage = new DrillStage();
  const node = stage.node(N1);
  stage.trade(5_000);
  before(stage);
  stage.fault(N1);
  node.acting = node.renewing = false;
  stage.trade(FAST.ttlMs + 100);
  TAKES(stage);
  stage.trade(3_000);
  stage.healAtMs = stage.nowMs;
  node.renewing = node.acting = true;
  ended(stage, after);
  return stage.record("freeze", { ...FROZEN, ...expects }, more);
}

/** n1 is cut off from the database, copies until its deadline, and n2 claims f1. */
function playCut({ before = NOTHING, within = NOTHING, after = NOTHING, more = {}, expects = {}, copiesForMs = null }: Breaks & { readonly copiesForMs?: number | null } = {}): DrillRecord {
  const stage = new DrillStage();
  const node = stage.node(N1);
  stage.trade(5_000);
  before(stage);
  stage.fault(N1);
  node.renewing = false;
  const leftMs = stage.leaseLeftMs(N1);
  within(stage);
  stage.trade(copiesForMs ?? leftMs - FAST.marginMs);
  node.acting = false;
  stage.trade(leftMs - (stage.nowMs - stage.faultAtMs) + 300);
  TAKES(stage);
  stage.trade(3_000);
  stage.healAtMs = stage.nowMs;
  node.renewing = node.acting = true;
  ended(stage, after);
  return stage.record("cut-db", { ...CUT, ...expects }, more);
}

/** Nobody reaches the database for longer than a lease; everybody confirms what is his. */
function playDown({ takeover = (stage) => CONFIRM.forEach(([account, owner]) => stage.acquire(account, owner, 2, { keepsSession: true })), after = NOTHING, more = {} }: Breaks = {}): DrillRecord {
  const stage = new DrillStage();
  const nodes = [stage.node(N1), stage.node(N2)];
  stage.trade(5_000);
  stage.fault(N1, N2);
  for (const node of nodes) node.renewing = false;
  stage.trade(Math.min(...nodes.map((node) => stage.leaseLeftMs(node))) - FAST.marginMs);
  for (const node of nodes) node.acting = false;
  stage.trade(FAST.marginMs + 5_000);
  stage.healAtMs = stage.nowMs;
  for (const node of nodes) Object.assign(node, { renewing: true, acting: true });
  stage.halt();
  stage.pass(500);
  takeover(stage);
  ended(stage, after);
  return stage.record("db-down", DOWN, { struck: [N1, N2], ...more });
}

/** n1 is told to end: it finishes what it has begun, gives f1 back, ends its lease, and n2 claims f1. */
function playStopped({ finishesForMs = 200, gives = (stage) => stage.release(F1), given = NOTHING, within = NOTHING, takeover = TAKES, after = NOTHING, more = {} }: Breaks & { readonly finishesForMs?: number; readonly gives?: Break; readonly given?: Break } = {}): DrillRecord {
  const stage = new DrillStage();
  stage.trade(5_000);
  stage.fault(N1);
  stage.trade(finishesForMs);
  gives(stage);
  stage.node(N1).acting = false;
  given(stage);
  stage.pass(40);
  stage.end(N1);
  within(stage);
  stage.trade(400);
  takeover(stage);
  ended(stage, after);
  return stage.record("clean-stop", { ...STOPPED, longestGapMs: QUICK_MS }, more);
}

/** The brokers restart, and owners log in again so long after they are back. */
function playSessionCut({ before = NOTHING, pauseMs = 400, more = {} }: Breaks & { readonly pauseMs?: number } = {}): DrillRecord {
  const stage = new DrillStage();
  stage.trade(5_000);
  before(stage);
  stage.fault();
  stage.cutSessions();
  stage.pass(3_000);
  stage.healAtMs = stage.nowMs;
  stage.trade(pauseMs);
  for (const account of [M1, F1, F2]) stage.reconnect(account);
  ended(stage, NOTHING);
  return stage.record("session-cut", SESSION_CUT, { struck: [], ...more });
}

/** The log restarts, and its clients are there again so long after it is back. */
function playLogGone({ returnMs = 2_000, more = {} }: Breaks & { readonly returnMs?: number } = {}): DrillRecord {
  const stage = new DrillStage();
  stage.trade(5_000);
  stage.fault();
  stage.halt();
  stage.trade(3_000);
  stage.healAtMs = stage.nowMs;
  stage.trade(returnMs);
  for (const account of [M1, F1, F2]) stage.resume(account);
  ended(stage, NOTHING);
  return stage.record("kafka-restart", LOG_GONE, { struck: [], ...more });
}

const CONFIRM = [
  [M1, N2],
  [F1, N1],
  [F2, N2],
] as const;

export const killed = once(playKilled);
export const frozen = once(playFrozen);
export const cut = once(playCut);
export const down = once(playDown);
export const stopped = once(playStopped);
export const sessionCut = once(playSessionCut);
export const logGone = once(playLogGone);
