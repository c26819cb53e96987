// Owns what is refused of MT5 reports and of workbooks, and that nothing of one is left out silently.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import AdmZip from "adm-zip";
import fc from "fast-check";
import { readStatement } from "../../../ops/statement/read.ts";
import { isLockstepError } from "../../../protocol/errors.ts";
import { htmlText, partsOf, REPORT, xlsxOf, zipOf } from "./mt5Report.ts";
import { bytesOf, refusal, refusedOrRead } from "./refusal.ts";

const SHEET = "xl/worksheets/sheet1.xml";

/** The report's workbook with one of its parts changed or, for null, left out. */
function withPart(part: string, change: (xml: string) => string | null): Uint8Array {
  const parts = partsOf(REPORT);
  const changed = change(parts.get(part) ?? assert.fail(part));
  if (changed === null) parts.delete(part);
  else parts.set(part, changed);
  return zipOf(parts);
}

/** The same archive, but it says that a part unpacks to another size. */
function withDeclaredSize(zip: Uint8Array, part: string, size: number): Uint8Array {
  const bytes = Buffer.from(zip);
  const central = Buffer.from([0x50, 0x4b, 0x01, 0x02]);
  let at = bytes.indexOf(central);
  while (bytes.toString("latin1", at + 46, at + 46 + bytes.readUInt16LE(at + 28)) !== part) at = bytes.indexOf(central, at + 4);
  bytes.writeUInt32LE(size, at + 24);
  return bytes;
}

describe("a ZIP that is no MT5 report is refused with what it is", () => {
  const docx = new Map([["word/document.xml", "<w/>"], ["[Content_Types].xml", "<Types/>"]]);
  const cases: readonly { readonly what: string; readonly bytes: Uint8Array; readonly found: RegExp }[] = [
    { what: "its first bytes only", bytes: bytesOf("PK\u0003\u0004rest"), found: /found a ZIP container that is cut or damaged \(.+\)$/ },
    { what: "an empty one", bytes: new AdmZip().toBuffer(), found: /found a ZIP container without a workbook; it is empty$/ },
    { what: "a Word document", bytes: zipOf(docx), found: /found a ZIP container without a workbook; it holds ".+" and 1 more$/ },
    { what: "a workbook of something else", bytes: withPart(SHEET, () => `<worksheet><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>`), found: /found a table without a row or header as MT5 writes them$/ },
    { what: "a workbook without relations", bytes: withPart("xl/_rels/workbook.xml.rels", () => null), found: /found a workbook without a sheet$/ },
    { what: "a workbook whose sheet is missing", bytes: withPart(SHEET, () => null), found: /found a workbook without a sheet$/ },
    { what: "a workbook whose texts are missing", bytes: withPart("xl/sharedStrings.xml", () => null), found: /whose part "xl\/worksheets\/sheet1.xml" is damaged \(a cell with text "0", and there are 0\)$/ },
    { what: "a sheet that ends in the middle", bytes: withPart(SHEET, (xml) => xml.slice(0, 3000)), found: /whose part "xl\/worksheets\/sheet1.xml" is damaged \(.*unclosed tag.*\)$/ },
    { what: "a sheet with an entity that XML does not have", bytes: withPart(SHEET, (xml) => xml.replace("<v>7001</v>", "<v>&bomb;</v>")), found: /is damaged \(.*entity.*\)$/ },
    { what: "a cell that is too long", bytes: withPart(SHEET, (xml) => xml.replace("<v>7001</v>", `<v>${"7".repeat(40_000)}</v>`)), found: /is damaged \(a cell of more than 32767 characters\)$/ },
  ];
  for (const { what, bytes, found } of cases) test(what, () => assert.match(refusal(bytes), found));

  test("a sheet that is not of the charset it begins in", () => {
    const zip = new AdmZip();
    for (const [name, xml] of partsOf(REPORT)) zip.addFile(name, name === SHEET ? Buffer.from([0x3c, 0xff, 0xfe, 0x3e]) : Buffer.from(xml));
    assert.match(refusal(zip.toBuffer()), /a ZIP container with a part "xl\/worksheets\/sheet1.xml" that is cut or damaged/);
  });
});

describe("an archive cannot make it unpack more than it may", () => {
  test("a part that says it is larger than the bound is not unpacked", () => {
    assert.match(refusal(withDeclaredSize(xlsxOf(REPORT), SHEET, 0xf000_0000)), /found a ZIP container that unpacks to more than 134217728 bytes$/);
  });
  test("the bound is one for all parts together", () => {
    const half = 70 * 1024 * 1024;
    const bytes = withDeclaredSize(withDeclaredSize(xlsxOf(REPORT), SHEET, half), "xl/workbook.xml", half);
    assert.match(refusal(bytes), /unpacks to more than/);
  });
  test("a part that unpacks to more than it says is refused", () => {
    assert.match(refusal(withDeclaredSize(withPart(SHEET, (xml) => xml + " ".repeat(1_000_000)), SHEET, 5000)), /a part "xl\/worksheets\/sheet1.xml" that is cut or damaged \(.+\)$/);
  });
});

describe("a row that cannot be read is refused with its place", () => {
  const cases = [
    { what: "a price that is no number", from: "1.08501", to: "1.0B501", found: /expected a price in column 6, got "1.0B501"/ },
    { what: "a closing price that is no number", from: "<td>1.08900</td>\n<td>0.00", to: "<td>1.0B900</td>\n<td>0.00", found: /expected a price in column 10, got "1.0B900"/ },
    { what: "a volume that is no number", from: "<td>0.10</td>", to: "<td>0,10</td>", found: /found a "buy" row without a volume in column 5/ },
    { what: "a volume with a letter", from: "<td>0.10</td>", to: "<td>0.1O</td>", found: /found a "buy" row without a volume in column 5/ },
    { what: "a time that is none", from: "2024.06.03 08:00:01", to: "2024-06-03 08:00:01", found: /found a "buy" row that does not begin with a time and a number/ },
    { what: "a day that does not exist", from: "2024.06.03 08:00:01", to: "2024.02.30 08:00:01", found: /expected a time like .*, got "2024.02.30 08:00:01"/ },
    { what: "an end that is none", from: "2024.06.03 09:30:00", to: "2024.06.O3 09:30:00", found: /found a "buy" row with neither a time nor a price in column 9/ },
    { what: "a ticket that is no number", from: "<td>7001</td>", to: "<td>700l</td>", found: /found a "buy" row that does not begin with a time and a number/ },
    { what: "a ticket that is too large", from: "<td>7001</td>", to: "<td>9223372036854775807</td>", found: /ticket: expected .*9223372036854775807|ticket.*9007199254740991/ },
    { what: "a symbol that is a number", from: "<td>EURUSD.z</td>", to: "<td>0.10</td>", found: /expected a symbol, got "0.10"/ },
    { what: "an end before its start", from: "2024.06.03 09:30:00", to: "2024.06.02 09:30:00", found: /ticket 7001: it ends before it begins/ },
    { what: "a price that is too large", from: "1.08900", to: "1".repeat(40), found: /ticket 7001: .* is larger than 2\^53/ },
  ];
  const html = htmlText(REPORT);
  const start = html.indexOf("<tr", html.indexOf("Position</b>"));
  const row = html.slice(start, html.indexOf("</tr>", start));
  const line = html.slice(0, start).split("\n").length;
  for (const { what, from, to, found } of cases) {
    test(what, () => {
      assert.ok(row.includes(from));
      const message = refusal(bytesOf(html.replace(row, row.replace(from, () => to))));
      assert.match(message, found);
      assert.ok(message.startsWith(`x.htm: line ${line}`), message);
    });
  }
  test("a pending order that stands there twice", () => {
    assert.match(refusal(bytesOf(html.replace("<td>7071</td>", "<td>7070</td>"))), /line \d+, ticket 7070: the ticket stands there twice, first at x.htm: line \d+/);
  });
  test("in XLSX the place is its row", () => {
    assert.match(refusal(withPart(SHEET, (xml) => xml.replace("<v>1.08501</v>", "<v>1.0B501</v>"))), /^x.htm: row 5, ".*": expected a price in column 6, got "1.0B501"$/);
  });
});

describe("a cut report is refused with the place of the cut", () => {
  const html = htmlText(REPORT);
  const cutAfter = (mark: string): string => {
    assert.ok(html.includes(mark));
    return refusal(bytesOf(html.slice(0, html.indexOf(mark) + mark.length)));
  };
  test("before any header", () => assert.match(cutAfter("Invented-Demo"), /the file also ends in the middle$/));
  test("in a position", () => assert.match(cutAfter("<td>7010</td>"), /the statement is cut in the section "Positions", line \d+; the last table row is "2024.06.03 08:20:00 | 7010"$/));
  test("in an order", () => assert.match(cutAfter("<td>7074</td>"), /is cut in the section "Orders"/));
  test("in the deals", () => assert.match(cutAfter("<td>balance</td>"), /is cut in the section "Deals"/));
  test("in the working orders", () => assert.match(cutAfter("<td>7060</td>"), /is cut in the section "Working Orders"/));
  test("between </table> and </html>", () => assert.match(cutAfter("</table>"), /is cut in the section "Working Orders"/));
});

describe("whatever the bytes", () => {
  const files = [
    { what: "HTML", bytes: bytesOf(htmlText(REPORT)) },
    { what: "XLSX", bytes: xlsxOf(REPORT) },
  ];
  for (const { what, bytes } of files) {
    const expected = readStatement(bytes, "x.htm");
    test(`${what} cut at any byte is refused, or nothing of it is missing`, () => {
      fc.assert(
        fc.property(fc.nat(bytes.length - 1), (length) => {
          const read = refusedOrRead(bytes.subarray(0, length));
          if (read !== null) assert.deepEqual(read, expected);
        }),
        { numRuns: 100 },
      );
    });
    test(`${what} with damaged bytes is read or refused and nothing worse`, () => {
      const damage = fc.array(fc.record({ at: fc.nat(bytes.length - 1), byte: fc.nat(255) }), { minLength: 1, maxLength: 10 });
      fc.assert(
        fc.property(damage, (hits) => {
          const damaged = Uint8Array.from(bytes);
          for (const { at, byte } of hits) damaged[at] = byte;
          refusedOrRead(damaged);
        }),
        { numRuns: 100 },
      );
    });
  }

  test("a sheet with a damaged byte is refused, never read otherwise", () => {
    const bytes = Buffer.from(xlsxOf(REPORT));
    const expected = readStatement(bytes, "x.htm");
    const start = bytes.indexOf(SHEET) + SHEET.length;
    const end = bytes.indexOf(Buffer.from([0x50, 0x4b]), start);
    fc.assert(
      fc.property(fc.integer({ min: start, max: end - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const damaged = Uint8Array.from(bytes);
        damaged[at] = (damaged[at] ?? 0) ^ flip;
        const read = refusedOrRead(damaged);
        if (read !== null) assert.deepEqual(read, expected);
      }),
      { numRuns: 100 },
    );
  });

  test("random cells of a sheet are read or refused and nothing worse", () => {
    const text = fc.constantFrom("buy", "sell limit", "2024.06.03 08:00:00", "7001", "1.5", "0.1 / 0.1", "EURUSD", "filled", "in", "", "9999.99.99 99:99:99", "/", "1e999", "-1");
    fc.assert(
      fc.property(fc.array(fc.array(text, { maxLength: 14 }), { maxLength: 8 }), (rows) => {
        refusedOrRead(xlsxOf({ ...REPORT, positions: rows.map((cells) => ({ cells })) }, { charset: "utf-8" }));
      }),
      { numRuns: 150 },
    );
  });
});

test("a report of more bytes than any has is not looked at", () => {
  assert.throws(() => readStatement(new Uint8Array(33 * 1024 * 1024), "x"), (error) => isLockstepError(error, "bad_statement"));
});
