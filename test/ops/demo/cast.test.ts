// Owns the tests of a demo's cast.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { followerSymbol } from "../../../actors/core/symbols.ts";
import { checkMarket } from "../../../ops/broker/accounts.ts";
import { accountsOf, castOf, CREDENTIALS, CREDENTIALS_REF, MAX_FOLLOWERS, type Cast } from "../../../ops/demo/cast.ts";
import { resolveCredentials } from "../../../ops/credentials.ts";
import { readStatement } from "../../../ops/statement/read.ts";
import { demoFile } from "../statement/fixture.ts";
import { statementOf } from "./mt4Html.ts";

const bundled = readStatement(readFileSync(demoFile), demoFile);
const trading = (...symbols: readonly string[]): Cast =>
  castOf(statementOf(symbols.map((symbol, index) => ({ ticket: index + 1, type: "buy", symbol, lots: "0.10", openSecond: index, price: "1.10000", closeSecond: index + 1, lastPrice: "1.10000" }))), 6);
/** Each follower's names for the statement's symbols, as the links' rules make them. */
const namesIn = ({ master, followers }: Cast): (readonly [string, string | undefined])[][] =>
  followers.map(({ broker, link }) =>
    master.symbols.map(({ symbol }) => {
      const wanted = followerSymbol(link.settings.symbols, symbol).toLowerCase();
      return [symbol, broker.symbols.find((offered) => offered.symbol.toLowerCase() === wanted)?.instrument] as const;
    }),
  );

test("troupes side by side share no name, and each trades at its own brokers", () => {
  const troupes = ["m1", "m2"].map((master) => castOf(bundled, 8, { master, prefix: `${master}-`, password: "p" }));
  const accounts = troupes.flatMap((cast) => accountsOf(cast, "127.0.0.1:1", "env:LOCKSTEP_SECRET_P"));
  assert.equal(new Set(accounts.map(({ id }) => id)).size, 18);
  assert.equal(new Set(troupes.flatMap(({ followers }) => followers.map(({ link }) => link.id))).size, 16);
  assert.deepEqual(troupes[1]?.followers.map(({ broker }) => broker.account).slice(5), ["m2-f6", "m2-f1-2", "m2-f2-2"]);
  assert.deepEqual(accounts.filter(({ role }) => role === "master").map(({ id }) => id), ["m1", "m2"]);
  assert.ok(accounts.every(({ credentialsRef }) => credentialsRef === "env:LOCKSTEP_SECRET_P"));
});

test("the same statement gives the same cast", () => assert.deepEqual(castOf(bundled, 17), castOf(bundled, 17)));

test("of two hundred followers no two share an account, a login, a link or a magic number", () => {
  const { instruments, master, followers } = castOf(bundled, MAX_FOLLOWERS);
  checkMarket(instruments, [master, ...followers.map(({ broker }) => broker)]);
  const distinct = (values: readonly unknown[]): number => new Set(values).size;
  assert.equal(distinct(followers.map(({ broker }) => broker.account)), MAX_FOLLOWERS);
  assert.equal(distinct(followers.map(({ broker }) => broker.login)), MAX_FOLLOWERS);
  assert.equal(distinct(followers.map(({ link }) => link.id)), MAX_FOLLOWERS);
  assert.equal(distinct(followers.map(({ link }) => link.magic)), MAX_FOLLOWERS);
});

test("of six followers four are MT4-like and two MT5-like", () => assert.deepEqual(castOf(bundled, 6).followers.map(({ broker }) => broker.platform), ["mt4", "mt4", "mt4", "mt4", "mt5", "mt5"]));

describe("the links' rules lead from each of the master's symbols to the same instrument at the follower's broker", () => {
  const cases: readonly (readonly string[])[] = [["eurusd"], ["EURUSD.", "GBPUSD."], ["eurusd-2", "xauusd-2"], ["XAUUSD@"], ["eurusd.Z", "us30"], ["#IBM"], ["EURUSD", "EURUSD."], ["m.eurusd"]];
  for (const symbols of cases) {
    test(symbols.join(" "), () => {
      for (const names of namesIn(trading(...symbols))) assert.deepEqual(names, symbols.map((symbol) => [symbol, symbol]));
    });
  }
});

test("one follower's broker lacks the least traded of three or more symbols", () => {
  const lacking = namesIn(castOf(bundled, 6)).flatMap((names, index) => names.filter(([, instrument]) => instrument === undefined).map(([symbol]) => [index, symbol]));
  assert.equal(lacking.length, 1);
  assert.deepEqual(namesIn(trading("eurusd", "gbpusd")).flat().filter(([, instrument]) => instrument === undefined), []);
});

test("accounts name their password and do not hold it", () => {
  const accounts = accountsOf(castOf(bundled, 6), "127.0.0.1:9510");
  assert.deepEqual(accounts.map(({ role }) => role), ["master", ...Array.from({ length: 6 }, () => "follower")]);
  for (const account of accounts) assert.equal(account.credentialsRef, CREDENTIALS_REF);
  assert.equal(resolveCredentials(CREDENTIALS_REF, CREDENTIALS), castOf(bundled, 6).master.password);
});
