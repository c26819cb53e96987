// Owns the mutants of the gate and of the two places that ask it in the turn of the call.
//
// Not here, since nothing changes without it: the compare-and-set of `trip` (hosts only close what its one writer could close too,
// invariant 4, so that a trip that overwrites theirs closes all the same).

import { inFile } from "../mutant.ts";

const SHARED_GATE = "test/actors/executor/sharedGate.test.ts";
const ACCOUNT_ALONE = "test/ops/accountAlone.test.ts";
const EXECUTOR = "test/actors/executor/executor.test.ts";
const MAY_LOG_IN = "test/actors/drivers/mayLogIn.test.ts";
const SESSIONS = "test/actors/drivers/sessions.test.ts";

export const gateMutants = [
  ...inFile("actors/executor/sharedGate.ts", [
    { name: "a gate that is closed lets pass", find: "    if (!isLifted(state)) return \"closed\";\n", replace: "", test: SHARED_GATE, case: "starts closed: a node starts fenced" },
    { name: "no clock is compared", find: "    if (!this.#inTime()) {\n      Atomics.compareExchange(this.#cells, STATE, state, state + 1n); // (2)\n      return \"clock\";\n    }\n", replace: "", test: SHARED_GATE, case: "refuses at the deadline of the monotonic clock" },
    { name: "the monotonic clock is not compared", find: "return this.#time.monotonicMs() < monotonicMs && this.#time.wallMs() < Number(Atomics.load(this.#cells, WALL_MS));", replace: "return monotonicMs > 0 && this.#time.wallMs() < Number(Atomics.load(this.#cells, WALL_MS));", test: SHARED_GATE, case: "refuses at the deadline of the monotonic clock" },
    { name: "the wall clock is not compared", find: "return this.#time.monotonicMs() < monotonicMs && this.#time.wallMs() < Number(Atomics.load(this.#cells, WALL_MS));", replace: "return this.#time.monotonicMs() < monotonicMs;", test: SHARED_GATE, case: "refuses at the deadline of the wall clock, although the monotonic one stood still in a suspend" },
    { name: "the deadline itself is in time by the monotonic clock", find: "return this.#time.monotonicMs() < monotonicMs && this.#time.wallMs() < Number(Atomics.load(this.#cells, WALL_MS));", replace: "return this.#time.monotonicMs() <= monotonicMs && this.#time.wallMs() < Number(Atomics.load(this.#cells, WALL_MS));", test: SHARED_GATE, case: "refuses at the deadline of the monotonic clock" },
    { name: "the deadline itself is in time by the wall clock", find: "return this.#time.monotonicMs() < monotonicMs && this.#time.wallMs() < Number(Atomics.load(this.#cells, WALL_MS));", replace: "return this.#time.monotonicMs() < monotonicMs && this.#time.wallMs() <= Number(Atomics.load(this.#cells, WALL_MS));", test: SHARED_GATE, case: "refuses at the deadline of the wall clock, although the monotonic one stood still in a suspend" },
    { name: "a refusal by a clock trips nothing", find: "      Atomics.compareExchange(this.#cells, STATE, state, state + 1n); // (2)\n", replace: "", test: SHARED_GATE, case: "a refusal by comparison trips it: clocks that go back do not open it, a lift does" },
    { name: "a refusal by a clock trips whatever the fence is at by then", find: "Atomics.compareExchange(this.#cells, STATE, state, state + 1n); // (2)", replace: "this.trip();", test: SHARED_GATE, case: "a refusal that was judged before a new lift does not close that lift" },
    { name: "any epoch passes", find: "return permit.epoch > 0 && this.#epoch(permit.slot) === BigInt(permit.epoch) ? \"open\" : \"epoch\"; // (5)", replace: "return permit.epoch > 0 && this.#epoch(permit.slot) > 0n ? \"open\" : \"epoch\";", test: SHARED_GATE, case: "refuses another epoch, an older one and a newer one" },
    { name: "an older epoch passes", find: "return permit.epoch > 0 && this.#epoch(permit.slot) === BigInt(permit.epoch) ? \"open\" : \"epoch\"; // (5)", replace: "return permit.epoch > 0 && this.#epoch(permit.slot) >= BigInt(permit.epoch) ? \"open\" : \"epoch\"; // (5)", test: SHARED_GATE, case: "refuses another epoch, an older one and a newer one" },
    { name: "a newer epoch passes", find: "return permit.epoch > 0 && this.#epoch(permit.slot) === BigInt(permit.epoch) ? \"open\" : \"epoch\"; // (5)", replace: "return permit.epoch > 0 && this.#epoch(permit.slot) <= BigInt(permit.epoch) ? \"open\" : \"epoch\"; // (5)", test: SHARED_GATE, case: "refuses another epoch, an older one and a newer one" },
    { name: "epoch 0 passes an empty slot", find: "return permit.epoch > 0 && this.#epoch(permit.slot) === BigInt(permit.epoch) ? \"open\" : \"epoch\"; // (5)", replace: "return this.#epoch(permit.slot) === BigInt(permit.epoch) ? \"open\" : \"epoch\"; // (5)", test: SHARED_GATE, case: "is zeroed at forget and release, and epoch 0 never passes" },
    { name: "a lift opens what was tripped since it was prepared", find: "if (isLifted(seen) || this.state() !== seen) return false;", replace: "seen = this.state();\n    if (isLifted(seen)) return false;", test: SHARED_GATE, case: "a lift that was prepared before a trip does nothing, also when the gate was closed all the time" },
    { name: "a lift closes a fence that is open", find: "if (isLifted(seen) || this.state() !== seen) return false;", replace: "if (this.state() !== seen) return false;", test: SHARED_GATE, case: "a lift on a fence that is open is none, and gives no more time" },
    { name: "a lift is no compare-and-set", find: "return Atomics.compareExchange(this.#cells, STATE, seen, seen + 1n) === seen; // (3)", replace: "Atomics.store(this.#cells, STATE, seen + 1n);\n    return true;", test: SHARED_GATE, case: "a trip while a lift writes its deadline: the lift opens nothing, and says so" },
    { name: "a lift that lost tells that it opened", find: "return Atomics.compareExchange(this.#cells, STATE, seen, seen + 1n) === seen; // (3)", replace: "Atomics.compareExchange(this.#cells, STATE, seen, seen + 1n);\n    return true;", test: SHARED_GATE, case: "a trip while a lift writes its deadline: the lift opens nothing, and says so" },
    { name: "an extension tells a tripped gate that it holds", find: "    if (!isLifted(state)) return false;\n    if (!this.#inTime()) {\n      this.trip();", replace: "    if (!this.#inTime()) {\n      this.trip();", test: SHARED_GATE, case: "an extension of a tripped gate opens nothing" },
    { name: "an extension goes over a deadline that has passed", find: "    if (!this.#inTime()) {\n      this.trip();\n      return false;\n    }\n", replace: "", test: SHARED_GATE, case: "an extension holds only while the old deadline does; a late one trips" },
    { name: "a late extension trips nothing", find: "      this.trip();\n      return false;\n", replace: "      return false;\n", test: SHARED_GATE, case: "an extension holds only while the old deadline does; a late one trips" },
    { name: "an extension that a trip overtook tells that it holds", find: "return this.state() === state;\n", replace: "return true;\n", test: SHARED_GATE, case: "a trip while an extension writes its deadline: it does not hold, and says so" },
    { name: "tripping a tripped gate leaves a lift under way good", find: "state + (isLifted(state) ? 1n : 2n)", replace: "state + (isLifted(state) ? 1n : 0n)", test: SHARED_GATE, case: "a lift that was prepared before a trip does nothing, also when the gate was closed all the time" },
    { name: "a slot is not cleared", find: "Atomics.store(this.#cells, this.#cellOf(slot), 0n);", replace: "this.#cellOf(slot);", test: SHARED_GATE, case: "is zeroed at forget and release, and epoch 0 never passes" },
    { name: "a deadline is rounded up on the monotonic clock", find: "BigInt(Math.floor(deadline.monotonicMs * NS_PER_MS))", replace: "BigInt(Math.ceil(deadline.monotonicMs * NS_PER_MS))", test: SHARED_GATE, case: "a deadline between two readings of a clock comes early, never late" },
    { name: "a deadline is rounded up on the wall clock", find: "BigInt(Math.floor(deadline.wallMs))", replace: "BigInt(Math.ceil(deadline.wallMs))", test: SHARED_GATE, case: "a deadline between two readings of a clock comes early, never late" },
    { name: "what is left is told by the monotonic clock alone", find: "return Math.max(0, Math.min(monotonicMs, wallMs));", replace: "return Math.max(0, monotonicMs + 0 * wallMs);", test: SHARED_GATE, case: "what is left is what the clock that comes first leaves; nothing is while it is closed" },
    { name: "what is left is told by the wall clock alone", find: "return Math.max(0, Math.min(monotonicMs, wallMs));", replace: "return Math.max(0, wallMs + 0 * monotonicMs);", test: SHARED_GATE, case: "what is left is what the clock that comes first leaves; nothing is while it is closed" },
    { name: "something is left while the gate is closed", find: "    if (!this.lifted) return 0;\n", replace: "", test: SHARED_GATE, case: "what is left is what the clock that comes first leaves; nothing is while it is closed" },
    { name: "a gate that was tripped and lifted again is as it was seen", find: "return isLifted(seen) && this.state() === seen && this.#inTime();", replace: "return isLifted(seen) && this.lifted && this.#inTime();", test: SHARED_GATE, case: "it is still as it was seen only while it is open, in time, and was open without a break" },
    { name: "a gate that is out of time is as it was seen", find: "return isLifted(seen) && this.state() === seen && this.#inTime();", replace: "return isLifted(seen) && this.state() === seen;", test: SHARED_GATE, case: "it is still as it was seen only while it is open, in time, and was open without a break" },
    { name: "a gate that was seen closed is open", find: "return isLifted(seen) && this.state() === seen && this.#inTime();", replace: "return this.state() === seen && this.#inTime();", test: SHARED_GATE, case: "it is still as it was seen only while it is open, in time, and was open without a break" },
  ]),
  ...inFile("actors/executor/host.ts", [
    { name: "the host sends what the gate refuses by its epoch", find: "  if (verdict !== \"open\") return { kind: \"refused\", verdict };\n", replace: "  if (verdict === \"clock\" || verdict === \"closed\") return { kind: \"refused\", verdict };\n", test: EXECUTOR, case: "is asked in the host: a slot that was zeroed in shared memory stops the call, and nothing is written" },
    { name: "the host sends what the gate refuses by its clocks", find: "  if (verdict !== \"open\") return { kind: \"refused\", verdict };\n", replace: "  if (verdict === \"epoch\" || verdict === \"closed\") return { kind: \"refused\", verdict };\n", test: EXECUTOR, case: "is asked in the host: a deadline that passed in shared memory stops the call, and nothing is written" },
    { name: "the host sends although the gate is closed", find: "  if (verdict !== \"open\") return { kind: \"refused\", verdict };\n", replace: "  if (verdict === \"epoch\" || verdict === \"clock\") return { kind: \"refused\", verdict };\n", test: EXECUTOR, case: "is asked in the host: a trip in shared memory stops the call, and nothing is written" },
  ]),
  ...inFile("actors/drivers/wireSession.ts", [
    { name: "a session logs in without asking again when its connection stands", find: "      if (!this.#mayLogIn()) {\n", replace: "      if (made.inFlight < 0) {\n", test: MAY_LOG_IN, case: "closes a connection without a login when it may log in no more by the time it stands, and tries again when it may" },
  ]),
  ...inFile("ops/node.ts", [
    { name: "a session logs in while its node's gate is open, whatever its account's own is", find: "mayLogIn: () => gate.check(ownership.permit) === \"open\"", replace: "mayLogIn: () => gate.leftMs() > 0", test: ACCOUNT_ALONE, case: "an account that is fenced alone is not logged in while its node's gate is open; once it is confirmed it is" },
  ]),
  ...inFile("actors/drivers/mt5Session.ts", [
    { name: "an asynchronous session does not ask the gate in the turn of the send", find: "() => this.#gate.check(permit))", replace: "() => \"open\")", test: SESSIONS, case: "asks the gate in the turn of the call: a trip, a passed deadline, a lost account stop it" },
  ]),
];
