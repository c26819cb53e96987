// Owns the mutants of the lease keeper: which answers count, under which fence, until when, and what a list says.
//
// Not here, since nothing changes without it alone: the clock that is looked at when a renewal is answered, and the extension's own
// compare, are the same question twice in one turn; both are taken away together.
//
// The same faults in the whole of a cell are test/actors/shell/leaseSimulation.test.ts's, which finds them in their consequence.

import { inFile } from "../mutant.ts";

const CLAIMS = "test/actors/shell/claims.test.ts";
const CLOCKS = "test/actors/shell/leaseClocks.test.ts";
const GUARDS = "test/actors/shell/leaseGuards.test.ts";
const HELD = "test/actors/shell/heldAccounts.test.ts";
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
  { name: "a renewal is waited for beyond the deadline", find: "patienceMs(profile, this.#isOpen ? gate.leftMs() : leftMs(sent.deadline, at)); // (2)", replace: "profile.queryTimeoutMs;", test: KEEPER, case: "row 20: a renewal is given up at the deadline at the latest, however long a query may take; what it says later counts for nothing" },
  { name: "a lease that had lapsed counts as live", find: "const wasLive = reply.wasLive && !isAnother; // (6)", replace: "const wasLive = !isAnother;", test: CLAIMS, case: "a fenced node hands nothing back: what it would say of its orders cannot be proven" },
  { name: "a reply after the deadline trips nothing", find: "    this.#notice();\n    if (this.#isOpen && !gate.extend(sent.deadline)) this.#trip(\"the renewal came after the deadline\");\n", replace: "    if (this.#isOpen) gate.extend(sent.deadline);\n", test: KEEPER, case: "a reply that comes after the deadline by the wall clock alone trips, whatever it says; the next renewal lifts" },
  { name: "the list is compared with what is held when it is read", find: "const unknown = this.#compare(sent.held, reply.accounts);", replace: "const unknown = this.#compare(this.#held.all, reply.accounts);", test: RACES, case: "a take's answer that is handled while a renewal is under way is not undone by its older list, nor is the account lost for it" },
  { name: "no round goes on: each renewal begins one", find: "!(wasLive && this.#confirmations.goesOn(sent))", replace: "true", test: PROOF, case: "a round that takes longer than one renewal's window goes on under the next ones, as long as each finds the lease live" },
  { name: "a refused node waits for ever", find: "if (clock.monotonicMs() - this.#refusedSinceMs >= profile.ttlMs) {", replace: "if (clock.monotonicMs() - this.#refusedSinceMs >= Infinity) {", test: KEEPER, case: "after a ttl it is a mistake in the configuration, and nothing is tried any more" },
  { name: "a refused node ends at once", find: "if (clock.monotonicMs() - this.#refusedSinceMs >= profile.ttlMs) {", replace: "if (clock.monotonicMs() - this.#refusedSinceMs >= 0) {", test: KEEPER, case: "a second process under a live name waits fenced and claims nothing; the name is its own when the first has ended" },
  { name: "a refused node keeps what is no longer its own", find: "    this.#confirmations.stop();\n    this.#compare(sent.held, reply.accounts);\n", replace: "    this.#confirmations.stop();\n", test: GUARDS, case: "a node that is refused forgets at once what is no longer its own" },
  { name: "a node that stays fenced never ends", find: "if (clock.monotonicMs() - this.#stuckSinceMs < profile.ttlMs) return;", replace: "if (clock.monotonicMs() - this.#stuckSinceMs < Infinity) return;", test: RACES, case: "a node that stays fenced for a ttl although its renewals are answered ends, and not by a configuration fault" },
  { name: "time in which renewals fail is time in which it is stuck", find: "      this.#answeredSinceMs = null;\n      this.#stuckSinceMs = null;\n", replace: "      this.#answeredSinceMs = null;\n", test: RACES, case: "time in which renewals fail is not time in which it is stuck" },
  { name: "a lost account is not forgotten", find: "      this.#held.forget(held.account);\n", replace: "", test: KEEPER, case: "an account that the database gives to us no more is forgotten at once; one at another epoch is fenced alone and taken there" },
  { name: "a lost account is not told", find: "      onLost(held.account);\n", replace: "", test: KEEPER, case: "an account that the database gives to us no more is forgotten at once; one at another epoch is fenced alone and taken there" },
  { name: "the passed deadline closes nothing by itself", find: "this.#deadlineTimer = clock.after(remainingMs, () => this.#trip(\"the deadline passed\"));", replace: "this.#deadlineTimer = null;", test: KEEPER, case: "row 1: a database that does not answer: tripped at the deadline, though no renewal ever returns; the next one lifts" },
  { name: "the lease's end comes with the deadline", find: "remainingMs + profile.marginMs", replace: "remainingMs", test: KEEPER, case: "row 1: a database that does not answer: tripped at the deadline, though no renewal ever returns; the next one lifts" },
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
  { name: "a lift that lost against a trip goes on", find: "if (!gate.lift(fence, deadline)) return onNotLifted(\"the fence was tripped meanwhile\");", replace: "gate.lift(fence, deadline);", test: PROOF, case: "row 29: a trip while accounts are confirmed makes the lift under way useless" },
  { name: "a round goes on for another fence", find: "if (round?.fence !== fence || leftMs", replace: "if (round === null || leftMs", test: GUARDS, case: "a round on a fence that was tripped since is overtaken by the next renewal" },
  { name: "a take is waited for beyond what it is worth", find: "const [timeoutMs, expected] = [patienceMs(profile, worthForMs), this.#clocks.expected];", replace: "const [timeoutMs, expected] = [profile.queryTimeoutMs + 0 * worthForMs, this.#clocks.expected];", test: GUARDS, case: "a take is waited for no longer than it is worth" },
  { name: "what is fenced alone is told as confirmed", find: "const confirmed = holdings.filter((holding) => holding.confirmed && !this.#claims", replace: "const confirmed = holdings.filter((holding) => !this.#claims", test: PROOF, case: "a list that gives us what another node took while the renewal waited for its row opens nothing for it" },
]);

const claims = inFile("actors/shell/claims.ts", [
  { name: "a claim's answer counts after a fence", find: "if (gate.isStill(fence)) for (const one of owned)", replace: "for (const one of owned)", test: RACES, case: "a claim's answer from before a fence gives nothing: another may have taken the account since" },
  { name: "what a claim is about to tell is taken", find: "return !this.#claiming;", replace: "return true;", test: RACES, case: "an account that a list shows while its claim is still to be answered is acquired by that answer, not taken a second time" },
  { name: "whoever seems to have lapsed is claimed from at once", find: "leaveLapsed: this.#clocks.leaveLapsed", replace: "leaveLapsed: false", test: CLOCKS, case: AHEAD },
  { name: "a release tells nothing of what is unsettled", find: "registry.release(me, held, unsettledMs)", replace: "registry.release(me, held, 0)", test: RACES, case: "a release tells for how long an order of ours may still be executed; made again it tells what is left of it; an end of which nothing is known tells the whole settle time" },
  { name: "an account that is given up stays open until its row is free", find: "    this.#held.giveBack(held, clock.monotonicMs() + unsettledMs);\n    await this.#release(held);", replace: "    await this.#release(held);\n    this.#held.giveBack(held, clock.monotonicMs() + unsettledMs);", test: RACES, case: "calls that are still queued when the account is given back stay out, also when it comes again" },
  { name: "a fenced node claims", find: "|| expected === null || !gate.isStill(fence) || limit <= 0) return; // (1)", replace: "|| expected === null || limit <= 0) return;", test: GUARDS, case: "a fenced node asks for nothing" },
  { name: "two claims are under way at once", find: "if (this.#claiming || this.#closed ||", replace: "if (this.#closed ||", test: GUARDS, case: "one claim is under way at a time" },
  { name: "a claim does not say which database it expects", find: "avoid, settleMs, expected, leaveLapsed", replace: "avoid, settleMs, expected: { ...expected, toleranceMs: Infinity }, leaveLapsed", test: GUARDS, case: "every claim says how far the database's clock may be off" },
  { name: "what was avoided is claimed", find: "[...this.#avoided.keys()].filter((account) => this.#isAvoided(account));", replace: "[];", test: CLAIMS, case: "an account that could not be served is avoided, longer each time" },
  { name: "what a node that drains gets stays its own", find: "    if (this.#closed && this.#held.get(account) === null) return this.release(owned); // (4)\n", replace: "", test: CLAIMS, case: "a drain claims nothing more, says so at once, hands every account back before its row is free, and leaves" },
  { name: "what was given back is taken anew", find: "|| this.#held.isOver(listed)) {", replace: ") {", test: CLAIMS, case: "a release whose answer was lost is made again when a renewal still lists the account, and it is not taken anew" },
  { name: "what is avoided is taken when it is listed", find: "if (this.#closed || this.#isAvoided(listed.account) ||", replace: "if (this.#closed ||", test: RACES, case: "what is listed and cannot be served is released without being taken: avoided here, or after the drain began" },
  { name: "an account that was lost while it drained is released", find: "if (this.#stopped || this.#held.get(account) !== holding) return;", replace: "if (this.#stopped) return;", test: CLAIMS, case: "of a node whose lease is lost while it drains nothing is released that is not its own, and it still ends" },
  { name: "an end of which nothing is known is settled at once", find: "      return settleMs;\n", replace: "      return 0 * settleMs;\n", test: RACES, case: "a release tells for how long an order of ours may still be executed; made again it tells what is left of it; an end of which nothing is known tells the whole settle time" },
  { name: "surplus goes on shares from before the last went", find: "|| sentAtMs < this.#spreadChangedAtMs ||", replace: "||", test: CLAIMS, case: "shares that were asked for before a hand-over had ended hand nothing back: they still count what has gone" },
  { name: "surplus goes several at once", find: "if (this.#closed || this.#surplusUnderWay || this.#isResting", replace: "if (this.#closed || this.#isResting", test: GUARDS, case: "surplus goes one at a time, also when its drain outlasts renewals" },
]);

const held = inFile("actors/shell/heldAccounts.ts", [
  { name: "what is not confirmed keeps its slot", find: "    this.#gate.clearSlot(entry.slot);\n    entry.epoch = epoch;", replace: "    entry.epoch = epoch;", test: PROOF, case: "accounts whose rows are locked stay fenced alone, the others open; they are tried again after each renewal and then go on" },
  { name: "what is forgotten keeps its slot", find: "    this.#gate.clearSlot(entry.slot);\n    this.#freeSlots", replace: "    this.#freeSlots", test: KEEPER, case: "an account that the database gives to us no more is forgotten at once; one at another epoch is fenced alone and taken there" },
  { name: "an ownership that was given back comes again by an old list", find: ">= epoch;", replace: "> epoch;", test: CLAIMS, case: "a release whose answer was lost is made again when a renewal still lists the account, and it is not taken anew" },
  { name: "a slot goes to the next account", find: "this.#freeSlots.push(entry.slot + this.#gate.places); // (1)", replace: "this.#freeSlots.push(entry.slot);", test: KEEPER, case: "a lost account's slot is never another's: what still waits for a call under it stays out, also at the other's epoch" },
  { name: "the place of what is forgotten is used no more", find: "    this.#freeSlots.push(entry.slot + this.#gate.places); // (1)\n", replace: "", test: HELD, case: "accounts come and go without end: a place is used again, a slot never, and nothing passes under one that has ended" },
  { name: "every ownership after one that was given back is over", find: "return (this.#givenBack.get(account)?.epoch ?? 0) >= epoch;", replace: "return this.#givenBack.has(account) || epoch < 0;", test: GUARDS, case: "an ownership that was given back is not taken again, however long its release is lost; a later one is" },
  { name: "an account takes a slot that the gate does not have", find: "return this.#unusedSlot < this.#gate.places ? this.#unusedSlot++ : null;", replace: "return this.#unusedSlot++;", test: CLAIMS, case: "an account for which the gate has no place left goes back and is avoided, and that is said once; a place that is free again is used" },
]);

export const keeperMutants = [...keeper, ...confirmations, ...claims, ...held];
