// Owns the case of rows that are older than a setting of theirs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_LINK_SETTINGS } from "../../protocol/accounts.ts";
import { linkOf } from "../../storage/directory.ts";

test("a link that was stored before a setting came has its default, and keeps what it said", () => {
  const row = { id: "l", master_id: "m", follower_id: "f", magic: 7, enabled: true, settings: { slippagePoints: 9, ageLimitMs: 5 } };
  assert.deepEqual(linkOf(row).settings, { ...DEFAULT_LINK_SETTINGS, slippagePoints: 9, ageLimitMs: 5 });
});
