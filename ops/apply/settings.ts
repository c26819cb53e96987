// Owns a link's copy settings as a file has them: LinkSettings in the same words, with volumes and
// multipliers as decimals.

import type { LinkSettings, Sizing, SymbolRules } from "../../protocol/accounts.ts";
import { isLockstepError } from "../../protocol/errors.ts";
import { symbolName, type SymbolName } from "../../protocol/ids.ts";
import { decimalToInteger, integerToDecimal, lotsText, volumeFromLots, type VolumeUnits } from "../../protocol/units.ts";
import { oneOf, wholeNumber, type Reader } from "../config/readers.ts";
import type { YamlValue } from "./yamlValue.ts";

const SETTINGS = ["sizing", "belowMinimum", "residue", "aboveMaximum", "symbols", "slippagePoints", "ageLimitMs", "lateOpenMs", "copyStops", "copyPendings"] as const satisfies readonly (keyof LinkSettings)[];
export type SettingName = (typeof SETTINGS)[number];
export const SETTING_NAMES: readonly SettingName[] = SETTINGS;

const FACTOR_DIGITS = 6;
const MAX_FACTOR_MILLIONTHS = 1_000_000_000;
const MAX_VOLUME = volumeFromLots("100000");
const MAX_SLIPPAGE_POINTS = 1_000_000;
const DAY_MS = 86_400_000;
const LONGEST_AFFIX = 16;

/** What `read` makes of it; whatever is refused as an invalid value was not what is expected. */
const valid =
  <T>(expected: string, read: (text: string) => T, holds: (value: T) => boolean = () => true): Reader<T> =>
  (text) => {
    try {
      const value = read(text);
      return holds(value) ? { kind: "value", value } : { kind: "expected", expected };
    } catch (error) {
      if (!isLockstepError(error, "invalid_value")) throw error;
      return { kind: "expected", expected };
    }
  };

const factor = valid("a decimal above 0 and up to 1000, with at most 6 digits after the point", (text) => decimalToInteger(text, FACTOR_DIGITS), (millionths) => millionths > 0 && millionths <= MAX_FACTOR_MILLIONTHS);
const volume = valid("lots as a decimal above 0, with at most 8 digits after the point", volumeFromLots, (units: VolumeUnits) => units > 0 && units <= MAX_VOLUME);
const symbol = valid("a symbol of 1-32 characters without blanks", symbolName);
const affix: Reader<string> = (text) => (text.length <= LONGEST_AFFIX && !/\s/.test(text) ? { kind: "value", value: text } : { kind: "expected", expected: `at most ${LONGEST_AFFIX} characters without blanks` });

export const yesOrNo: Reader<boolean> = (text) => (text === "true" || text === "false" ? { kind: "value", value: text === "true" } : { kind: "expected", expected: "true or false" });

/** What a file says of a link's settings, on top of `base`. */
export function readSettings(fields: Partial<Readonly<Record<SettingName, YamlValue>>>, base: LinkSettings): LinkSettings {
  return {
    sizing: (fields.sizing === undefined ? null : readSizing(fields.sizing)) ?? base.sizing,
    belowMinimum: fields.belowMinimum?.read(oneOf(["skip", "minimum"])) ?? base.belowMinimum,
    residue: fields.residue?.read(oneOf(["keep", "close"])) ?? base.residue,
    aboveMaximum: fields.aboveMaximum?.read(oneOf(["skip", "maximum"])) ?? base.aboveMaximum,
    symbols: fields.symbols === undefined ? base.symbols : readSymbols(fields.symbols, base.symbols),
    slippagePoints: fields.slippagePoints?.read(wholeNumber(0, MAX_SLIPPAGE_POINTS)) ?? base.slippagePoints,
    ageLimitMs: fields.ageLimitMs?.read(wholeNumber(0, DAY_MS)) ?? base.ageLimitMs,
    lateOpenMs: fields.lateOpenMs?.read(wholeNumber(0, DAY_MS)) ?? base.lateOpenMs,
    copyStops: fields.copyStops?.read(yesOrNo) ?? base.copyStops,
    copyPendings: fields.copyPendings?.read(yesOrNo) ?? base.copyPendings,
  };
}

function readSizing(value: YamlValue): Sizing | null {
  const fields = value.fields(["mode"], ["factor", "volume"]);
  const mode = fields?.mode?.read<Sizing["mode"]>(oneOf(["multiplier", "fixed"])) ?? null;
  if (fields === null || mode === null) return null;
  const [own, other] = mode === "multiplier" ? (["factor", "volume"] as const) : (["volume", "factor"] as const);
  fields[other]?.fault(`${own} alone where the mode is ${mode}`);
  if (fields[own] === undefined) return value.fault(`${own} where the mode is ${mode}`, "nothing of that name");
  if (mode === "multiplier") {
    const factorMillionths = fields.factor?.read(factor) ?? null;
    return factorMillionths === null ? null : { mode, factorMillionths };
  }
  const units = fields.volume?.read(volume) ?? null;
  return units === null ? null : { mode, volume: units };
}

/** The same in the words of the file. */
export function sizingWords(sizing: Sizing): { readonly mode: string; readonly factor?: string; readonly volume?: string } {
  if (sizing.mode === "fixed") return { mode: sizing.mode, volume: lotsText(sizing.volume) };
  return { mode: sizing.mode, factor: integerToDecimal(sizing.factorMillionths, FACTOR_DIGITS).replace(/\.?0+$/, "") };
}

function readSymbols(value: YamlValue, base: SymbolRules): SymbolRules {
  const fields = value.fields([], ["masterPrefix", "masterSuffix", "followerPrefix", "followerSuffix", "map"]);
  return {
    masterPrefix: fields?.masterPrefix?.read(affix) ?? base.masterPrefix,
    masterSuffix: fields?.masterSuffix?.read(affix) ?? base.masterSuffix,
    followerPrefix: fields?.followerPrefix?.read(affix) ?? base.followerPrefix,
    followerSuffix: fields?.followerSuffix?.read(affix) ?? base.followerSuffix,
    map: fields?.map === undefined ? base.map : readMap(fields.map),
  };
}

/** The master's spelling to the follower's. */
function readMap(value: YamlValue): SymbolRules["map"] {
  const entries = value.entries("a mapping from the master's symbols to the follower's") ?? [];
  return Object.fromEntries(
    entries.flatMap(([from, to]): readonly (readonly [string, SymbolName])[] => {
      if (symbol(from).kind === "expected") to.fault("a symbol of 1-32 characters without blanks", JSON.stringify(from));
      const name = to.read(symbol);
      return name === null ? [] : [[from, name]];
    }),
  );
}
