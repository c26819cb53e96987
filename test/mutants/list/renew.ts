// Owns the mutants of Renew, of what it says of the others, and of the end of a lease, on Postgres.
//
// Not here, since nothing changes without them: the boot in `was_live` and in `live_since` (a row of another boot is only
// changed once its lease has run out, so the compare of the lease says the same).

import { inFile } from "../mutant.ts";

const CONTRACT = "test/storage/postgres.contract.test.ts";
const RACES = "test/storage/registryRaces.test.ts";
const CLOCKS = "test/storage/registryClocks.test.ts";

export const renewMutants = inFile("storage/registrySql.ts", [
  {
    name: "a lease that ran out counts as live before",
    find: "was_live = nodes.boot = excluded.boot AND nodes.lease_until > clock_timestamp(),",
    replace: "was_live = nodes.boot = excluded.boot,",
    test: CONTRACT,
    case: "a renewal just before the end finds the lease live, one at the end does not",
  },
  {
    name: "the old lease is judged by the statement's snapshot",
    find: "was_live = nodes.boot = excluded.boot AND nodes.lease_until > clock_timestamp(),",
    replace: "was_live = nodes.boot = excluded.boot AND (SELECT o.lease_until FROM nodes o WHERE o.cell = $1 AND o.node = $2) > clock_timestamp(),",
    test: RACES,
    case: "a renewal that waited for the row judges the old lease after the wait: it ran out meanwhile",
  },
  {
    name: "the old lease is judged by the time before the wait",
    find: "was_live = nodes.boot = excluded.boot AND nodes.lease_until > clock_timestamp(),",
    replace: "was_live = nodes.boot = excluded.boot AND nodes.lease_until > now(),",
    test: CLOCKS,
    case: "rows 6, 8: a renewal that waited for its row for longer than its lease lasted says that there was none",
  },
  {
    name: "the new lease counts from before the wait",
    find: "lease_until = clock_timestamp() + make_interval(secs => $4),\n      started_at",
    replace: "lease_until = now() + make_interval(secs => $4),\n      started_at",
    test: RACES,
    case: "row 6: a renewal that waited for longer than its ttl still gives a lease of the whole ttl",
  },
  {
    name: "a newer boot has the start of the one before",
    find: "started_at = CASE WHEN nodes.boot = excluded.boot THEN nodes.started_at ELSE clock_timestamp() END,",
    replace: "started_at = nodes.started_at,",
    test: CONTRACT,
    case: "after an end, from the end; after a lapse, from the end of the lease; after a newer boot, from its start",
  },
  {
    name: "every renewal is a start",
    find: "started_at = CASE WHEN nodes.boot = excluded.boot THEN nodes.started_at ELSE clock_timestamp() END,",
    replace: "started_at = clock_timestamp(),",
    test: CONTRACT,
    case: "after an end, from the end; after a lapse, from the end of the lease; after a newer boot, from its start",
  },
  {
    name: "who lapsed counts as live all along",
    find: "live_since = CASE WHEN nodes.boot = excluded.boot AND nodes.lease_until > clock_timestamp() THEN",
    replace: "live_since = CASE WHEN nodes.boot = excluded.boot THEN",
    test: CONTRACT,
    case: "and from one whose own lease had run out too: live without a break means since its return",
  },
  {
    name: "who waited for its row until it had lapsed counts as live all along",
    find: "live_since = CASE WHEN nodes.boot = excluded.boot AND nodes.lease_until > clock_timestamp() THEN",
    replace: "live_since = CASE WHEN nodes.boot = excluded.boot AND nodes.lease_until > now() THEN",
    test: CLOCKS,
    case: "rows 6, 8: a renewal that waited for its row for longer than its lease lasted says that there was none",
  },
  {
    name: "nobody is live for longer than since its last renewal",
    find: "live_since = CASE WHEN nodes.boot = excluded.boot AND nodes.lease_until > clock_timestamp() THEN nodes.live_since ELSE clock_timestamp() END,",
    replace: "live_since = clock_timestamp(),",
    test: CONTRACT,
    case: "but not from one that was live all along",
  },
  {
    name: "a boot that was ended is revived",
    find: "WHERE nodes.ended_boot IS DISTINCT FROM excluded.boot\n      AND (",
    replace: "WHERE (",
    test: CONTRACT,
    case: "a boot that left is never revived by a late renewal; a new boot starts at once",
  },
  {
    name: "no boot renews once one was ended",
    find: "WHERE nodes.ended_boot IS DISTINCT FROM excluded.boot\n",
    replace: "WHERE nodes.ended_boot IS NULL\n",
    test: CONTRACT,
    case: "a boot that left is never revived by a late renewal; a new boot starts at once",
  },
  {
    name: "a second boot has the name of a live one",
    find: "\n      AND (nodes.boot = excluded.boot OR nodes.lease_until <= clock_timestamp())",
    replace: "",
    test: CONTRACT,
    case: "a second boot under a live name is refused and changes nothing",
  },
  {
    name: "a second boot never gets the name",
    find: "(nodes.boot = excluded.boot OR nodes.lease_until <= clock_timestamp())",
    replace: "nodes.boot = excluded.boot",
    test: CONTRACT,
    case: "a second boot takes the name when the lease has run out, and the first is refused then",
  },
  {
    name: "a second boot that waited for the row asks the time before the wait",
    find: "(nodes.boot = excluded.boot OR nodes.lease_until <= clock_timestamp())",
    replace: "(nodes.boot = excluded.boot OR nodes.lease_until <= now())",
    test: CLOCKS,
    case: "a second boot that waited for the row until the lease had run out has the name",
  },
  {
    name: "whose name it is is judged by the statement's snapshot",
    find: "(nodes.boot = excluded.boot OR nodes.lease_until <= clock_timestamp())",
    replace: "((SELECT o.boot FROM nodes o WHERE o.cell = $1 AND o.node = $2) = excluded.boot OR nodes.lease_until <= clock_timestamp())",
    test: RACES,
    case: "a renewal that waited while another boot took the name is refused",
  },
  {
    name: "another boot's accounts are listed",
    find: "ON a.cell = $1 AND a.node = $2 AND a.boot = $3",
    replace: "ON a.cell = $1 AND a.node = $2",
    test: CONTRACT,
    case: "an owner whose lease lapsed without a rival gets its account back only at a new epoch",
  },
  {
    name: "another node's accounts are listed",
    find: "ON a.cell = $1 AND a.node = $2 AND a.boot = $3",
    replace: "ON a.cell = $1 AND a.boot = $3",
    test: CONTRACT,
    case: "names and boots are compared both: a boot's name under another node is nobody's",
  },
  {
    name: "another cell's accounts are listed",
    find: "ON a.cell = $1 AND a.node = $2 AND a.boot = $3",
    replace: "ON a.node = $2 AND a.boot = $3",
    test: CONTRACT,
    case: "what a cell's node owns and says is nothing to the same name in another cell",
  },
  {
    name: "my own word on the log is another's",
    find: "o.cell = $1 AND o.node <> $2 AND o.log_ok",
    replace: "o.cell = $1 AND o.log_ok",
    test: CONTRACT,
    case: "only another node's word counts, and only while it is live",
  },
  {
    name: "whoever is live has the log",
    find: "AND o.log_ok AND o.lease_until > clock_timestamp()",
    replace: "AND o.lease_until > clock_timestamp()",
    test: CONTRACT,
    case: "only another node's word counts, and only while it is live",
  },
  {
    name: "the word of a node without a lease counts",
    find: "AND o.log_ok AND o.lease_until > clock_timestamp()",
    replace: "AND o.log_ok",
    test: CONTRACT,
    case: "only another node's word counts, and only while it is live",
  },
  {
    name: "another cell's word on the log counts",
    find: "WHERE o.cell = $1 AND o.node <> $2 AND o.log_ok",
    replace: "WHERE o.node <> $2 AND o.log_ok",
    test: CONTRACT,
    case: "what a cell's node owns and says is nothing to the same name in another cell",
  },
  {
    name: "another boot's shares are mine",
    find: "FROM spread s WHERE s.node = $2 AND s.boot = $3",
    replace: "FROM spread s WHERE s.node = $2",
    test: CONTRACT,
    case: "a boot that is refused learns no shares: they are the live one's",
  },
  {
    name: "any boot's end is mine",
    find: "WHERE cell = $1 AND node = $2 AND boot = $3`;\n\nexport const SWEEP",
    replace: "WHERE cell = $1 AND node = $2 AND $3::text IS NOT NULL`;\n\nexport const SWEEP",
    test: CONTRACT,
    case: "leaving under a name that another boot has changes nothing",
  },
  {
    name: "an end is an end in every cell",
    find: "WHERE cell = $1 AND node = $2 AND boot = $3`;\n\nexport const SWEEP",
    replace: "WHERE $1::text IS NOT NULL AND node = $2 AND boot = $3`;\n\nexport const SWEEP",
    test: CONTRACT,
    case: "what a cell's node owns and says is nothing to the same name in another cell",
  },
  {
    name: "an end is not remembered",
    find: "SET ended_boot = boot, lease_until = LEAST(lease_until, clock_timestamp())",
    replace: "SET lease_until = LEAST(lease_until, clock_timestamp())",
    test: CONTRACT,
    case: "a boot that left is never revived by a late renewal; a new boot starts at once",
  },
  {
    name: "an end leaves the lease as it is",
    find: "SET ended_boot = boot, lease_until = LEAST(lease_until, clock_timestamp())",
    replace: "SET ended_boot = boot",
    test: CONTRACT,
    case: "leaving frees the accounts at once",
  },
  {
    name: "an end after a lapse moves the lease's end on",
    find: "SET ended_boot = boot, lease_until = LEAST(lease_until, clock_timestamp())",
    replace: "SET ended_boot = boot, lease_until = clock_timestamp()",
    test: CONTRACT,
    case: "an end that is told after a lapse counts from the lapse",
  },
]);
