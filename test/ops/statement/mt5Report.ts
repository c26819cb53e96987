// Owns an invented MT5 report, and its writing as the files that terminals and spreadsheets make of
// one: HTML and XLSX.

import AdmZip from "adm-zip";

/** `comment`: of a position, where no column is for it. */
export interface ReportRow {
  readonly cells: readonly string[];
  readonly comment?: string;
}

const SECTIONS = ["positions", "orders", "deals", "open", "working"] as const;
export type Report = Readonly<Record<(typeof SECTIONS)[number], readonly ReportRow[]>>;

const row = (...cells: string[]): ReportRow => ({ cells });
const commented = (comment: string, ...cells: string[]): ReportRow => ({ cells, comment });

export const REPORT: Report = {
  positions: [
    commented("breakout", "2024.06.03 08:00:01", "7001", "EURUSD.z", "buy", "0.10", "1.08501", "", "1.08900", "2024.06.03 09:30:00", "1.08900", "0.00", "0.00", "39.90"),
    row("2024.06.03 08:10:00", "7003", "GBPUSD.z", "sell", "0.2", "1.27503", "1.28000", "", "2024.06.03 10:00:00", "1.27301", "-0.40", "0.00", "40.40"),
    commented("gold", "2024.06.03 08:20:00", "7010", "XAUUSD.z", "buy", "0.30", "2\u00a0345.12", "2 300.00", "2 400.00", "2024.06.03 11:00:00", "2 350.00", "0.00", "0.00", "146.40"),
    commented("gold", "2024.06.03 08:20:00", "7010", "XAUUSD.z", "buy", "0.20", "2\u00a0345.12", "2 300.00", "2 400.00", "2024.06.03 10:30:00", "2 349.00", "0.00", "0.00", "77.60"),
    row("2024.06.03 08:30:05", "7900", "EURUSD.z", "buy", "0.40", "1.08613", "0", "", "2024.06.03 12:00:00", "1.08600", "0.00", "0.00", "-5.20"),
    row("2024.06.03 08:40:00", "7030", "EURUSD.z", "sell", "1", "1.08650", "1.08700", "", "2024.06.03 12:30:00", "1.08720", "0.00", "0.00", "-70.00"),
    row("2024.06.03 08:50:00", "7040", "GBPUSD.z", "buy", "0.50", "1.27400", "", "", "2024.06.03 13:00:00", "1.26900", "0.00", "0.00", "-250.00"),
    row("2024.06.03 09:05:00.125", "7045", "GBPUSD.z", "buy", "0.20", "1.27310", "", "", "2024.06.03 13:10:00.987", "1.27410", "0.00", "0.00", "20.00"),
    row("2024.06.03 09:00:00", "7046", "GBPUSD.z", "buy", "0.00", "1.27310", "", "", "2024.06.03 13:10:00", "1.27410", "0.00", "0.00", "0.00"),
  ],
  orders: [
    row("2024.06.03 08:00:00", "7001", "EURUSD.z", "buy", "0.10 / 0.10", "market", "", "", "2024.06.03 08:00:01", "filled", "", "breakout"),
    row("2024.06.03 07:50:00", "7003", "GBPUSD.z", "sell limit", "0.2 / 0.2", "1.27503", "1.28100", "", "2024.06.03 08:10:00", "filled", "", ""),
    row("2024.06.03 08:20:00", "7010", "XAUUSD.z", "buy", "0.60 / 0.60", "market", "", "", "2024.06.03 08:20:00", "filled", "", "gold"),
    row("2024.06.03 08:25:00", "7020", "EURUSD.z", "buy stop", "0.40 / 0.40", "1.08610", "", "", "2024.06.03 08:30:05", "filled", "", ""),
    row("2024.06.03 09:30:00", "7101", "EURUSD.z", "sell", "0.10 / 0.10", "1.08900", "", "", "2024.06.03 09:30:00", "filled", "", "[tp 1.08900]"),
    row("2024.06.03 12:30:00", "7130", "EURUSD.z", "buy", "1 / 1", "1.08700", "", "", "2024.06.03 12:30:00", "filled", "", "[sl 1.08700]"),
    row("2024.06.03 13:00:00", "7140", "GBPUSD.z", "sell", "0.50 / 0.50", "1.26900", "", "", "2024.06.03 13:00:00", "filled", "", "[so 49.80%/10.00/20.08]"),
    row("2024.06.03 09:00:00", "7045", "GBPUSD.z", "buy limit", "0.50 / 0.20", "1.27310", "", "", "2024.06.03 13:05:00", "canceled", "", "dip"),
    row("2024.06.03 09:10:00", "7070", "GBPUSD.z", "buy limit", "1 000.00 / 0", "1.26001", "1.25000", "1.30000", "2024.06.03 09:20:00", "canceled", "", "deep"),
    row("2024.06.03 09:11:00", "7071", "GBPUSD.z", "sell stop", "0.10 / 0", "1.26500", "", "", "2024.06.03 14:00:00", "expired", "", ""),
    row("2024.06.03 09:12:00", "7072", "GBPUSD.z", "buy stop", "90 / 0", "1.28500", "", "", "2024.06.03 14:10:00", "rejected", "", ""),
    row("2024.06.03 09:13:00", "7073", "USDJPY.z", "sell limit", "0.10 / 0.10", "157.301", "", "", "2024.06.03 14:20:00", "filled", "", ""),
    row("2024.06.03 09:14:00", "7074", "GBPUSD.z", "buy stop limit", "0.10 / 0", "1.28500", "", "", "2024.06.03 14:20:00", "canceled", "", ""),
    row("2024.06.03 09:15:00", "7075", "GBPUSD.z", "sell", "50 / 0", "market", "", "", "2024.06.03 09:15:00", "rejected", "", "no money"),
  ],
  deals: [
    row("2024.06.03 07:00:00", "5000", "", "balance", "", "", "", "", "0.00", "0.00", "0.00", "10 000.00", "10 000.00", "Deposit"),
    row("2024.06.03 07:00:01", "5001", "", "credit", "", "", "", "", "0.00", "0.00", "0.00", "500.00", "10 500.00", ""),
    row("2024.06.03 08:00:01", "5002", "EURUSD.z", "buy", "in", "0.10", "1.08501", "7001", "0.00", "0.00", "0.00", "0.00", "10 500.00", "breakout"),
    row("2024.06.03 09:30:00", "5003", "EURUSD.z", "sell", "out", "0.10", "1.08900", "7101", "0.00", "0.00", "0.00", "39.90", "10 539.90", "[tp 1.08900]"),
    row("2024.06.03 12:30:00", "5004", "EURUSD.z", "buy", "in/out", "1", "1.08720", "7130", "0.00", "0.00", "0.00", "-70.00", "10 469.90", "[sl 1.08700]"),
  ],
  open: [
    commented("gold", "2024.06.03 08:20:00", "7010", "XAUUSD.z", "buy", "0.10", "2\u00a0345.12", "2 310.00", "2 400.00", "2 351.50", "-1.20", "", "63.80", "gold"),
    row("2024.06.03 14:30:00", "7050", "EURUSD.z", "sell", "0.01", "1.08300", "", "", "1.08311", "0.00", "", "-0.11", "2024"),
  ],
  working: [
    row("2024.06.03 14:40:00", "7060", "EURUSD.z", "buy limit", "0.10 / 0.00", "1.08000", "1.07900", "1.08200", "1.08311", "placed", "", "dip"),
    row("2024.06.03 14:41:00", "7050", "EURUSD.z", "sell limit", "0.04 / 0.01", "1.08300", "", "", "", "partial", "", ""),
  ],
};

const NAMES = {
  english: {
    title: "Trade History Report",
    positions: ["Positions", "Time", "Position", "Symbol", "Type", "Volume", "Price", "S / L", "T / P", "Time", "Price", "Commission", "Swap", "Profit"],
    orders: ["Orders", "Open Time", "Order", "Symbol", "Type", "Volume", "Price", "S / L", "T / P", "Time", "State", "", "Comment"],
    deals: ["Deals", "Time", "Deal", "Symbol", "Type", "Direction", "Volume", "Price", "Order", "Commission", "Fee", "Swap", "Profit", "Balance", "Comment"],
    open: ["Open Positions", "Time", "Position", "Symbol", "Type", "Volume", "Price", "S / L", "T / P", "Market Price", "Swap", "", "Profit", "Comment"],
    working: ["Working Orders", "Open Time", "Order", "Symbol", "Type", "Volume", "Price", "S / L", "T / P", "Market Price", "State", "", "Comment"],
  },
  russian: {
    title: "Отчет торговой истории",
    positions: ["Позиции", "Время", "Позиция", "Символ", "Тип", "Объем", "Цена", "S / L", "T / P", "Время", "Цена", "Комиссия", "Своп", "Прибыль"],
    orders: ["Ордера", "Время открытия", "Ордер", "Символ", "Тип", "Объем", "Цена", "S / L", "T / P", "Время", "Состояние", "", "Комментарий"],
    deals: ["Сделки", "Время", "Сделка", "Символ", "Тип", "Направление", "Объем", "Цена", "Ордер", "Комиссия", "Сбор", "Своп", "Прибыль", "Баланс", "Комментарий"],
    open: ["Открытые позиции", "Время", "Позиция", "Символ", "Тип", "Объем", "Цена", "S / L", "T / P", "Рыночная цена", "Своп", "", "Прибыль", "Комментарий"],
    working: ["Рабочие ордера", "Время открытия", "Ордер", "Символ", "Тип", "Объем", "Цена", "S / L", "T / P", "Рыночная цена", "Состояние", "", "Комментарий"],
  },
} as const;
export type Language = keyof typeof NAMES;

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** As a terminal writes it, in UTF-16. */
export const htmlOf = (report: Report, language: Language = "english"): Uint8Array => Buffer.from(`\ufeff${htmlText(report, language)}`, "utf16le");

export function htmlText(report: Report, language: Language = "english"): string {
  const names = NAMES[language];
  const title = (text: string): string => `<tr align="center">\n<th colspan="14" style="height: 25px"><div style="font: 10pt Tahoma"><b>${escaped(text)}</b></div></th>\n</tr>\n`;
  const hidden = (comment: string): string => `<td class="hidden" colspan="8">${escaped(comment)}</td>`;
  const section = (name: (typeof SECTIONS)[number]): string => {
    const [heading, ...columns] = names[name];
    const header = `<tr align="center" bgcolor="#E5F0FC">\n${columns.map((column) => `<td nowrap><b>${escaped(column)}</b></td>`).join("\n")}\n</tr>\n`;
    const rows = report[name].map(({ cells, comment }) => {
      const all = cells.map((cell) => `<td>${escaped(cell)}</td>`);
      if (name === "positions") all.splice(4, 0, hidden(comment ?? ""));
      return `<tr bgcolor="#FFFFFF" align="right">\n${all.join("\n")}\n</tr>\n`;
    });
    return `${title(heading)}${header}${rows.join("")}<tr align="right"><td colspan="10" style="height: 30px"></td><td nowrap><b>0.00</b></td></tr>\n`;
  };
  const head = `<html>\n<head>\n<title>70000001: Invented - ${names.title}</title>\n<style type="text/css">.hidden { display: none; }</style>\n</head>\n`;
  const account = `<tr align="left"><th colspan="4">Account:</th><th colspan="10"><b>70000001&nbsp;(USD, Invented-Demo, demo, Hedge)</b></th></tr>\n`;
  const results = `<tr align="right"><td colspan="3">Total Net Profit:</td><td><b>-1.50</b></td></tr>\n`;
  return `${head}<body>\n<div align="center">\n<table cellspacing="1">\n${title(names.title)}${account}${SECTIONS.map(section).join("")}${results}</table>\n</div>\n</body>\n</html>\n`;
}

export interface XlsxStyle {
  readonly language?: Language;
  readonly charset?: "utf-8" | "utf-16";
  readonly strings?: "shared" | "inline";
  /** `noisy`: as a spreadsheet saves them, trailing zeros gone and the noise of a double shown. */
  readonly numbers?: "plain" | "noisy";
  /** Whether the positions' comments stand between type and volume. */
  readonly comments?: boolean;
}

/** The parts of a workbook, by name. */
export function partsOf(report: Report, { language = "english", strings = "shared", numbers = "plain", comments = false }: XlsxStyle = {}): Map<string, string> {
  const names = NAMES[language];
  const shared: string[] = [];
  const isNumber = (text: string): boolean => /^-?\d+(\.\d+)?$/.test(text);
  const cellXml = (text: string, column: number, row: number): string => {
    const reference = `${String.fromCharCode(65 + column)}${row}`;
    if (text === "") return `<c r="${reference}" s="1"/>`;
    if (isNumber(text)) return `<c r="${reference}"><v>${numbers === "plain" || Number.isInteger(Number(text)) ? text : Number(text).toPrecision(17)}</v></c>`;
    if (strings === "inline") return `<c t="inlineStr"><is><r><t>${escaped(text.slice(0, 1))}</t></r><r><t>${escaped(text.slice(1))}</t></r><rPh><t>guide</t></rPh></is></c>`;
    if (!shared.includes(text)) shared.push(text);
    return `<c r="${reference}" t="s"><v>${shared.indexOf(text)}</v></c>`;
  };
  const table: (readonly string[])[] = [[names.title], ["Account:", "", "", "70000001 (USD)"]];
  for (const name of SECTIONS) {
    const [heading, ...columns] = names[name];
    table.push([heading], columns);
    for (const { cells, comment } of report[name]) table.push(comments && name === "positions" ? [...cells.slice(0, 4), comment ?? "", ...cells.slice(4)] : cells);
    table.push(["", "", "", "", "", "", "", "", "", "", "0.00"]);
  }
  const rows = table.map((cells, index) => `<row r="${index + 1}" spans="1:15">\n${cells.map((text, column) => cellXml(text, column, index + 1)).join("\n")}</row>`);
  const main = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`;
  const relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
  const parts = new Map([
    ["[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`],
    ["xl/workbook.xml", `<workbook ${main}><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/><sheet name="Sheet2" sheetId="2" r:id="rId9"/></sheets></workbook>`],
    ["xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId2" Type="${relation}/sharedStrings" Target="/xl/sharedStrings.xml"/><Relationship Id="rId1" Type="${relation}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`],
    ["xl/worksheets/sheet1.xml", `<worksheet ${main}><cols><col min="7" max="7" hidden="1"/></cols><sheetData>${rows.join("\n")}</sheetData></worksheet>`],
  ]);
  if (strings === "shared") parts.set("xl/sharedStrings.xml", `<sst ${main}>${shared.map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`).join("")}</sst>`);
  return parts;
}

export function zipOf(parts: ReadonlyMap<string, string>, charset: "utf-8" | "utf-16" = "utf-8"): Uint8Array {
  const zip = new AdmZip();
  const declaration = `<?xml version="1.0"?>\r\n`;
  for (const [name, xml] of parts) zip.addFile(name, charset === "utf-8" ? Buffer.from(declaration + xml) : Buffer.from(`\ufeff${declaration}${xml}`, "utf16le"));
  return zip.toBuffer();
}

/** As a terminal writes it, unless told otherwise. */
export const xlsxOf = (report: Report, style: XlsxStyle = {}): Uint8Array => zipOf(partsOf(report, style), style.charset ?? "utf-16");
