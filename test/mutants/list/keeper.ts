// Owns the mutants of the lease keeper: which answers count, under which fence, until when, and what a list says.
//
// The same faults in the whole of a cell are test/actors/shell/leaseSimulation.test.ts's, which finds them in their consequence.

import { inFile, type Mutant } from "../mutant.ts";

const ARITHMETIC = "test/actors/core/leaseArithmetic.test.ts";
const CLAIMS = "test/actors/shell/claims.test.ts";
const CLOCKS = "test/actors/shell/leaseClocks.test.ts";
const KEEPER = "test/actors/shell/leaseKeeper.test.ts";
const PROOF = "test/actors/shell/leaseProof.test.ts";
const RACES = "test/actors/shell/leaseRaces.test.ts";
const SIMULATION = "test/actors/shell/leaseSimulation.test.ts";

const ANOTHER_HAS_IT = "a list that gives us what another node took while the renewal waited for its row opens nothing for it";
const AHEAD = "a database whose clock is 30 s ahead after a fail-over counts as a lapse: fenced, confirmed, and whoever seems to have lapsed is left alone for one ttl";

const keeper = inFile("actors/shell/leaseKeeper.ts", [
  { name: "a lease that had lapsed keeps an open gate", find: "    if (this.#isOpen && !wasLive) this.#trip(isAnother ? \"the database is another one\" : \"the lease had lapsed\");\n", replace: "", test: CLAIMS, case: "a fenced node hands nothing back: what it would say of its orders cannot be proven" },
  { name: "another database is no lapse", find: "const wasLive = reply.wasLive && !isAnother; // (6)", replace: "const wasLive = reply.wasLive;", test: CLOCKS, case: AHEAD },
  { name: "a round goes on after a lapse", find: "if (!this.#stopped && !(wasLive && this.#confirmations.goesOn(sent)))", replace: "if (!this.#stopped && !this.#confirmations.goesOn(sent))", test: PROOF, case: "nor does it when that is answered late, while the new round asks for what another has taken since" },
  { name: "an open gate is kept open from the reply on", find: "gate.extend(sent.deadline)", replace: "gate.extend(deadlineOf(this.#clocks.now, profile))", test: KEEPER, case: "row 17: so it does when an open gate is kept open" },
  { name: "a lift counts from the reply", find: "void this.#confirmations.lift(sent, unknown);", replace: "void this.#confirmations.lift({ ...sent, deadline: deadlineOf(this.#clocks.now, profile) }, unknown);", test: KEEPER, case: "row 17: the deadline counts from before the renewal was sent: a late reply gives no more" },
  { name: "a renewal that saw another fence begins a round", find: "} else if (gate.state() !== sent.fence) {", replace: "} else if (gate.state() === -1n) {", test: PROOF, case: "row 7: a lease that had lapsed at the database trips, and the next renewal, at once, confirms" },
  { name: "a name that is another's keeps an open gate", find: "    if (this.#isOpen) this.#trip(\"the node's name belongs to another process\");\n", replace: "", test: KEEPER, case: "a name that was lost to another process closes the gate at once; time of one refusal does not count for the next" },
  { name: "a round goes on under a refused name", find: "    this.#confirmations.stop();\n    this.#compare", replace: "    this.#compare", test: PROOF, case: "a round under which the name is refused opens nothing: the lease was ended for us, or is another process's" },
  { name: "an account at another epoch stays open", find: "    for (const held of moved) this.#held.unconfirm(held);\n", replace: "", test: KEEPER, case: "an account that the database gives to us no more is forgotten at once; one at another epoch is fenced alone and taken there" },
  { name: "a node that is stuck stays", find: "      this.#endIfStuck();\n", replace: "", test: RACES, case: "a node that stays fenced for a ttl although its renewals are answered ends, and not by a configuration fault" },
]);

const confirmations = inFile("actors/shell/confirmations.ts", [
  { name: "a lift takes nothing: the list is believed", find: "const taken = await this.#take(this.#asHeld(batch), leftMs(round.deadline, this.#clocks.now));", replace: "const taken = this.#asHeld(batch).map((held) => ({ ...held, settleLeftMs: 0 }));", test: PROOF, case: ANOTHER_HAS_IT },
  { name: "a lift takes nothing: the list is believed, in a whole cell", find: "const taken = await this.#take(this.#asHeld(batch), leftMs(round.deadline, this.#clocks.now));", replace: "const taken = this.#asHeld(batch).map((held) => ({ ...held, settleLeftMs: 0 }));", test: SIMULATION, case: "row 23: claims that judged a lease before it was renewed, and commit afterwards, never meet an open gate" },
  { name: "what was confirmed before the fence still is", find: "    this.#held.unconfirmAll();\n", replace: "", test: PROOF, case: ANOTHER_HAS_IT },
  { name: "a round that was superseded counts", find: "      if (this.#round !== round) return; // (2)\n", replace: "", test: PROOF, case: "nor does it when that is answered late, while the new round asks for what another has taken since" },
  { name: "a round that nobody answered opens", find: "    if (!isAnswered) return this.#options.onNotLifted(\"no account could be confirmed\"); // (3)\n", replace: "", test: PROOF, case: "a round in which the database answered no take at all opens nothing, also not a gate without accounts" },
  { name: "a lift after its window", find: "    if (remainingMs === 0) return onNotLifted(\"its window closed while accounts were confirmed\");\n", replace: "", test: PROOF, case: "row 29: takes that come after the window of their renewal open nothing" },
  { name: "a window that has passed is lent another", find: " || leftMs(round.deadline, this.#clocks.now) === 0", replace: "", test: PROOF, case: "a round whose window has passed is lent nothing, though the lease is said to be live: it may have lapsed and been revived since" },
  { name: "an answer counts after a fence", find: "      if (!gate.isStill(fence)) break; // (4)\n", replace: "", test: PROOF, case: "an account that is fenced alone is not opened by an answer to a question from before a fence" },
  { name: "what was given back while it was taken is kept", find: "    else this.#claims.release({ account, epoch });\n", replace: "", test: RACES, case: "an account that is given back while its take is under way goes back at the epoch that the take raised" },
]);

const claims = inFile("actors/shell/claims.ts", [
  { name: "a claim's answer counts after a fence", find: "if (gate.isStill(fence)) for (const one of owned)", replace: "for (const one of owned)", test: RACES, case: "a claim's answer from before a fence gives nothing: another may have taken the account since" },
  { name: "what a claim is about to tell is taken", find: "return !this.#claiming;", replace: "return true;", test: RACES, case: "an account that a list shows while its claim is still to be answered is acquired by that answer, not taken a second time" },
  { name: "whoever seems to have lapsed is claimed from at once", find: "leaveLapsed: this.#clocks.leaveLapsed", replace: "leaveLapsed: false", test: CLOCKS, case: AHEAD },
  { name: "a release tells nothing of what is unsettled", find: "registry.release(me, held, unsettledMs)", replace: "registry.release(me, held, 0)", test: RACES, case: "a release tells for how long an order of ours may still be executed; made again it tells what is left of it; an end of which nothing is known tells the whole settle time" },
  { name: "an account that is given up stays open until its row is free", find: "    this.#held.giveBack(held, clock.monotonicMs() + unsettledMs);\n    await this.#release(held);", replace: "    await this.#release(held);\n    this.#held.giveBack(held, clock.monotonicMs() + unsettledMs);", test: RACES, case: "calls that are still queued when the account is given back stay out, also when it comes again" },
]);

const held = inFile("actors/shell/heldAccounts.ts", [
  { name: "what is not confirmed keeps its slot", find: "    this.#gate.clearSlot(entry.slot);\n    entry.epoch = epoch;", replace: "    entry.epoch = epoch;", test: PROOF, case: "accounts whose rows are locked stay fenced alone, the others open; they are tried again after each renewal and then go on" },
  { name: "what is forgotten keeps its slot", find: "    this.#gate.clearSlot(entry.slot);\n    this.#held.delete(account);", replace: "    this.#held.delete(account);", test: KEEPER, case: "an account that the database gives to us no more is forgotten at once; one at another epoch is fenced alone and taken there" },
  { name: "an ownership that was given back comes again by an old list", find: ">= epoch;", replace: "> epoch;", test: CLAIMS, case: "a release whose answer was lost is made again when a renewal still lists the account, and it is not taken anew" },
]);

const core: readonly Mutant[] = [
  ...inFile("actors/core/ownedList.ts", [{ name: "what changed since the renewal was sent is compared", find: "now.get(account) === epoch); // (1)", replace: "now.has(account) && epoch >= 0);", test: ARITHMETIC, case: "nor is it lost for being missing" }]),
  ...inFile("actors/core/leaseDeadline.ts", [
    { name: "a deadline has no wall clock", find: "Math.min(deadline.monotonicMs - now.monotonicMs, deadline.wallMs - now.wallMs)", replace: "deadline.monotonicMs - now.monotonicMs", test: ARITHMETIC, case: "leaves what the clock that comes first leaves, and never less than nothing" },
    { name: "an answer is waited for beyond its worth", find: "Math.min(queryTimeoutMs, worthForMs)", replace: "queryTimeoutMs + 0 * worthForMs", test: ARITHMETIC, case: "row 20: an answer is waited for no longer than it is worth, and not at all at the end" },
  ]),
  ...inFile("actors/core/databaseClock.ts", [{ name: "all timelines are one", find: "before.timeline !== now.timeline", replace: "before.timeline === -now.timeline", test: ARITHMETIC, case: "another timeline is another clock, whatever it shows; a server that tells none proves nothing by that" }]),
  ...inFile("actors/shell/leaseClocks.ts", [
    { name: "any database is the expected one", find: "toleranceMs: jumpToleranceMs(profile) };", replace: "toleranceMs: 1e12 };", test: CLOCKS, case: "every claim and every take says which database it expects, within a quarter of the margin" },
    { name: "a node that has just started leaves nobody alone", find: "    if (before === null) return false;\n", replace: "    if (before === null) return ((this.#leaveLapsedUntilMs = -Infinity), false);\n", test: CLOCKS, case: "a node that has just started leaves whoever seems to have lapsed alone for one ttl: it cannot know what the clock was before" },
  ]),
];

export const keeperMutants = [...keeper, ...confirmations, ...claims, ...held, ...core];
