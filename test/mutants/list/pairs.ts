// Owns the mutants of the writers' fence and of the versions of rows, on Postgres, and of their twins in memory.
//
// Not here, since nothing changes without them: what `superseded` asks of the row it changes besides its key (`rival` has asked it in
// the same snapshot; after a wait for its lock the version of the row that comes then decides), and the cell there (a rival is of its own cell).

import { inFile } from "../mutant.ts";

const CONTRACT = "test/storage/postgres.contract.test.ts";
const MEMORY = "test/storage/memory.contract.test.ts";
const AFTER_MARKER = "what an owner said before its successor's marker goes in, what it says after it stays out";
const ABOVE = "a live row above the account's epoch stays out";
const STATES = "the owners' fence holds for it: what is said after the successor's marker, or above the account's epoch, stays out";
const OTHER_CELL = "the fence of another cell is nothing to this one's rows";
const OTHER_TRADE = "only rows of the same trade supersede each other";
const OLDER_MEETS = "an older live row that meets a newer one is superseded itself";
const CLOSE_PASSES = "that a copy is closed is true whoever says it: it passes the fence";
const SKIP_FENCED = "a skip is its owner's decision: after its successor's marker it stays out like a live row, and so does any other end but a close";
const LATE_SKIP = "a former owner's late skip does not keep the new owner's live row of the trade out";
const OWN_SKIP = "its owner's skip is final for that owner";
const LATER_OWNER = "what a later owner has to say of a trade that its predecessor skipped takes the skip's place, and that skip does not come back";
const STATE_FENCES = "each account's state meets its own account's fence: another account's marker, or its name's in another cell, is nothing to it";
const NEWEST_STATE = "the newest version stands, whatever comes later, also within one batch";
const STATE_DOUBT = "a commit whose answer was lost is judged by it too";
const NOT_DONE = "it was not done when a row is missing, is older, or a marker was not reached";
const NEWER_MEETS = "a newer owner's live row supersedes the older owner's";

export const pairMutants = [
  ...inFile("storage/writeRows.ts", [
    { name: "no row meets the fence", find: "WHERE r.status = 'Closed' OR r.epoch BETWEEN f.lowest AND f.highest -- (1)", replace: "WHERE f.lowest IS NOT NULL", test: CONTRACT, case: ABOVE },
    { name: "what an owner says after its successor's marker goes in", find: "OR r.epoch BETWEEN f.lowest AND f.highest -- (1)", replace: "OR r.epoch <= f.highest", test: CONTRACT, case: AFTER_MARKER },
    { name: "what nobody can have said yet goes in", find: "OR r.epoch BETWEEN f.lowest AND f.highest -- (1)", replace: "OR r.epoch >= f.lowest", test: CONTRACT, case: ABOVE },
    { name: "the owner that has the marker stays out itself", find: "OR r.epoch BETWEEN f.lowest AND f.highest -- (1)", replace: "OR r.epoch > f.lowest AND r.epoch <= f.highest", test: CONTRACT, case: "the fence holds for later batches" },
    { name: "a close meets the fence", find: "WHERE r.status = 'Closed' OR r.epoch BETWEEN", replace: "WHERE r.epoch BETWEEN", test: CONTRACT, case: CLOSE_PASSES },
    { name: "a skip passes the fence", find: "WHERE r.status = 'Closed' OR r.epoch BETWEEN", replace: "WHERE r.status IN ('Closed', 'Skipped') OR r.epoch BETWEEN", test: CONTRACT, case: LATE_SKIP },
    { name: "every row that ends a pair passes the fence", find: "WHERE r.status = 'Closed' OR r.epoch BETWEEN", replace: "WHERE r.status NOT IN ${LIVE} OR r.epoch BETWEEN", test: CONTRACT, case: SKIP_FENCED },
    { name: "any link's fence lets a row in", find: "LEFT JOIN fence f ON f.link = r.link\n", replace: "LEFT JOIN fence f ON true\n", test: CONTRACT, case: "one link's fence is nothing to another's rows" },
    { name: "a link of another cell lets a row in", find: "FROM copy_links WHERE cell = named.cell AND id = named.link LIMIT 1) l", replace: "FROM copy_links WHERE id = named.link LIMIT 1) l", test: CONTRACT, case: "a link of another cell lets nothing in" },
    { name: "any account's epochs are the follower's", find: "WHERE cell = named.cell AND id = l.follower_id LIMIT 1) a", replace: "WHERE cell = named.cell AND id <> l.follower_id LIMIT 1) a", test: CONTRACT, case: "another follower's marker does not count" },
    { name: "an account's epochs in another cell are the follower's", find: "WHERE cell = named.cell AND id = l.follower_id LIMIT 1) a", replace: "WHERE id = l.follower_id ORDER BY epoch DESC LIMIT 1) a", test: CONTRACT, case: OTHER_CELL },
    { name: "a row that is on its way passes the fence", find: "WHERE r.status = 'Closed' OR r.epoch BETWEEN", replace: "WHERE r.status IN ('Closed', 'Sending') OR r.epoch BETWEEN", test: CONTRACT, case: "a row that is on its way meets the fence like one that stands" },
    { name: "a row that stands passes the fence", find: "WHERE r.status = 'Closed' OR r.epoch BETWEEN", replace: "WHERE r.status IN ('Closed', 'Open') OR r.epoch BETWEEN", test: CONTRACT, case: AFTER_MARKER },
    { name: "a row that is on its way has ended", find: "const LIVE = \"('Sending', 'Open')\";", replace: "const LIVE = \"('Open')\";", test: CONTRACT, case: "sent, opened and closed within one batch" },
    { name: "a row that stands has ended", find: "const LIVE = \"('Sending', 'Open')\";", replace: "const LIVE = \"('Sending')\";", test: CONTRACT, case: "a lower n of a newer epoch is newer" },

    { name: "a row of every cell is a rival", find: "WHERE p.cell = r.cell AND p.link_id = r.link AND p.master_ticket = r.\"masterTicket\" AND p.status IN ${LIVE}\n", replace: "WHERE p.link_id = r.link AND p.master_ticket = r.\"masterTicket\" AND p.status IN ${LIVE}\n", test: CONTRACT, case: OTHER_CELL },
    { name: "a row of every link is a rival", find: "WHERE p.cell = r.cell AND p.link_id = r.link AND p.master_ticket = r.\"masterTicket\" AND p.status IN ${LIVE}\n", replace: "WHERE p.cell = r.cell AND p.master_ticket = r.\"masterTicket\" AND p.status IN ${LIVE}\n", test: CONTRACT, case: OTHER_TRADE },
    { name: "a row of every trade is a rival", find: "WHERE p.cell = r.cell AND p.link_id = r.link AND p.master_ticket = r.\"masterTicket\" AND p.status IN ${LIVE}\n", replace: "WHERE p.cell = r.cell AND p.link_id = r.link AND p.status IN ${LIVE}\n", test: CONTRACT, case: OTHER_TRADE },
    { name: "an ended row is a rival", find: "AND p.master_ticket = r.\"masterTicket\" AND p.status IN ${LIVE}\n         AND p.opening", replace: "AND p.master_ticket = r.\"masterTicket\"\n         AND p.opening", test: CONTRACT, case: "an older live row that meets an ended one of a newer owner stays live" },
    { name: "a row is its own rival", find: "AND p.opening <> r.opening AND r.status IN ${LIVE}\n", replace: "AND r.status IN ${LIVE}\n", test: CONTRACT, case: "the next owner goes on with the same opening" },
    { name: "a row that ends a pair has rivals", find: "AND p.opening <> r.opening AND r.status IN ${LIVE}\n", replace: "AND p.opening <> r.opening\n", test: CONTRACT, case: "an ended row leaves the other opening alone" },
    { name: "a newer owner's live row leaves the older one live", find: "WHERE r.rival_epoch < r.epoch AND p.cell", replace: "WHERE r.rival_epoch < 0 AND p.cell", test: CONTRACT, case: "a newer owner's opening takes the place of the older one's" },
    { name: "an older live row that meets a newer one is live too", find: "CASE WHEN r.rival_epoch > r.epoch THEN 'Superseded' ELSE r.status END", replace: "CASE WHEN r.rival_epoch < 0 THEN 'Superseded' ELSE r.status END", test: CONTRACT, case: "an older owner's opening that comes late has no place" },
    { name: "a live row that meets an older one is superseded itself", find: "CASE WHEN r.rival_epoch > r.epoch THEN", replace: "CASE WHEN r.rival_epoch <> r.epoch THEN", test: CONTRACT, case: NEWER_MEETS },

    { name: "an ended row is no end", find: "WHERE (p.status IN ${LIVE} OR p.status = 'Skipped' AND p.epoch < excluded.epoch) AND (p.epoch, p.n) < (excluded.epoch, excluded.n) -- (2)", replace: "WHERE (p.epoch, p.n) < (excluded.epoch, excluded.n)", test: CONTRACT, case: "an ended row is final" },
    { name: "an older version replaces a newer one", find: "WHERE (p.status IN ${LIVE} OR p.status = 'Skipped' AND p.epoch < excluded.epoch) AND (p.epoch, p.n) < (excluded.epoch, excluded.n) -- (2)", replace: "WHERE (p.status IN ${LIVE} OR p.status = 'Skipped' AND p.epoch < excluded.epoch)", test: CONTRACT, case: "an older version never replaces a newer one" },
    { name: "a skip is final for later owners", find: " OR p.status = 'Skipped' AND p.epoch < excluded.epoch)", replace: ")", test: CONTRACT, case: LATER_OWNER },
    { name: "a skip is final for nobody", find: " OR p.status = 'Skipped' AND p.epoch < excluded.epoch)", replace: " OR p.status = 'Skipped')", test: CONTRACT, case: OWN_SKIP },
    { name: "any end is final for its own owner only", find: " OR p.status = 'Skipped' AND p.epoch < excluded.epoch)", replace: " OR p.epoch < excluded.epoch)", test: CONTRACT, case: "an ended row is final" },
    { name: "an older owner's version replaces a newer owner's", find: "(p.epoch, p.n) < (excluded.epoch, excluded.n) -- (2)", replace: "p.n < excluded.n", test: CONTRACT, case: "a lower n of a newer epoch is newer" },
    { name: "an owner's own older version replaces its newer one", find: "(p.epoch, p.n) < (excluded.epoch, excluded.n) -- (2)", replace: "p.epoch <= excluded.epoch", test: CONTRACT, case: "an older version never replaces a newer one" },
    { name: "the same version again is news", find: "(p.epoch, p.n) < (excluded.epoch, excluded.n) -- (2)", replace: "(p.epoch, p.n) <= (excluded.epoch, excluded.n)", test: CONTRACT, case: "the same version again is no news" },
    { name: "what an owner says of its account after its successor's marker goes in", find: "WHERE r.epoch BETWEEN a.projected_epoch AND a.epoch -- (1)", replace: "WHERE r.epoch <= a.epoch", test: CONTRACT, case: STATES },
    { name: "what nobody can have said of an account yet goes in", find: "WHERE r.epoch BETWEEN a.projected_epoch AND a.epoch -- (1)", replace: "WHERE r.epoch >= a.projected_epoch", test: CONTRACT, case: STATES },
    { name: "the owner that has the marker is not heard about its account", find: "WHERE r.epoch BETWEEN a.projected_epoch AND a.epoch -- (1)", replace: "WHERE r.epoch > a.projected_epoch AND r.epoch <= a.epoch", test: CONTRACT, case: STATES },
    { name: "an account's state meets another account's fence", find: "WHERE cell = r.cell AND id = r.account LIMIT 1) a", replace: "WHERE cell = r.cell AND id <> r.account LIMIT 1) a", test: CONTRACT, case: STATE_FENCES },
    { name: "an account's state meets the fence of its name in another cell", find: "WHERE cell = r.cell AND id = r.account LIMIT 1) a", replace: "WHERE id = r.account ORDER BY epoch DESC LIMIT 1) a", test: CONTRACT, case: STATE_FENCES },
    { name: "an older state of an account replaces a newer one", find: " WHERE (s.epoch, s.n) < (excluded.epoch, excluded.n) -- (2)\n", replace: "", test: CONTRACT, case: NEWEST_STATE },
    { name: "an older owner's state replaces a newer owner's", find: "WHERE (s.epoch, s.n) < (excluded.epoch, excluded.n) -- (2)", replace: "WHERE s.n < excluded.n", test: CONTRACT, case: NEWEST_STATE },
    { name: "an owner's own older state replaces its newer one", find: "WHERE (s.epoch, s.n) < (excluded.epoch, excluded.n) -- (2)", replace: "WHERE s.epoch <= excluded.epoch", test: CONTRACT, case: NEWEST_STATE },
    { name: "the same state again is news", find: "WHERE (s.epoch, s.n) < (excluded.epoch, excluded.n) -- (2)", replace: "WHERE (s.epoch, s.n) <= (excluded.epoch, excluded.n)", test: CONTRACT, case: NEWEST_STATE },
    { name: "an older row is taken for what a lost commit wrote", find: "WHERE (p.epoch, p.n) >= (r.epoch, r.n)", replace: "WHERE p.epoch >= 0", test: CONTRACT, case: NOT_DONE },
    { name: "a marker that was not reached is taken for a lost commit's", find: "SELECT 1 FROM missed", replace: "SELECT 1 FROM missed WHERE false", test: CONTRACT, case: NOT_DONE },
    { name: "an older state is taken for what a lost commit wrote", find: "WHERE (s.epoch, s.n) >= (r.epoch, r.n)", replace: "WHERE s.epoch >= 0", test: CONTRACT, case: STATE_DOUBT },
    { name: "an account without a state is taken for a lost commit's", find: "AND (SELECT count(*) FROM states) = jsonb_array_length($4::jsonb) AS done", replace: "AND jsonb_array_length($4::jsonb) >= 0 AS done", test: CONTRACT, case: STATE_DOUBT },
  ]),
  ...inFile("storage/pairStore.ts", [
    { name: "an older marker lowers the fence", find: "SET projected_epoch = GREATEST(a.projected_epoch, m.epoch)", replace: "SET projected_epoch = m.epoch", test: CONTRACT, case: "an older marker that comes late does not lower it" },
    { name: "the lowest marker of a layer counts", find: "SELECT follower, max(epoch) AS epoch", replace: "SELECT follower, min(epoch) AS epoch", test: CONTRACT, case: "of two markers in a row the higher counts" },
    { name: "a marker counts in every cell", find: "WHERE a.cell = $1 AND a.id = m.follower`", replace: "WHERE $1::text IS NOT NULL AND a.id = m.follower`", test: CONTRACT, case: OTHER_CELL },
    { name: "a marker counts for every account", find: "WHERE a.cell = $1 AND a.id = m.follower`", replace: "WHERE a.cell = $1`", test: CONTRACT, case: "another follower's marker does not count" },
  ]),
  ...inFile("storage/layers.ts", [
    { name: "a marker comes before the rows that the log has before it", find: "Math.max(followerDepth.get(event.follower) ?? 0, markerFloor.get(event.follower) ?? 0)", replace: "markerFloor.get(event.follower) ?? 0", test: CONTRACT, case: AFTER_MARKER },
    { name: "rows come before the marker that the log has before them", find: "Math.max(tradeFloor.get(trade) ?? 0, markerFloor.get(follower) ?? 0)", replace: "tradeFloor.get(trade) ?? 0", test: CONTRACT, case: AFTER_MARKER },
    { name: "two states of an account go into one layer", find: "tradeFloor.set(trade, depth + 1);", replace: 'if (event.kind === "pair") tradeFloor.set(trade, depth + 1);', test: CONTRACT, case: NEWEST_STATE },
  ]),
  ...inFile("storage/memory/pairStore.ts", [
    { name: "no row meets the fence", find: "&& follower.projectedEpoch <= epoch && epoch <= follower.epoch;", replace: "&& epoch >= 0;", test: MEMORY, case: ABOVE },
    { name: "what an owner says after its successor's marker goes in", find: "&& follower.projectedEpoch <= epoch && epoch <= follower.epoch;", replace: "&& epoch <= follower.epoch;", test: MEMORY, case: AFTER_MARKER },
    { name: "what nobody can have said yet goes in", find: "&& follower.projectedEpoch <= epoch && epoch <= follower.epoch;", replace: "&& follower.projectedEpoch <= epoch;", test: MEMORY, case: ABOVE },
    { name: "a close meets the fence", find: 'if (pair.status !== "Closed" && !passesFence(', replace: "if (!passesFence(", test: MEMORY, case: CLOSE_PASSES },
    { name: "every row that ends a pair passes the fence", find: 'if (pair.status !== "Closed" && !passesFence(', replace: "if (isLive(pair.status) && !passesFence(", test: MEMORY, case: SKIP_FENCED },
    { name: "a skip is final for later owners", find: '(status !== "Skipped" || epoch >= later)', replace: "epoch >= 0", test: MEMORY, case: LATER_OWNER },
    { name: "a skip is final for nobody", find: '(status !== "Skipped" || epoch >= later)', replace: 'status !== "Skipped"', test: MEMORY, case: OWN_SKIP },
    { name: "what an owner says of its account after its successor's marker goes in", find: "account === undefined || event.epoch < account.projectedEpoch ||", replace: "account === undefined ||", test: MEMORY, case: STATES },
    { name: "what nobody can have said of an account yet goes in", find: "|| event.epoch > account.epoch) return false;", replace: ") return false;", test: MEMORY, case: STATES },
    { name: "an older state of an account replaces a newer one", find: "if (old !== undefined && !isNewer(old, event.epoch, event.n)) return false;\n  states", replace: "states", test: MEMORY, case: NEWEST_STATE },
    { name: "an older marker lowers the fence", find: "projectedEpoch: Math.max(row.projectedEpoch, epoch) as Epoch", replace: "projectedEpoch: epoch", test: MEMORY, case: "an older marker that comes late does not lower it" },
    { name: "an ended row is no end", find: "(isFinal(old, epoch) || !isNewer(old, epoch, n))", replace: "!isNewer(old, epoch, n)", test: MEMORY, case: "an ended row is final" },
    { name: "an older version replaces a newer one", find: "(isFinal(old, epoch) || !isNewer(old, epoch, n))", replace: "isFinal(old, epoch)", test: MEMORY, case: "an older version never replaces a newer one" },
    { name: "an older owner's version replaces a newer owner's", find: "old.epoch < epoch || (old.epoch === epoch && old.n < n);", replace: "old.n < n;", test: MEMORY, case: "a lower n of a newer epoch is newer" },
    { name: "a newer owner's live row leaves the older one live", find: "if (rival.epoch < epoch) tables", replace: "if (rival.epoch < 0) tables", test: MEMORY, case: NEWER_MEETS },
    { name: "an older live row that meets a newer one is live too", find: "rivals.some((rival) => rival.epoch > epoch);", replace: "rivals.some((rival) => rival.epoch < 0);", test: MEMORY, case: OLDER_MEETS },
  ]),
];
