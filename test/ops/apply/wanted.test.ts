// Owns the cases of reading a file of accounts and links: what it may say, and each fault at its line.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { readWanted } from "../../../ops/apply/wanted.ts";
import { sizingWords } from "../../../ops/apply/settings.ts";
import { DEFAULT_LINK_SETTINGS } from "../../../protocol/accounts.ts";
import type { WantedDirectory } from "../../../protocol/ports/storage.ts";
import { volumeFromLots } from "../../../protocol/units.ts";

const GOOD = `accounts:
  - id: m1
    role: master
    platform: mt4
    broker: broker.example:443
    login: 100001
    credentials: env:M1_PASSWORD
  - { id: f1, role: follower, platform: mt5, broker: "[::1]:443", login: 7, credentials: "file:/run/secrets/f1", enabled: false }
links:
  - id: m1-f1
    master: m1
    follower: f1
    magic: 7001
`;

function wanted(text: string): WantedDirectory {
  const read = readWanted(text);
  assert.deepEqual(read.kind === "faults" ? read.faults : [], []);
  assert.ok(read.kind === "wanted");
  return read.wanted;
}

function faults(text: string): readonly string[] {
  const read = readWanted(text);
  assert.ok(read.kind === "faults");
  return read.faults.map((fault) => `${fault.line} ${fault.path}: ${fault.text}`);
}

const settings = (lines: string): WantedDirectory["links"][number]["settings"] => {
  const indented = lines.split("\n").map((line) => `    ${line}\n`).join("");
  const [link] = wanted(GOOD + indented).links;
  assert.ok(link !== undefined);
  return link.settings;
};

describe("a file that is right", () => {
  test("what it does not name has its default", () => {
    assert.deepEqual(wanted(GOOD), {
      accounts: [
        { id: "m1", role: "master", platform: "mt4", broker: "broker.example:443", login: 100_001, credentialsRef: "env:M1_PASSWORD", enabled: true },
        { id: "f1", role: "follower", platform: "mt5", broker: "[::1]:443", login: 7, credentialsRef: "file:/run/secrets/f1", enabled: false },
      ],
      links: [{ id: "m1-f1", master: "m1", follower: "f1", magic: 7001, enabled: true, settings: DEFAULT_LINK_SETTINGS }],
    });
  });

  test("it may name every setting of a link", () => {
    assert.deepEqual(
      settings(`enabled: false
sizing: { mode: multiplier, factor: 0.333333 }
belowMinimum: minimum
residue: close
aboveMaximum: skip
symbols: { masterPrefix: m., masterSuffix: "", followerPrefix: "", followerSuffix: .5, map: { GOLD: XAUUSD@, "1COV": 1COV.x } }
slippagePoints: 0
ageLimitMs: 86400000
lateOpenMs: 0
copyStops: false
copyPendings: false`),
      {
        sizing: { mode: "multiplier", factorMillionths: 333_333 },
        belowMinimum: "minimum",
        residue: "close",
        aboveMaximum: "skip",
        symbols: { masterPrefix: "m.", masterSuffix: "", followerPrefix: "", followerSuffix: ".5", map: { GOLD: "XAUUSD@", "1COV": "1COV.x" } },
        slippagePoints: 0,
        ageLimitMs: 86_400_000,
        lateOpenMs: 0,
        copyStops: false,
        copyPendings: false,
      },
    );
  });

  test("linkDefaults stand for what a link does not name", () => {
    const [link] = wanted(`linkDefaults:\n  slippagePoints: 9\n  symbols: { followerSuffix: .r }\n${GOOD}    symbols: { masterSuffix: -2 }\n`).links;
    assert.deepEqual(link?.settings, { ...DEFAULT_LINK_SETTINGS, slippagePoints: 9, symbols: { ...DEFAULT_LINK_SETTINGS.symbols, masterSuffix: "-2", followerSuffix: ".r" } });
  });

  test("what stands at an anchor may be meant again", () => {
    const { links } = wanted(`${GOOD}    sizing: &small { mode: fixed, volume: 0.01 }\n  - { id: other, master: m1, follower: f1, magic: 2, sizing: *small }\n`);
    assert.deepEqual(links.map(({ settings: { sizing } }) => sizing), Array.from({ length: 2 }, () => ({ mode: "fixed", volume: volumeFromLots("0.01") })));
  });

  test("decimals are read digit by digit, and told as they are written", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), (millionths) => {
        const words = sizingWords({ mode: "multiplier", factorMillionths: millionths });
        assert.deepEqual(settings(`sizing: { mode: multiplier, factor: ${words.factor} }`).sizing, { mode: "multiplier", factorMillionths: millionths });
      }),
      { numRuns: 50 },
    );
    assert.deepEqual(sizingWords({ mode: "multiplier", factorMillionths: 100_000_000 }), { mode: "multiplier", factor: "100" });
    assert.deepEqual(sizingWords({ mode: "fixed", volume: volumeFromLots("0.1") }), { mode: "fixed", volume: "0.10" });
  });
});

describe("each fault is told with its line, what was expected and what came", () => {
  const cases: readonly (readonly [string, string, string, string])[] = [
    ["an unknown key of an account", "login: 100001", "login: 100001\n    password: hunter2", '7 accounts/m1/password: expected one of id, role, platform, broker, login, credentials, enabled, got the unknown key "password"'],
    ["an unknown key at the top", "accounts:", "account: 3\naccounts:", '1 account: expected one of accounts, links, linkDefaults, got the unknown key "account"'],
    ["an unknown key of a link", "magic: 7001", "magic: 7001\n    slippage: 3", '14 links/m1-f1/slippage: expected one of id, master, follower, magic, enabled, sizing, belowMinimum, residue, aboveMaximum, symbols, slippagePoints, ageLimitMs, lateOpenMs, copyStops, copyPendings, got the unknown key "slippage"'],
    ["a merge key", "magic: 7001", "magic: 7001\n    <<: {}", "14 links/m1-f1/<<: expected one of id"],
    ["a key that is missing", "    magic: 7001\n", "", "10 links/m1-f1: expected magic, got nothing of that name"],
    ["a key without a value", "login: 100001", "login:", "6 accounts/m1/login: expected a whole number from 0 to 999999999999999, got nothing"],
    ["a key that stands twice", "login: 100001", "login: 100001\n    login: 5", "7 : expected each key once, got one that stands above already"],
    ["a word for a number", "login: 100001", "login: 1e5", '6 accounts/m1/login: expected a whole number from 0 to 999999999999999, got "1e5"'],
    ["a number below zero", "login: 100001", "login: -1", '6 accounts/m1/login: expected a whole number from 0 to 999999999999999, got "-1"'],
    ["another role", "role: master", "role: both", '3 accounts/m1/role: expected one of master, follower, got "both"'],
    ["another platform", "platform: mt4", "platform: mt6", '4 accounts/m1/platform: expected one of mt4, mt5, got "mt6"'],
    ["a broker without a port", "broker.example:443", "broker.example", '5 accounts/m1/broker: expected host:port, got "broker.example"'],
    ["yes for true", "enabled: false", "enabled: yes", '8 accounts/f1/enabled: expected true or false, got "yes"'],
    ["an id with a blank", "id: m1\n", "id: m 1\n", "2 accounts/m 1/id: expected 1-64 letters, digits"],
    ["an account that stands twice", "id: f1,", "id: m1,", "8 accounts/m1/id: expected an id that no other account has, got m1, as in line 2"],
    ["a login that stands twice", '"[::1]:443", login: 7', "broker.example:443, login: 100001", "8 accounts/f1/login: expected a login that no other account has at this broker, got 100001 at broker.example:443, as in line 6"],
    ["a link that stands twice", "magic: 7001", "magic: 7001\n  - { id: m1-f1, master: m1, follower: f1, magic: 2 }", "14 links/m1-f1/id: expected an id that no other link has, got m1-f1, as in line 10"],
    ["a magic that stands twice on one follower", "magic: 7001", "magic: 7001\n  - { id: other, master: m1, follower: f1, magic: 7001 }", "14 links/other/magic: expected a magic that no other link has on this follower, got 7001 on f1, as in line 13"],
    ["magic 0, which trades by hand have", "magic: 7001", "magic: 0", '13 links/m1-f1/magic: expected a whole number from 1 to 2147483647, got "0"'],
    ["a magic of more than 32 bits", "magic: 7001", "magic: 2147483648", '13 links/m1-f1/magic: expected a whole number from 1 to 2147483647, got "2147483648"'],
    ["an unknown account", "follower: f1", "follower: f2", '12 links/m1-f1/follower: expected a follower among the accounts of this file, got "f2", which is none'],
    ["a follower as master", "master: m1", "master: f1", '11 links/m1-f1/master: expected a master, got "f1", which is a follower'],
    ["a mapping for a text", "id: m1\n", "id: { a: b }\n", "2 accounts[0]/id: expected a plain value, got a mapping"],
    ["a list for a mapping", "  - id: m1-f1\n    master: m1\n    follower: f1\n    magic: 7001\n", "  - [m1]\n", "10 links[0]: expected a mapping with id, master"],
    ["a mapping for a list", "links:\n  - id: m1-f1\n    master: m1\n    follower: f1\n    magic: 7001\n", "links: { m1-f1: {} }\n", '9 links: expected a list, one "- " an item, got a mapping'],
    ["another mode", "magic: 7001", "magic: 7001\n    sizing: { mode: equity }", '14 links/m1-f1/sizing/mode: expected one of multiplier, fixed, got "equity"'],
    ["a factor where the volume is fixed", "magic: 7001", "magic: 7001\n    sizing: { mode: fixed, volume: 0.1, factor: 2 }", '14 links/m1-f1/sizing/factor: expected volume alone where the mode is fixed, got "2"'],
    ["no volume where it is fixed", "magic: 7001", "magic: 7001\n    sizing: { mode: fixed }", "14 links/m1-f1/sizing: expected volume where the mode is fixed, got nothing of that name"],
    ["a volume of nothing", "magic: 7001", "magic: 7001\n    sizing: { mode: fixed, volume: 0.00 }", '14 links/m1-f1/sizing/volume: expected lots as a decimal above 0, with at most 8 digits after the point, got "0.00"'],
    ["more digits than fit", "magic: 7001", "magic: 7001\n    sizing: { mode: multiplier, factor: 0.1234567 }", '14 links/m1-f1/sizing/factor: expected a decimal above 0 and up to 1000, with at most 6 digits after the point, got "0.1234567"'],
    ["a symbol with a blank", "magic: 7001", "magic: 7001\n    symbols: { map: { GOLD: X AU } }", '14 links/m1-f1/symbols/map/GOLD: expected a symbol of 1-32 characters without blanks, got "X AU"'],
    ["a suffix that is too long", "magic: 7001", "magic: 7001\n    symbols: { followerSuffix: 12345678901234567 }", "14 links/m1-f1/symbols/followerSuffix: expected at most 16 characters without blanks, got"],
    ["a setting of the defaults", "links:", "linkDefaults: { copyStops: 1 }\nlinks:", '9 linkDefaults/copyStops: expected true or false, got "1"'],
    ["no links at all", "links:\n  - id: m1-f1\n    master: m1\n    follower: f1\n    magic: 7001\n", "", "1 : expected links, got nothing of that name"],
  ];
  for (const [name, from, to, fault] of cases) {
    test(name, () => {
      assert.ok(GOOD.includes(from), "the case changes nothing");
      const found = faults(GOOD.replace(from, to));
      assert.ok(found.some((line) => line.startsWith(fault)), found.join("\n"));
    });
  }

  test("an empty file", () => assert.deepEqual(faults(""), ["1 : expected a mapping with accounts, links, linkDefaults, got nothing"]));

  test("no YAML: the lines are told, and nothing of what stands there", () => {
    const found = faults(`${GOOD}  broken: [hunter2\n  "x: hunter3`);
    assert.ok(found.length > 0 && found.every((line) => /^\d+ : expected YAML, got: /.test(line)), found.join("\n"));
    assert.doesNotMatch(found.join(""), /hunter/);
  });

  test("two documents in one file", () => assert.match(faults(`${GOOD}---\n${GOOD}`).join(""), /expected YAML/));
});

test("all of a file's faults are told at once, in the order of its lines", () => {
  const found = faults(GOOD.replace("role: master", "role: boss").replace("login: 7,", "login: x,").replace("magic: 7001", "magic: none\n    colour: red"));
  assert.deepEqual(found.map((line) => line.split(":")[0]), ["3 accounts/m1/role", "8 accounts/f1/login", "13 links/m1-f1/magic", "14 links/m1-f1/colour"]);
});

test("a secret where a reference belongs is refused and never repeated", () => {
  for (const secret of ["hunter2", "env:hunter 2", "{ password: hunter2 }", "[hunter2]", "file:", "hunter2: hunter2"]) {
    const found = faults(GOOD.replace("env:M1_PASSWORD", /^[{[]/.test(secret) ? secret : JSON.stringify(secret)));
    assert.match(found.join("\n"), /^7 accounts\/m1\/credentials: expected /);
    assert.doesNotMatch(found.join("\n"), /hunter/);
  }
});
