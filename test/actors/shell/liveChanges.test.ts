// Owns the cases of accounts and links that are changed while a node serves them: within two
// seconds, and without a session of another account being touched.

import assert from "node:assert/strict";
import { LockstepError } from "../../../protocol/errors.ts";
import type { Account, Link, LinkSettings } from "../../../protocol/accounts.ts";
import { accountId, linkId, magic, type AccountId } from "../../../protocol/ids.ts";
import type { Directory } from "../../../protocol/ports/storage.ts";
import { EURUSD, lots, MASTER } from "../../sim/cell.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

const SEEN_MS = 2_000;

interface Change {
  readonly account?: (account: Account) => Account | null;
  readonly link?: (link: Link) => Link | null;
  readonly more?: readonly Link[];
}

/** Applies what is stored with a change; null takes it out of the file. Nothing may be refused. */
async function change(scene: Scene, { account = (same) => same, link = (same) => same, more = [] }: Change): Promise<void> {
  const { directory } = scene.outside.storage;
  const accounts = (await directory.accounts()).flatMap((item) => account(item) ?? []);
  const links = (await directory.links()).flatMap((item) => link(item) ?? []);
  const { refused } = await directory.apply({ accounts, links: [...links, ...more] }, { dryRun: false });
  assert.deepEqual(refused, []);
  await scene.clock.advance(SEEN_MS);
}

const settings = (of: Partial<LinkSettings>) => (link: Link): Link => ({ ...link, settings: { ...link.settings, ...of } });
const only = <T extends { readonly id: string }>(id: string, changed: (item: T) => T | null) => (item: T): T | null => (item.id === id ? changed(item) : item);
const out = (): null => null;
const without = (id: AccountId) => (account: Account): Account | null => (account.id === id ? null : account);

scenario("a link's settings reach its running actor: the next trade is copied by them, on the same session", { followers: [{}, {}], seeds: 10 }, async (scene) => {
  const first = scene.open(1);
  await scene.rest();
  await change(scene, { link: only(scene.link.id, settings({ sizing: { mode: "multiplier", factorMillionths: 2_000_000 } })) });
  const second = scene.open(1);
  await scene.rest();
  assert.deepEqual([first, second].map(({ ticket }) => scene.copyOf(ticket)?.volume), [lots(1), lots(2)]);
  assert.equal(scene.outside.followers[1]?.standing(`mc${second.ticket}`)[0]?.volume, lots(1), "the other link is as it was");
  assert.equal(scene.node.allSessions.length, 3);
});

scenario("levels that are copied from now on are set on the copies that stand", { followers: [{ settings: { copyStops: false } }], seeds: 5 }, async (scene) => {
  const trade = scene.open(1, { stopLoss: 100_000 as never });
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket)?.stopLoss, null);
  await change(scene, { link: settings({ copyStops: true }) });
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket)?.stopLoss, 100_000);
});

scenario("a link that is taken out is close-only: nothing new, and its live copies are followed to their end", { seeds: 20 }, async (scene) => {
  const [parted, closed, kept] = [scene.open(1), scene.open(1), scene.open(1)];
  const pending = scene.master.place({ symbol: EURUSD, kind: "buy_limit", volume: lots(1), price: 100_000 as never });
  await scene.rest();
  await change(scene, { link: out });
  const fresh = scene.open(1);
  scene.master.close(parted.ticket, "manual", lots(0.5));
  scene.master.close(closed.ticket, "manual");
  scene.master.modify(kept.ticket, 100_500 as never, null);
  scene.master.remove(pending.ticket, "cancelled");
  await scene.rest();
  assert.equal(scene.copyOf(fresh.ticket), null);
  assert.deepEqual([(await scene.row(fresh.ticket))?.status, (await scene.row(fresh.ticket))?.reason], ["Skipped", "link_off"]);
  assert.equal(scene.copyOf(parted.ticket)?.volume, lots(0.5));
  assert.equal(scene.copyOf(closed.ticket), null);
  assert.equal(scene.copyOf(kept.ticket)?.stopLoss, 100_500);
  assert.equal(scene.follower.pendings.size, 0);
  // Named again it opens what is new from then on, not what it let pass.
  await change(scene, { link: (link) => ({ ...link, enabled: true }) });
  const later = scene.open(1);
  await scene.rest();
  assert.ok(scene.copyOf(later.ticket) !== null);
  assert.equal(scene.copyOf(fresh.ticket), null);
});

scenario("orphans of a link that is off are closed: the master closed while nobody looked", { seeds: 10 }, async (scene) => {
  const trade = scene.open(1);
  await scene.rest();
  await change(scene, { link: out });
  await scene.node.kill();
  scene.master.close(trade.ticket, "manual");
  await scene.clock.advance(1_000);
  await scene.boot();
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket), null);
  // The writers' group has to notice that a member died.
  await scene.clock.advance(60_000);
  assert.equal((await scene.row(trade.ticket))?.status, "Closed");
});

scenario("a new link of a held follower is served, from its other master's book on", { followers: [{}, {}], seeds: 10 }, async (scene) => {
  const second = scene.outside.followers[1];
  const added: Link = { ...scene.link, id: linkId("added"), follower: accountId("follower2"), magic: magic(999) };
  const before = scene.open(1);
  await scene.rest();
  await change(scene, { more: [added] });
  const after = scene.open(1);
  await scene.rest();
  const copies = (ticket: number) => second?.standing(`mc${ticket}`).map((copy) => copy.magic).sort();
  assert.deepEqual(copies(after.ticket), [701, 999]);
  assert.deepEqual(copies(before.ticket), [701, 999], "what the master held is opened late, within slippage and age");
  assert.equal(scene.node.allSessions.length, 3);
});

scenario("a follower that is taken out is let go in order: drained, given back, and not claimed again; named again, it is", { followers: [{}, {}], seeds: 10 }, async (scene) => {
  const { follower } = scene.link;
  await change(scene, { link: only<Link>(scene.link.id, out), account: without(follower) });
  await scene.clock.advance(30_000);
  assert.deepEqual(scene.node.keeper.accounts.map(({ account }) => account).sort(), ["follower2", "master"]);
  assert.equal(scene.session.connected, false);
  assert.deepEqual([scene.outside.followers[1]?.logins, scene.master.logins], [1, 1], "the others' sessions stay");
  await change(scene, { account: (account) => ({ ...account, enabled: true }), link: (link) => ({ ...link, enabled: true }) });
  await scene.clock.advance(5_000);
  await scene.rest();
  const trade = scene.open(1);
  await scene.rest();
  assert.ok(scene.copyOf(trade.ticket) !== null);
});

scenario("a master that is taken out is let go; its followers stay", { seeds: 5 }, async (scene) => {
  await change(scene, { link: out, account: without(MASTER) });
  await scene.clock.advance(10_000);
  assert.deepEqual(scene.node.keeper.accounts.map(({ account }) => account), [scene.link.follower]);
  assert.equal(scene.masterSession.connected, false);
  assert.equal(scene.follower.logins, 1);
});

for (const [what, account] of [
  ["another address", (old: Account) => ({ ...old, broker: "elsewhere:1" })],
  ["other credentials", (old: Account) => ({ ...old, credentialsRef: "env:OTHER" })],
] as const) {
  scenario(`${what}: that account's session is made anew, and no other; an order under way is waited for`, { followers: [{}, {}], seeds: 10 }, async (scene) => {
    const { session } = scene;
    const trade = scene.open(1);
    await change(scene, { account: only(scene.link.follower, account) });
    await scene.rest();
    assert.notEqual(scene.session, session);
    assert.equal(session.connected, false);
    assert.ok(scene.copyOf(trade.ticket) !== null);
    assert.deepEqual([scene.follower.logins, scene.outside.followers[1]?.logins, scene.master.logins], [2, 1, 1]);
    const later = scene.open(1);
    await scene.rest();
    assert.ok(scene.copyOf(later.ticket) !== null);
  });
}

scenario("a master's address changes: its session is made anew and counts its ticks on", { seeds: 10 }, async (scene) => {
  scene.open(1);
  await scene.rest();
  await change(scene, { account: only(MASTER, (old) => ({ ...old, broker: "elsewhere:1" })) });
  await scene.clock.advance(3_000);
  const trade = scene.open(1);
  await scene.rest();
  assert.ok(scene.copyOf(trade.ticket) !== null);
  assert.deepEqual([scene.master.logins, scene.follower.logins], [2, 1]);
});

scenario("several changes before the first has come to an end: the last one counts, in one session", { seeds: 20 }, async (scene) => {
  const { directory } = scene.outside.storage;
  const [accounts, links] = [await directory.accounts(), await directory.links()];
  for (const broker of ["a:1", "b:1", "c:1"]) {
    await directory.apply({ accounts: accounts.map((account) => (account.role === "follower" ? { ...account, broker } : account)), links }, { dryRun: false });
    scene.node.watch.ask();
    await scene.clock.advance(5);
  }
  scene.open(1);
  await scene.rest();
  assert.equal(scene.node.allSessions.filter(({ account, connected }) => account === scene.link.follower && connected).length, 1);
});

{
  const state = { down: false };
  const fails = <T>(work: () => Promise<T>): Promise<T> => (state.down ? Promise.reject(new LockstepError("database_busy", "no connection")) : work());
  const wrapDirectory = (directory: Directory): Directory => ({ ...directory, version: () => fails(directory.version), read: () => fails(directory.read), park: (...park) => fails(() => directory.park(...park)) });

  scenario("a database that does not answer leaves everything as it is", { wrapDirectory, seeds: 3 }, async (scene) => {
    state.down = true;
    await change(scene, { link: settings({ sizing: { mode: "fixed", volume: lots(3) } }) });
    const trade = scene.open(1);
    await scene.rest();
    assert.equal(scene.copyOf(trade.ticket)?.volume, lots(1));
    state.down = false;
    await scene.clock.advance(SEEN_MS);
    const later = scene.open(1);
    await scene.rest();
    assert.equal(scene.copyOf(later.ticket)?.volume, lots(3));
  });

  scenario("a refused login parks the account: tried once, given back, and left alone until it is applied again", { wrapDirectory, followers: [{}, {}], seeds: 10 }, async (scene) => {
    const { directory } = scene.outside.storage;
    scene.follower.refusesLogins = "invalid password";
    scene.session.disconnect();
    await scene.clock.advance(60_000);
    assert.equal(scene.follower.logins, 2, "a broker locks accounts for repeating it");
    assert.deepEqual([...(await directory.read()).parked], [[scene.link.follower, "invalid password"]]);
    assert.deepEqual(scene.node.keeper.accounts.map(({ account }) => account).sort(), ["follower2", "master"]);
    assert.equal(scene.node.logger.lines.filter(({ text }) => /login refused/.test(text)).length, 1);
    const trade = scene.open(1);
    await scene.clock.advance(5_000);
    assert.equal(scene.outside.followers[1]?.standing(`mc${trade.ticket}`).length, 1, "the others go on");
    scene.follower.refusesLogins = null;
    await change(scene, {});
    await scene.clock.advance(5_000);
    await scene.rest();
    const later = scene.open(1);
    await scene.rest();
    assert.ok(scene.copyOf(later.ticket) !== null);
    assert.equal(scene.follower.logins, 3);
  });

  scenario("a login that is refused while the database does not answer is not tried again until the account is parked", { wrapDirectory, seeds: 5 }, async (scene) => {
    state.down = true;
    scene.follower.refusesLogins = "invalid password";
    scene.session.disconnect();
    await scene.clock.advance(60_000);
    assert.deepEqual([scene.follower.logins, (await scene.outside.storage.directory.read()).parked.size], [2, 0]);
    state.down = false;
    await scene.clock.advance(10_000);
    assert.deepEqual([scene.follower.logins, (await scene.outside.storage.directory.read()).parked.size], [2, 1]);
    scene.follower.refusesLogins = null;
    await change(scene, {});
    await scene.clock.advance(5_000);
    await scene.rest();
  });

  scenario("credentials that were put right while the login was being refused are tried, and the account is not parked", { wrapDirectory, seeds: 5 }, async (scene) => {
    state.down = true;
    scene.follower.refusesLogins = "invalid password";
    scene.session.disconnect();
    await scene.clock.advance(5_000);
    scene.follower.refusesLogins = null;
    await change(scene, { account: only(scene.link.follower, (old) => ({ ...old, credentialsRef: "env:RIGHT" })) });
    state.down = false;
    await scene.clock.advance(5_000);
    await scene.rest();
    assert.deepEqual([scene.session.connected, (await scene.outside.storage.directory.read()).parked.size], [true, 0]);
  });
}

scenario("a master whose login is refused is parked, and its followers stay", { seeds: 5 }, async (scene) => {
  scene.master.refusesLogins = "account disabled";
  scene.masterSession.disconnect();
  await scene.clock.advance(30_000);
  assert.deepEqual([scene.master.logins, scene.follower.logins], [2, 1]);
  assert.deepEqual(scene.node.keeper.accounts.map(({ account }) => account), [scene.link.follower]);
});
