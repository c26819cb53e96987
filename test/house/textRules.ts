// Owns the rules about text of any kind. The patterns are written so that they do not match
// themselves.

import { inEachLine, type Rule } from "./sources.ts";

const says = (pattern: RegExp, what: string) => (line: string): string | null => {
  const found = pattern.exec(line)?.[0];
  return found === undefined ? null : `${JSON.stringify(found)}: ${what}`;
};

const leftovers: Rule = {
  name: "nothing is left to be done later",
  check: inEachLine(says(/\b(?:TO[D]O|FI[X]ME|X[X]X|HA[C]K)\b/, "do it, or write an issue")),
  bad: ["TO", "FI", "X", "HA"].map((start, index) => ({ "ops/a.ts": `// ${start}${["DO", "XME", "XX", "CK"][index] ?? ""}: later` })),
  good: [{ "README.md": "A list of todos is no plan.", "ops/a.ts": "const XXXL = 1;" }],
};

const PLACES = /(?<![\w.:/-])\/(?:[w]ork|[r]oot|[h]ome|[t]mp|[U]sers)\/[\w.-]+/;

const places: Rule = {
  name: "no path of the machine it was written on",
  check: inEachLine(says(PLACES, "the next machine has no such folder")),
  bad: ["work/x", "root/x", "home/me/x", "tmp/x", "Users/me"].map((path) => ({ "ops/a.ts": `const path = "/${path}";` })),
  good: [{ "ops/a.ts": `fetch("https://example.org/home/x"); join(tmpdir(), "x"); join(base, "x/tmp/y");`, "README.md": "data under `.lockstep/`, or `/var/lib/lockstep`" }],
};

const TYPED_BY = /\b(?:A[I]|L[L]M|[G]PT|[l]anguage model|[a]ssistant|[c]o-authored-by|[g]enerated (?:by|with))\b/;

const authors: Rule = {
  name: "no word about by what it was typed",
  check: inEachLine((line, { path }) => (path === "package-lock.json" ? null : says(TYPED_BY, "the text stands for itself")(line))),
  bad: ["A" + "I", "L" + "LM", "an assis" + "tant", "gener" + "ated with love"].map((words) => ({ "README.md": `made by ${words}` })),
  good: [{ "README.md": "tickets are generated at the broker; MAIL, AIR" }],
};

const ELSEWHERE = /\b[s]hared\/(?:data\b|[A-Z]+\.md)|\b(?:DESIG[N]|DOMAI[N]|FAULT[S]|STYL[E])(?:\.md|,? section|,? row)/;

const elsewhere: Rule = {
  name: "no pointer to a document that is not in the project",
  check: inEachLine(says(ELSEWHERE, "readers do not have it: say it here")),
  bad: ["DESIGN" + " section 10", "FAULTS" + ", row 97", "DOMAIN" + ".md", "../shared" + "/data/x.htm"].map((pointer) => ({ "ops/a.ts": `// As in ${pointer}.` })),
  good: [{ "README.md": "the design, the faults; see log/README.md; a shared group" }],
};

const REGISTRY = "https://registry.npmjs.org/";

const registry: Rule = {
  name: "the lock file names no registry but the public one",
  check: inEachLine((line, { path }) => {
    const url = path === "package-lock.json" ? /"resolved": "([^"]*)"/.exec(line)?.[1] : undefined;
    return url === undefined || url.startsWith(REGISTRY) ? null : `${url} is not under ${REGISTRY}`;
  }),
  bad: [{ "package-lock.json": `"resolved": "http://mirror.example/pino.tgz"` }],
  good: [{ "package-lock.json": `"resolved": "${REGISTRY}pino/-/pino-10.4.0.tgz"` }],
};

export const textRules: readonly Rule[] = [leftovers, places, authors, elsewhere, registry];
