// Owns the mutants of the lease's arithmetic: deadlines, the database's clock, lists of what is ours.

import { inFile } from "../mutant.ts";

const ARITHMETIC = "test/actors/core/leaseArithmetic.test.ts";
const CLOCKS = "test/actors/shell/leaseClocks.test.ts";

export const arithmeticMutants = [
  ...inFile("actors/core/leaseDeadline.ts", [
    { name: "a deadline has no wall clock", find: "Math.min(deadline.monotonicMs - now.monotonicMs, deadline.wallMs - now.wallMs)", replace: "deadline.monotonicMs - now.monotonicMs", test: ARITHMETIC, case: "leaves what the clock that comes first leaves, and never less than nothing" },
    { name: "an answer is waited for beyond its worth", find: "Math.min(queryTimeoutMs, worthForMs)", replace: "queryTimeoutMs + 0 * worthForMs", test: ARITHMETIC, case: "row 20: an answer is waited for no longer than it is worth, and not at all at the end" },
    { name: "a deadline leaves no margin", find: "const reachMs = ttlMs - marginMs;", replace: "const reachMs = ttlMs + 0 * marginMs;", test: ARITHMETIC, case: "counts from the moment of sending, on both clocks" },
    { name: "a deadline is on the monotonic clock alone", find: "wallMs: wallMs + reachMs };", replace: "wallMs: wallMs + Infinity };", test: ARITHMETIC, case: "counts from the moment of sending, on both clocks" },
    { name: "what is left is what the wall clock leaves", find: "Math.max(0, Math.min(deadline.monotonicMs - now.monotonicMs, deadline.wallMs - now.wallMs));", replace: "Math.max(0, deadline.wallMs - now.wallMs);", test: ARITHMETIC, case: "leaves what the clock that comes first leaves, and never less than nothing" },
    { name: "a jump of the whole margin is tolerated", find: "=> marginMs / 4;", replace: "=> marginMs * 4;", test: ARITHMETIC, case: "two moments tell how far the clocks went apart, either way" },
  ]),
  ...inFile("actors/core/databaseClock.ts", [
    { name: "all timelines are one", find: "before.timeline !== now.timeline", replace: "before.timeline === -now.timeline", test: ARITHMETIC, case: "another timeline is another clock, whatever it shows; a server that tells none proves nothing by that" },
    { name: "a jump back is none", find: "return isOtherTimeline || Math.abs(jumpMs(before, now)) > toleranceMs;", replace: "return isOtherTimeline || jumpMs(before, now) > toleranceMs;", test: ARITHMETIC, case: "a jump is what is left between the intervals: more than the tolerance is another clock, either way" },
    { name: "a jump ahead is none", find: "return isOtherTimeline || Math.abs(jumpMs(before, now)) > toleranceMs;", replace: "return isOtherTimeline || -jumpMs(before, now) > toleranceMs;", test: ARITHMETIC, case: "a jump is what is left between the intervals: more than the tolerance is another clock, either way" },
    { name: "a server that tells no timeline is on another", find: "before.timeline !== null && now.timeline !== null && before.timeline", replace: "before.timeline", test: ARITHMETIC, case: "another timeline is another clock, whatever it shows; a server that tells none proves nothing by that" },
    { name: "a reply's clock is that of its reading", find: "toMs: nowMs - sentAtMs, readAtMs, timeline };", replace: "toMs: nowMs - readAtMs + 0 * sentAtMs, readAtMs, timeline };", test: ARITHMETIC, case: "a reply gives the interval between its sending and its reading" },
    { name: "clocks do not drift", find: "const DRIFT = 1e-3;", replace: "const DRIFT = 0;", test: ARITHMETIC, case: "what was known long ago is known less well: a drift in which nothing was heard is no jump" },
  ]),
  ...inFile("actors/core/ownedList.ts", [
    { name: "what changed since the renewal was sent is compared", find: "now.get(account) === epoch); // (1)", replace: "now.has(account) && epoch >= 0);", test: ARITHMETIC, case: "nor is it lost for being missing" },
    { name: "what came since a renewal was sent is lost by its list", find: "const unchanged = heldThen.filter(({ account, epoch }) => now.get(account) === epoch); // (1)", replace: "const unchanged = heldThen.length >= 0 ? heldNow : heldThen;", test: ARITHMETIC, case: "what was claimed while the renewal was under way is not lost" },
    { name: "what is missing is not lost", find: "!mine.has(account)),\n", replace: "!mine.has(account) && false),\n", test: ARITHMETIC, case: "what is missing is lost" },
    { name: "what is at another epoch is lost", find: "!mine.has(account)),\n", replace: "mine.get(account) !== now.get(account)),\n", test: ARITHMETIC, case: "what is at another epoch is ours there, and not lost" },
    { name: "what is at another epoch is as it was", find: "return at === epoch ? [] :", replace: "return at >= 0 ? [] :", test: ARITHMETIC, case: "what is at another epoch is ours there, and not lost" },
  ]),
  ...inFile("actors/shell/leaseClocks.ts", [
    { name: "any database is the expected one", find: "toleranceMs: jumpToleranceMs(profile) };", replace: "toleranceMs: 1e12 };", test: CLOCKS, case: "every claim and every take says which database it expects, within a quarter of the margin" },
    { name: "a node that has just started leaves nobody alone", find: "    if (before === null) return false;\n", replace: "    if (before === null) return ((this.#leaveLapsedUntilMs = -Infinity), false);\n", test: CLOCKS, case: "a node that has just started leaves whoever seems to have lapsed alone for one ttl: it cannot know what the clock was before" },
    { name: "a jump of the database's clock is no news", find: "if (before !== null && !isAnother(before, now, jumpToleranceMs(profile))) {", replace: "if (before !== null) {", test: CLOCKS, case: "a database whose clock is 30 s ahead after a fail-over counts as a lapse: fenced, confirmed, and whoever seems to have lapsed is left alone for one ttl" },
    { name: "nobody is left alone after a jump", find: "this.#leaveLapsedUntilMs = clock.monotonicMs() + profile.ttlMs;", replace: "this.#leaveLapsedUntilMs = clock.monotonicMs() + 0 * profile.ttlMs;", test: CLOCKS, case: "a database whose clock is 30 s ahead after a fail-over counts as a lapse: fenced, confirmed, and whoever seems to have lapsed is left alone for one ttl" },
    { name: "a wall clock that jumps alarms nobody", find: "if (Math.abs(byMs) <= jumpToleranceMs(profile)) return;", replace: "if (Math.abs(byMs) <= Infinity) return;", test: CLOCKS, case: "row 12: a wall clock stepped past the deadline fences, with a lift and a raised epoch after it; stepped back it changes nothing; both are alarmed about" },
  ]),
];
