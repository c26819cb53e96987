// Owns the mutants of Take, Release and the sweep on Postgres, and of what all acquisitions share.
//
// Not here, since nothing changes without it: the boot in "owner is me" (a newer boot of a name is live only once the lease of the
// one before has run out, so that its accounts may be taken in any case).

import { inFile } from "../mutant.ts";

const CONTRACT = "test/storage/postgres.contract.test.ts";
const RACES = "test/storage/takeRaces.test.ts";
const CLOCKS = "test/storage/registryClocks.test.ts";
const EPOCHS = "test/storage/timelineEpochs.test.ts";

const NOT_ALONE = "nothing is taken from a live owner; from one whose lease ran out, or who left, it is";
const OLD_TRANSACTION = "row 5: a take inside an old transaction sees the lease as ended: every time is read where it is used";
const OTHER_DATABASE = "a clock or a timeline that is not expected gives nothing; one within the tolerance does";
const OWN_CELL = "a take asks its own cell's nodes and changes its own cell's row";
const RELEASES = "row 48: a release frees the account only for its owner at its epoch, and once";
const SETTLES = "after an end, from the end; after a lapse, from the end of the lease; after a newer boot, from its start";
const NEVER_FALLS = "it never falls, whoever comes next with whatever settle time";
const SWEEPS = "only nodes long dead that own nothing are removed; accounts and their epochs stay";

export const takeMutants = inFile("storage/registrySql.ts", [
  // Which database.
  { name: "any clock is expected", find: "abs(${NOW_MS} - $${at}::float8) <= $${at + 1}::float8 AND (", replace: "$${at}::float8 IS NOT NULL AND $${at + 1}::float8 IS NOT NULL AND (", test: CONTRACT, case: OTHER_DATABASE },
  { name: "a clock behind the expected one is expected", find: "abs(${NOW_MS} - $${at}::float8)", replace: "(${NOW_MS} - $${at}::float8)", test: CONTRACT, case: OTHER_DATABASE },
  { name: "a clock ahead of the expected one is expected", find: "abs(${NOW_MS} - $${at}::float8)", replace: "($${at}::float8 - ${NOW_MS})", test: CONTRACT, case: OTHER_DATABASE },
  { name: "any timeline is expected", find: "($${at + 2}::int IS NULL OR ${timeline} = $${at + 2}::int)", replace: "($${at + 2}::int IS NULL OR true)", test: CONTRACT, case: OTHER_DATABASE },
  { name: "the clock that is compared stands still in a transaction", find: "extract(epoch FROM clock_timestamp())::float8 * 1000\"", replace: "extract(epoch FROM now())::float8 * 1000\"", test: CLOCKS, case: "inside an old transaction the clock that is told and compared goes on" },

  // Epochs.
  { name: "an epoch rises by one alone, whatever the timeline", find: "`GREATEST(${epoch} + 1, (${timeline} - 1)::bigint * 4294967296 + 1)`", replace: "`${epoch} + 1`", test: EPOCHS, case: "on a new timeline an acquisition's epoch is above all that the one before can have given" },
  { name: "an epoch is the timeline's first, whatever was before", find: "`GREATEST(${epoch} + 1, (${timeline} - 1)::bigint * 4294967296 + 1)`", replace: "`${epoch} * 0 + (${timeline} - 1)::bigint * 4294967296 + 1`", test: CONTRACT, case: "row 25: at an epoch that is not the row's nothing is taken, so an old token is worth nothing" },
  { name: "a take raises no epoch", find: "epoch = ${raised(\"a.epoch\", timeline)}, claimed_at = clock_timestamp(),\n         settle_until = GREATEST(a.settle_until, taken.last_send + make_interval(secs => $6))", replace: "epoch = a.epoch, claimed_at = clock_timestamp(),\n         settle_until = GREATEST(a.settle_until, taken.last_send + make_interval(secs => $6))", test: CONTRACT, case: "row 3: exactly what was asked for is taken, each at a raised epoch, also when the owner is me" },

  // Settle.
  { name: "an owner's last order is judged by its lease, whoever has its name now", find: "\"CASE WHEN o.boot = a.boot THEN LEAST(o.lease_until, clock_timestamp()) ELSE o.started_at END\"", replace: "\"LEAST(o.lease_until, clock_timestamp())\"", test: CONTRACT, case: SETTLES },
  { name: "an owner's last order is judged by the start of the name", find: "\"CASE WHEN o.boot = a.boot THEN LEAST(o.lease_until, clock_timestamp()) ELSE o.started_at END\"", replace: "\"o.started_at\"", test: CONTRACT, case: SETTLES },
  { name: "what is left to settle can be less than nothing", find: "GREATEST(0, coalesce(extract(epoch FROM a.settle_until - clock_timestamp())::float8 * 1000, 0))", replace: "coalesce(extract(epoch FROM a.settle_until - clock_timestamp())::float8 * 1000, 0)", test: CONTRACT, case: "once it is over nothing is left of it" },
  { name: "what is left to settle is read before the transaction's waits", find: "extract(epoch FROM a.settle_until - clock_timestamp())", replace: "extract(epoch FROM a.settle_until - now())", test: CLOCKS, case: "inside an old transaction what is left to settle goes on" },
  { name: "a take waits for my own orders", find: "CASE WHEN a.node = $2 AND a.boot = $3 THEN NULL ELSE ${LAST_SEND} END AS last_send\n      FROM unnest", replace: "${LAST_SEND} AS last_send\n      FROM unnest", test: CONTRACT, case: "nothing is waited for where nobody was, or when everything that was sent was answered" },
  { name: "a take does not wait for the orders of my name's former boot", find: "CASE WHEN a.node = $2 AND a.boot = $3 THEN NULL ELSE ${LAST_SEND} END AS last_send\n      FROM unnest", replace: "CASE WHEN a.node = $2 THEN NULL ELSE ${LAST_SEND} END AS last_send\n      FROM unnest", test: CONTRACT, case: "a take waits for its former owner as a claim does, also for a former boot of its own name" },
  { name: "a take does not wait for the orders of another node", find: "CASE WHEN a.node = $2 AND a.boot = $3 THEN NULL ELSE ${LAST_SEND} END AS last_send\n      FROM unnest", replace: "CASE WHEN true THEN NULL ELSE ${LAST_SEND} END AS last_send\n      FROM unnest", test: CONTRACT, case: "a take waits for its former owner as a claim does, also for a former boot of its own name" },
  { name: "a take's settle time can fall", find: "settle_until = GREATEST(a.settle_until, taken.last_send + make_interval(secs => $6))", replace: "settle_until = coalesce(taken.last_send + make_interval(secs => $6), a.settle_until)", test: CONTRACT, case: NEVER_FALLS },
  { name: "a release's settle time can fall", find: "settle_until = GREATEST(settle_until, CASE WHEN $6::float8 > 0 THEN clock_timestamp() + make_interval(secs => $6) END)", replace: "settle_until = CASE WHEN $6::float8 > 0 THEN clock_timestamp() + make_interval(secs => $6) ELSE settle_until END", test: CONTRACT, case: NEVER_FALLS },
  { name: "a release says nothing of what is unsettled", find: "settle_until = GREATEST(settle_until, CASE WHEN $6::float8 > 0 THEN clock_timestamp() + make_interval(secs => $6) END)", replace: "settle_until = GREATEST(settle_until, CASE WHEN $6::float8 < 0 THEN clock_timestamp() END)", test: CONTRACT, case: "after a release that was not answered for, as long as it says" },

  // Take.
  { name: "a take gets an account at any epoch", find: "ON a.cell = $1 AND a.id = w.id AND a.epoch = w.epoch\n", replace: "ON a.cell = $1 AND a.id = w.id\n", test: CONTRACT, case: "row 25: at an epoch that is not the row's nothing is taken, so an old token is worth nothing" },
  { name: "a take that was held up gets an account at another epoch", find: "JOIN wanted w ON w.id = a.id AND w.epoch = a.epoch\n", replace: "JOIN wanted w ON w.id = a.id\n", test: RACES, case: "of two takes of one account at one epoch exactly one gets it: the second, held up with the older snapshot, nothing" },
  { name: "a take that was held up takes its own account back from whom it was given to", find: "JOIN wanted w ON w.id = a.id AND w.epoch = a.epoch\n", replace: "JOIN wanted w ON w.id = a.id\n", test: RACES, case: "and the other way: once that claim has committed, the owner's take gets nothing, whatever its snapshot showed" },
  { name: "a take gets accounts of another cell", find: "JOIN trading_accounts a ON a.cell = $1 AND a.id = w.id AND a.epoch = w.epoch\n", replace: "JOIN trading_accounts a ON a.id = w.id AND a.epoch = w.epoch\n", test: CONTRACT, case: OWN_CELL },
  { name: "a take that was held up finds another cell's row at its epoch", find: "WHERE a.cell = $1 ORDER BY a.id FOR UPDATE OF a SKIP LOCKED", replace: "ORDER BY a.id FOR UPDATE OF a SKIP LOCKED", test: CLOCKS, case: "a take that was held up is not fooled by another cell's row of the same name" },
  { name: "a take waits for an account that another session holds", find: "ORDER BY a.id FOR UPDATE OF a SKIP LOCKED", replace: "ORDER BY a.id FOR UPDATE OF a", test: RACES, case: "a take passes over an account that another session holds, instead of waiting, and gets the rest; undone, it gets that one too" },
  { name: "a take locks nothing before it changes it", find: "ORDER BY a.id FOR UPDATE OF a SKIP LOCKED", replace: "ORDER BY a.id", test: RACES, case: "of two takes of one account at one epoch exactly one gets it: the second, held up with the older snapshot, nothing" },
  { name: "a live owner's account is taken", find: "WHERE (a.node = $2 AND a.boot = $3 OR (o.boot = a.boot AND o.lease_until > clock_timestamp()) IS NOT TRUE)\n", replace: "WHERE true\n", test: CONTRACT, case: NOT_ALONE },
  { name: "my own account is not taken", find: "WHERE (a.node = $2 AND a.boot = $3 OR (o.boot = a.boot AND o.lease_until > clock_timestamp()) IS NOT TRUE)\n", replace: "WHERE (o.boot = a.boot AND o.lease_until > clock_timestamp()) IS NOT TRUE\n", test: CONTRACT, case: "row 3: exactly what was asked for is taken, each at a raised epoch, also when the owner is me" },
  { name: "only my own account is taken", find: "WHERE (a.node = $2 AND a.boot = $3 OR (o.boot = a.boot AND o.lease_until > clock_timestamp()) IS NOT TRUE)\n", replace: "WHERE a.node = $2 AND a.boot = $3\n", test: CONTRACT, case: NOT_ALONE },
  { name: "another node with my boot's name is me", find: "WHERE (a.node = $2 AND a.boot = $3 OR (o.boot = a.boot AND o.lease_until > clock_timestamp()) IS NOT TRUE)\n", replace: "WHERE (a.boot = $3 OR (o.boot = a.boot AND o.lease_until > clock_timestamp()) IS NOT TRUE)\n", test: CONTRACT, case: "names and boots are compared both: a boot's name under another node is nobody's" },
  { name: "an owner whose lease ran out counts as live", find: "(o.boot = a.boot AND o.lease_until > clock_timestamp()) IS NOT TRUE)", replace: "(o.boot = a.boot) IS NOT TRUE)", test: CONTRACT, case: NOT_ALONE },
  { name: "an owner is live by what its name's newer boot has", find: "(o.boot = a.boot AND o.lease_until > clock_timestamp()) IS NOT TRUE)", replace: "(o.lease_until > clock_timestamp()) IS NOT TRUE)", test: CONTRACT, case: "a take waits for its former owner as a claim does, also for a former boot of its own name" },
  { name: "an owner is live by what its name has in another cell", find: "ON o.cell = a.cell AND o.node = a.node\n     WHERE (a.node", replace: "ON o.node = a.node\n     WHERE (a.node", test: CONTRACT, case: OWN_CELL },
  { name: "an owner's lease is judged by the time of the transaction", find: "(o.boot = a.boot AND o.lease_until > clock_timestamp()) IS NOT TRUE)", replace: "(o.boot = a.boot AND o.lease_until > now()) IS NOT TRUE)", test: RACES, case: OLD_TRANSACTION },
  { name: "an owner is live by what another node has", find: "ON o.cell = a.cell AND o.node = a.node\n     WHERE (a.node", replace: "ON o.cell = a.cell AND o.boot = a.boot\n     WHERE (a.node", test: CONTRACT, case: "a take waits for its former owner as a claim does, also for a former boot of its own name" },
  { name: "who has no lease takes", find: "       AND EXISTS (SELECT 1 FROM nodes me WHERE me.cell = $1 AND me.node = $2 AND me.boot = $3 AND me.lease_until > clock_timestamp())\n", replace: "", test: CONTRACT, case: NOT_ALONE },
  { name: "who has only had a lease takes", find: "AND me.boot = $3 AND me.lease_until > clock_timestamp())", replace: "AND me.boot = $3)", test: CONTRACT, case: NOT_ALONE },
  { name: "a former boot takes on the lease of its name's newer one", find: "me.node = $2 AND me.boot = $3 AND me.lease_until", replace: "me.node = $2 AND me.lease_until", test: CONTRACT, case: "a former boot claims nothing on the lease of its name's newer one, and takes nothing" },
  { name: "anybody takes on the lease of the same boot's name elsewhere", find: "me.node = $2 AND me.boot = $3 AND me.lease_until", replace: "me.boot = $3 AND me.lease_until", test: CONTRACT, case: "names and boots are compared both: a boot's name under another node is nobody's" },
  { name: "a lease of another cell is mine", find: "me WHERE me.cell = $1 AND me.node = $2", replace: "me WHERE me.node = $2", test: CONTRACT, case: OWN_CELL },
  { name: "my own lease is judged by the time of the transaction", find: "AND me.boot = $3 AND me.lease_until > clock_timestamp())", replace: "AND me.boot = $3 AND me.lease_until > now())", test: CLOCKS, case: "inside an old transaction my own lease has run out once it has" },
  { name: "a take does not ask which database it is on", find: "\n       AND ${isExpected(7, timeline)}\n", replace: "\n       AND ($7::float8, $8::float8, $9::int) IS DISTINCT FROM (0::float8, -1::float8, 0)\n", test: CONTRACT, case: OTHER_DATABASE },
  { name: "a take changes the accounts of every cell", find: "make_interval(secs => $6)) -- (8)\n    FROM taken\n   WHERE a.cell = $1 AND a.id = taken.id", replace: "make_interval(secs => $6)) -- (8)\n    FROM taken\n   WHERE a.id = taken.id", test: CONTRACT, case: OWN_CELL },

  // Release.
  { name: "a release frees another node's account", find: "AND node = $3 AND boot = $4 AND epoch = $5\n", replace: "AND $3::text IS NOT NULL AND boot = $4 AND epoch = $5\n", test: CONTRACT, case: "names and boots are compared both: a boot's name under another node is nobody's" },
  { name: "a release frees another boot's account", find: "AND node = $3 AND boot = $4 AND epoch = $5\n", replace: "AND node = $3 AND $4::text IS NOT NULL AND epoch = $5\n", test: CONTRACT, case: RELEASES },
  { name: "a release frees an account at any epoch", find: "AND node = $3 AND boot = $4 AND epoch = $5\n", replace: "AND node = $3 AND boot = $4 AND $5::bigint IS NOT NULL\n", test: CONTRACT, case: RELEASES },
  { name: "a release frees an account of every cell", find: "WHERE cell = $1 AND id = $2 AND node = $3", replace: "WHERE $1::text IS NOT NULL AND id = $2 AND node = $3", test: CONTRACT, case: "a release frees its own cell's row" },
  { name: "a release frees every account of its owner at this epoch", find: "WHERE cell = $1 AND id = $2 AND node = $3", replace: "WHERE cell = $1 AND $2::text IS NOT NULL AND node = $3", test: CONTRACT, case: RELEASES },
  { name: "what is given back was free all along", find: "boot = NULL, freed_at = clock_timestamp(),", replace: "boot = NULL,", test: CONTRACT, case: "an account given back counts from then" },

  // Sweep.
  { name: "a node that has only just lapsed is swept away", find: "n.lease_until < clock_timestamp() - make_interval(secs => $2)\n", replace: "n.lease_until < clock_timestamp() + 0 * make_interval(secs => $2)\n", test: CONTRACT, case: SWEEPS },
  { name: "a node that owns accounts is swept away", find: "\n     AND NOT EXISTS (SELECT 1 FROM trading_accounts a WHERE a.cell = n.cell AND a.node = n.node)", replace: "", test: CONTRACT, case: SWEEPS },
  { name: "a node is kept for what another owns", find: "a.cell = n.cell AND a.node = n.node)", replace: "a.cell = n.cell AND a.node IS NOT NULL)", test: CONTRACT, case: SWEEPS },
  { name: "a node is kept for what its name owns in another cell", find: "a.cell = n.cell AND a.node = n.node)", replace: "a.node = n.node)", test: CONTRACT, case: "nodes of another cell are left alone" },
  { name: "nodes of every cell are swept away", find: "WHERE n.cell = $1 AND n.lease_until < clock_timestamp()", replace: "WHERE $1::text IS NOT NULL AND n.lease_until < clock_timestamp()", test: CONTRACT, case: "nodes of another cell are left alone" },
]);
