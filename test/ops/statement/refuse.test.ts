// Owns what is refused, and that nothing is ever left out silently.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import fc from "fast-check";
import { loadStatement, readStatement } from "../../../ops/statement/read.ts";
import { isLockstepError } from "../../../protocol/errors.ts";
import { demoFile, fixtureBytes } from "./fixture.ts";
import { bytesOf, refusal, refusedOrRead } from "./refusal.ts";

const textOf = (file: string): string => new TextDecoder().decode(fixtureBytes(file));

describe("a file that is no statement is refused with what it is", () => {
  const cases: readonly { readonly what: string; readonly bytes: Uint8Array; readonly found: RegExp }[] = [
    { what: "Markdown", bytes: bytesOf("# Title\n\nSome text.\n"), found: /found Markdown\/plain text without a table$/ },
    { what: "nothing", bytes: new Uint8Array(0), found: /found an empty file$/ },
    { what: "blanks", bytes: bytesOf(" \n\n"), found: /found nothing but blanks$/ },
    { what: "an XLSX", bytes: bytesOf("PK\u0003\u0004rest"), found: /found a ZIP container/ },
    { what: "a PDF", bytes: bytesOf("%PDF-1.7 rest"), found: /found a PDF$/ },
    { what: "binary data", bytes: new Uint8Array([1, 2, 0, 3]), found: /found binary data$/ },
    { what: "HTML without a table", bytes: bytesOf("<html><body><p>Hello</body></html>"), found: /found HTML without a table$/ },
    { what: "HTML with another table", bytes: bytesOf("<html><table><tr><td>1</td><td>2</td></tr></table></html>"), found: /found HTML with a table, but no row of trades/ },
    { what: "a tester's report", bytes: bytesOf('<html><table><tr><td>1</td><td>2024.06.03 08:00</td><td>buy</td><td>1</td><td>0.10</td><td>1.08500</td><td>1.08400</td><td>1.08600</td><td colspan=2></td></tr></table></html>'), found: /found a "buy" row of 10 columns, and MT4 writes 13 or 14$/ },
    { what: "an unknown charset", bytes: bytesOf('<html><head><meta charset="klingon"></head><table></table></html>'), found: /charset is "klingon", which is not known/ },
  ];
  for (const { what, bytes, found } of cases) test(what, () => assert.match(refusal(bytes), found));

  test("a file that is not there is a matter of configuration", async () => {
    await assert.rejects(loadStatement("no/such/file.htm"), (error) => isLockstepError(error, "configuration") && error.message.startsWith("no/such/file.htm: "));
  });
});

describe("a row that cannot be read is refused with its line", () => {
  const whole = textOf("comments.htm");
  const line = whole.split("\n").findIndex((text) => text.includes(">9001<")) + 1;
  const cases = [
    { what: "a price that is no number", from: "1.08900", to: "1.0B900", found: /expected a price in column 8, got "1.0B900"/ },
    { what: "a day that does not exist", from: "2024.06.03 08:00:00", to: "2024.02.30 08:00:00", found: /expected a time like .*, got "2024.02.30 08:00:00"/ },
    { what: "a close time that is none", from: "2024.06.03 09:00:00", to: "2024.06.O3 09:00:00", found: /expected a close time in column 9, got "2024.06.O3 09:00:00"/ },
    { what: "an open time that is none", from: "2024.06.03 08:00:00", to: "2024-06-03 08:00:00", found: /a trade without an open time in its second column/ },
    { what: "a ticket that is no number", from: ">9001<", to: ">900l<", found: /expected a ticket number, got "900l"/ },
    { what: "a volume that is no number", from: "0.10", to: "0,10", found: /expected a decimal .*, got "0,10"/ },
    { what: "a symbol that is a number", from: "<td>eurusd.</td>", to: "<td>0.10</td>", found: /expected a symbol, got "0.10"/ },
    { what: "a close before the open", from: "2024.06.03 09:00:00", to: "2024.06.02 09:00:00", found: /ticket 9001: it ends before it begins/ },
    { what: "missing cells", from: '<td style="mso-number-format:0\\.00000;">1.08500</td>', to: "", found: /expected a close time in column 9, got "1.08300"/ },
    { what: "a price that is too large", from: "1.08900", to: "1".repeat(40), found: /ticket 9001: .* is larger than 2\^53/ },
  ];
  for (const { what, from, to, found } of cases) {
    test(what, () => {
      const start = whole.indexOf("<tr align=right>");
      const row = whole.slice(start, whole.indexOf("</tr>", start));
      assert.ok(row.includes(from));
      const message = refusal(bytesOf(whole.replace(row, row.replace(from, () => to))));
      assert.match(message, found);
      assert.ok(message.startsWith(`x.htm: line ${line}`), message);
    });
  }

  test("a ticket that stands there twice", () => {
    assert.match(refusal(bytesOf(whole.replace(">9003<", ">9002<"))), /line \d+, ticket 9002: the ticket stands there twice, first at x.htm: line \d+/);
  });
});

describe("a cut file is refused with the place of the cut", () => {
  const whole = textOf("comments.htm");
  const cutAt = (mark: string): string => {
    assert.ok(whole.includes(mark));
    return refusal(bytesOf(whole.slice(0, whole.indexOf(mark) + mark.length)));
  };
  test("in the page's head", () => assert.match(cutAt("<title>Statement"), /found an HTML file that is cut before its first table$/));
  test("in the account's line", () => assert.match(cutAt("Name: "), /the file also ends in the middle$/));
  test("in the first column header", () => assert.match(cutAt("<td>Profit</td>"), /is cut in the section "Closed Transactions:", line \d+; the last table row is "Ticket | Open Time/));
  test("in a closed trade", () => assert.match(cutAt(">9005</td>"), /is cut in the section "Closed Transactions:", line \d+; the last table row is "9005"$/));
  test("between two closed trades", () => assert.match(cutAt(">-11.00</td></tr>"), /is cut in the section "Closed Transactions:", line \d+; the last table row is "9005 | /));
  test("in the open trades", () => assert.match(cutAt(">9015</td>"), /is cut in the section "Open Trades:"/));
  test("in the working orders", () => assert.match(cutAt(">9016</td>"), /is cut in the section "Working Orders:"/));
  test("in the summary", () => assert.match(cutAt("<b>Balance:"), /is cut in the section "Summary:"/));
  test("between </table> and </html>", () => assert.match(cutAt("</table>"), /is cut in the section "Summary:"/));
});

describe("whatever the bytes", () => {
  for (const file of ["comments.htm", "chains.htm", "bookings.htm", "russian-1251.htm", "german-utf16.htm", "old-build.htm"]) {
    test(`${file} cut at any byte is refused, or nothing of it is missing`, () => {
      const whole = fixtureBytes(file);
      const expected = readStatement(whole, file);
      fc.assert(
        fc.property(fc.nat(whole.length - 1), (length) => {
          const statement = refusedOrRead(whole.subarray(0, length), file);
          if (statement !== null) assert.deepEqual(statement, expected);
        }),
        { numRuns: 150 },
      );
    });
  }

  test("the demo's statement cut at any row is refused", () => {
    const html = readFileSync(demoFile, "utf8");
    for (let at = html.indexOf("<tr"); at !== -1; at = html.indexOf("<tr", at + 1)) refusal(bytesOf(html.slice(0, at)));
  });

  const onlyRefused = (bytes: Uint8Array): void => void refusedOrRead(bytes);
  test("random bytes are refused and nothing worse", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), onlyRefused), { numRuns: 500 });
  });
  test("random tags are refused and nothing worse", () => {
    const piece = fc.constantFrom("<html>", "<table>", "</table>", "<tr>", "</tr>", "<td colspan=99999999999>", "<td title='[sl]'>", "</td>", "<b>", "<!--", "-->", "&#xFFFFFFFF;", "buy", "2024.06.03 08:00:00", "9999.99.99 99:99:99", "1.5", "9001", "<style>", "\0");
    fc.assert(fc.property(fc.array(piece, { maxLength: 80 }), (pieces) => onlyRefused(bytesOf(pieces.join("")))), { numRuns: 500 });
  });
  test("a statement with damaged bytes is read or refused and nothing worse", () => {
    const whole = fixtureBytes("comments.htm");
    const damage = fc.array(fc.record({ at: fc.nat(whole.length - 1), byte: fc.nat(255) }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(damage, (hits) => {
        const bytes = Uint8Array.from(whole);
        for (const { at, byte } of hits) bytes[at] = byte;
        onlyRefused(bytes);
      }),
      { numRuns: 200 },
    );
  });
});
