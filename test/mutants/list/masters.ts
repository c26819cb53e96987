// Owns the mutants of how a master is followed: epochs, holes, books.
//
// Not here, since nothing changes without it: the epoch in `follows` (no tick that waits is of a higher epoch than a book that is taken).

import { inFile } from "../mutant.ts";

const MASTER_FOLD = "test/actors/core/masterFold.test.ts";
const TICK_READER = "test/actors/shell/tickReader.test.ts";

export const masterMutants = [
  ...inFile("actors/core/masterFold.ts", [
    { name: "a zombie's tick is folded", find: "  if (tick.epoch < highestEpoch(before)) return step(withClock(before, tick.brokerNowMs, readAtMs), \"stale\");\n", replace: "", test: MASTER_FOLD, case: "one of a lower epoch is a zombie's, and stays one while a hole is open" },
    { name: "a zombie is one below the folded epoch, whatever waits", find: "=> fold.waiting.at(-1)?.epoch ?? fold.epoch;", replace: "=> fold.epoch;", test: MASTER_FOLD, case: "one of a lower epoch is a zombie's, and stays one while a hole is open" },
    { name: "a newer epoch's tick is folded as if it followed", find: "if (tick.epoch === fold.epoch && fold.synced) {", replace: "if (fold.synced) {", test: MASTER_FOLD, case: "one of a lower epoch is a zombie's, and stays one while a hole is open" },
    { name: "a repeat is folded", find: "    if (tick.seq <= fold.seq) return step(fold, alive && tick.seq === fold.seq ? \"folded\" : \"repeated\");\n", replace: "", test: MASTER_FOLD, case: "a repeat changes nothing" },
    { name: "a hole in seq is no hole", find: "if (tick.seq === fold.seq + 1 && !alive) return", replace: "if (tick.seq > fold.seq && !alive) return", test: MASTER_FOLD, case: "a hole stops the fold, and what comes behind it waits" },
    { name: "a sign of life above the last seq is news", find: "if (tick.seq === fold.seq + 1 && !alive) return", replace: "if (tick.seq === fold.seq + 1) return", test: MASTER_FOLD, case: "a sign of life above the last seq shows that the last tick was lost" },
    { name: "a newer epoch without its book is no hole", find: "  if (tick.epoch > fold.epoch && fold.synced) return step({ ...fold, synced: false, waiting: [tick] }, \"gap\");\n", replace: "", test: MASTER_FOLD, case: "a newer epoch without its book is a hole" },
    { name: "what came before a book of the start waits as news", find: "    if (tick.seq < fold.seq || (tick.seq === fold.seq && tick.body.kind !== \"alive\")) return step(fold, \"repeated\");\n", replace: "", test: MASTER_FOLD, case: "contains what comes from before it: that is a repeat, and the next tick still follows" },
    { name: "an older book is taken", find: "if (order < 0 || (fold.synced && order === 0) || book.epoch < highestEpoch(fold)) return", replace: "if ((fold.synced && order === 0) || book.epoch < highestEpoch(fold)) return", test: MASTER_FOLD, case: "one that is older than the fold is ignored, one that is equal only confirms" },
    { name: "a book that only confirms replaces the fold", find: "if (order < 0 || (fold.synced && order === 0) || book.epoch < highestEpoch(fold)) return", replace: "if (order < 0 || book.epoch < highestEpoch(fold)) return", test: MASTER_FOLD, case: "one that is older than the fold is ignored, one that is equal only confirms" },
    { name: "a zombie's book is taken while a newer epoch's ticks wait", find: "if (order < 0 || (fold.synced && order === 0) || book.epoch < highestEpoch(fold)) return", replace: "if (order < 0 || (fold.synced && order === 0)) return", test: MASTER_FOLD, case: "a zombie's book is not obeyed once a newer epoch was seen, however many ticks came since" },
    { name: "a book that is ahead of the ticks replaces the fold at once", find: "  if (fold.synced && book.epoch === fold.epoch && !force) return { ...keep, verdict: \"waiting\", ahead: true };\n", replace: "", test: MASTER_FOLD, case: "one that is ahead is left to the ticks, and taken when they do not come" },
    { name: "a newer epoch's book waits for ticks", find: "if (fold.synced && book.epoch === fold.epoch && !force)", replace: "if (fold.synced && !force)", test: MASTER_FOLD, case: "one of a newer epoch replaces the fold at once, though its seq is lower" },
    { name: "a hole behind a book is no hole", find: "    if (!follows(next, tick)) {", replace: "    if (tick.epoch < next.epoch) {", test: MASTER_FOLD, case: "one from before the hole does not close it" },
    { name: "a book from before the start is believed by itself", find: "  if (readAtMs === null && fresh.length === 0) return { ...keep, fold: { ...next, synced: false }, verdict: \"waiting\" }; // 4\n", replace: "", test: MASTER_FOLD, case: "is not believed by itself: ticks that nobody reads any more may have followed it" },
  ]),
  ...inFile("actors/shell/tickReader.ts", [
    { name: "stale ticks are not counted", find: "if (step.verdict === \"stale\" || step.verdict === \"gap\") {", replace: "if (step.verdict === \"gap\") {", test: TICK_READER, case: "ticks of a lower epoch are counted and not told" },
    { name: "a tombstone is a book that cannot be read", find: "    if (record.value === null) return;\n    const book", replace: "    const book", test: TICK_READER, case: "a record that cannot be read is a gap for its master; a book that cannot be read, and a tombstone, are passed over" },
    { name: "a tick that cannot be read is passed over", find: "if (tick === null) return this.#unsynced(record.key as AccountId, \"a tick that cannot be read\");", replace: "if (tick === null) return;", test: TICK_READER, case: "a record that cannot be read is a gap for its master; a book that cannot be read, and a tombstone, are passed over" },
    { name: "books of the start are books of now", find: "this.#books?.wasThere(record.partition, record.offset) === true ? null : readAtMs", replace: "readAtMs", test: TICK_READER, case: "at the start books are read to their end, then ticks from where they ended" },
    { name: "a fold that is not synced is told as known", find: "return fold?.synced === true ? fold : null;", replace: "return fold ?? null;", test: TICK_READER, case: "a book from before the start is not taken for the present: a tick behind it that was not read may follow" },
    { name: "a hole is not told", find: "    if (before.synced && !step.fold.synced) {\n      this.#options.handlers.onUnsynced(tick.master);", replace: "    if (before.synced && !step.fold.synced) {", test: TICK_READER, case: "a hole is told, and the book that closes it brings the ticks behind it" },
  ]),
];
