// Owns the mutants of what a follower's actor asks before it sends, and of the settle time and the barrier in its plans.

import { inFile } from "../mutant.ts";

const BIND = "test/actors/core/bind.test.ts";
const GONE = "test/actors/shell/goneBeforeSettle.test.ts";
const LATE_ORDERS = "test/actors/shell/lateOrders.test.ts";
const LIFTS = "test/actors/shell/lifts.test.ts";
const LOOSE_ORDERS = "test/actors/shell/looseOrders.test.ts";
const LOST_TAGS = "test/actors/shell/lostTags.test.ts";
const OWNERSHIP = "test/actors/shell/ownership.test.ts";
const PLAN = "test/actors/core/plan.test.ts";

export const followerMutants = [
  ...inFile("actors/shell/orderDesk.ts", [
    { name: "the order desk does not ask the gate", find: "    if (verdict !== \"open\") return this.#onDropped(state, copy, order, `gate: ${verdict}`);\n", replace: "    void verdict;\n", test: LIFTS, case: "the wall clock steps and a close is dropped at the gate: after the lift it is closed, at the new epoch, on the session that is there" },
    { name: "orders that belong to no row do not ask the gate", find: "    if (verdict !== \"open\") return this.#dropped({ order: order.kind, loose: true, ticket: order.ticket, why: `gate: ${verdict}` });\n", replace: "    void verdict;\n", test: LOOSE_ORDERS, case: "what belongs to no trade is not ended by a node that cannot prove its lease: it is dropped before it is handed over, and ended after the lift" },
  ]),
  ...inFile("actors/shell/decisions.ts", [
    { name: "a trade that is gone is a skip although a former owner's order for it may still be executed", find: " && this.#options.mayStand(state, copy.lastTarget)) return; // 4", replace: " && this.#options.keepsEnded === null) return;", test: GONE, case: "a former owner's open that is executed after the master's close is found by its tag, and closed" },
  ]),
  ...inFile("actors/shell/followerActor.ts", [
    { name: "a trade that is gone is a skip before a look from after the settle time", find: "const isUnsettled = this.#isUnsettled(state.shownAtMs);", replace: "const isUnsettled = this.#isUnsettled(this.#options.clock.monotonicMs() + 1e9);", test: GONE, case: "one that is never executed is a skip once it is settled, and not before" },
    { name: "a trade that is gone is a skip while the barrier waits", find: "(!isUnsettled && this.#takeover.barrier === \"open\")", replace: "!isUnsettled", test: GONE, case: "while the barrier waits nothing is concluded either, although nothing has to settle; then the former owner's row tells which copy it was" },
    { name: "what is executed after its trade was decided is not looked at", find: "      if (isEnded) break;\n", replace: "", test: LATE_ORDERS, case: "a copy that is executed after its trade was skipped is adopted at once, and closed with its master's" },
    { name: "an order under our tag of which nothing is known is not looked at", find: "(isEnded || this.#links.all.some((state) => state.carriesTag(order)))", replace: "isEnded", test: LATE_ORDERS, case: "a pending order under our tag of which nothing is known is cancelled at once when its master's is gone" },
  ]),
  ...inFile("actors/shell/reconciler.ts", [
    { name: "what ended before it settled is told of at the first look only", find: "isFirstLook: state.shownAtMs < settledAtMs", replace: "isFirstLook: state.shownAtMs === Number.NEGATIVE_INFINITY", test: GONE, case: "one that was stopped out before anybody looked is recorded with the broker's reason" },
  ]),
  ...inFile("actors/shell/ownership.ts", [
    { name: "an ownership falls back to a lower epoch", find: "    if (epoch <= this.#permit.epoch) return false;\n", replace: "", test: OWNERSHIP, case: "an ownership goes on at a higher epoch, and never falls back: permit and journal say the same" },
    { name: "an ownership never goes on at a higher epoch", find: "if (epoch <= this.#permit.epoch) return false;", replace: "if (epoch > 0) return false;", test: OWNERSHIP, case: "an ownership goes on at a higher epoch, and never falls back: permit and journal say the same" },
  ]),
  ...inFile("actors/core/reconcile/rules.ts", [
    { name: "an order of unknown outcome is sent again before its settle time is over", find: "known.settlesAtMs !== null && known.settlesAtMs > input.monotonicMs;", replace: "known.settlesAtMs !== null && known.settlesAtMs > Infinity;", test: PLAN, case: "not found: before its settle time nothing is sent" },
    { name: "an order of unknown outcome is never sent again", find: "known.settlesAtMs !== null && known.settlesAtMs > input.monotonicMs;", replace: "known.settlesAtMs !== null;", test: PLAN, case: "not found: after it, it is opened late" },
    { name: "what was there before us is opened before a former owner's orders have settled", find: "const waits = input.monotonicMs < input.settledAtMs && wasBeforeUs(input, target);", replace: "const waits = input.monotonicMs < -Infinity && wasBeforeUs(input, target);", test: PLAN, case: "opens nothing late that the master opened before it, until what was sent before has settled" },
    { name: "everything waits until a former owner's orders have settled", find: "const waits = input.monotonicMs < input.settledAtMs && wasBeforeUs(input, target);", replace: "const waits = input.monotonicMs < input.settledAtMs;", test: PLAN, case: "opens at once what the master opened after it, as far as clocks can tell" },
    { name: "what was there before us is never opened", find: "const waits = input.monotonicMs < input.settledAtMs && wasBeforeUs(input, target);", replace: "const waits = wasBeforeUs(input, target);", test: PLAN, case: "it is opened for as long as the link allows, by the master broker's clock" },
  ]),
  ...inFile("actors/core/reconcile/fingerprints.ts", [
    { name: "what fits at once is no better than what fits at all", find: "[prints.map(openedAtOnce), prints]", replace: "[prints]", test: LOST_TAGS, case: "copies of mt4 trades that are alike, and were part-closed before any row was written, are each its own trade's" },
    { name: "what fits at once is bound before rows are there that know better", find: "input.barrier === \"waiting\" ? [prints] : ", replace: "", test: BIND, case: "while the barrier waits there is one pass only: a row that is still to come knows better than what fits at once" },
  ]),
  ...inFile("actors/core/reconcile/copies.ts", [
    { name: "a rest whose beginning the history does not show is not found by the ticket that it names", find: "[...(isCut ? [from] : []), ...tickets,", replace: "[...tickets,", test: BIND, case: "is the copy of the pair that knows the ticket it names" },
  ]),
  ...inFile("actors/core/reconcile/plan.ts", [
    { name: "what nobody explains is ended before the barrier", find: "if (copies.length === 0 || barrier === \"waiting\") return []; // 4", replace: "if (copies.length === 0) return [];", test: PLAN, case: "nothing is ended as unexplained: the pair that explains it may not be known yet" },
    { name: "what nobody explains is ended while an order is under way", find: ".filter(({ busy, settlesAtMs }) => busy || (settlesAtMs", replace: ".filter(({ settlesAtMs }) => (settlesAtMs", test: PLAN, case: "that fits nothing is closed: untracked orphans of our magic are nobody's" },
    { name: "what nobody explains is ended while an order is unsettled", find: "busy || (settlesAtMs !== null && settlesAtMs > monotonicMs));", replace: "busy);", test: PLAN, case: "that fits nothing is closed: untracked orphans of our magic are nobody's" },
    { name: "what nobody explains is ended while a former owner's orders are unsettled", find: "  if (monotonicMs < settledAtMs) return [{ kind: \"again\", atMs: settledAtMs }];\n", replace: "", test: PLAN, case: "ends nothing unexplained before that: a former owner's order may be what it is" },
    { name: "a trade is concluded before the barrier although an order that nobody explains may be its copy", find: "  if (copy === null && known?.pair.status !== \"Open\" && input.barrier === \"waiting\" && nobodys.length > 0) return []; // 4\n", replace: "", test: PLAN, case: "nothing is opened late on a link that holds such an order, and nothing is recorded of a trade whose copy it may be" },
    { name: "a trade whose order is under way is planned", find: "  if (known?.busy === true) return [];\n", replace: "", test: PLAN, case: "while an order of it is under way a trade is left out" },
  ]),
];
