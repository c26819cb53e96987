// Owns what one account's broker says of its symbols: how they are traded, and the newest quotes.
//
// 1. A name is found in any case, unless two symbols differ by nothing else: then it must match whole.

import type { SymbolName } from "../../protocol/ids.ts";
import type { Quote, SymbolSpec } from "../../protocol/trades.ts";

export class SymbolTable {
  #specs: readonly SymbolSpec[] = [];
  readonly #exact = new Map<string, SymbolSpec>();
  /** By lower case; null where several share it. */
  readonly #folded = new Map<string, SymbolSpec | null>();
  readonly #quotes = new Map<SymbolName, Quote>();

  /** All symbols as a login brings them; the quotes of a session before are gone. */
  load(specs: readonly SymbolSpec[], quotes: readonly Quote[]): void {
    this.#specs = specs;
    this.#exact.clear();
    this.#folded.clear();
    this.#quotes.clear();
    for (const spec of specs) {
      const folded = spec.symbol.toLowerCase();
      this.#exact.set(spec.symbol, spec);
      this.#folded.set(folded, this.#folded.has(folded) ? null : spec);
    }
    this.update(quotes);
  }

  update(quotes: readonly Quote[]): void {
    for (const quote of quotes) this.#quotes.set(quote.symbol, quote);
  }

  all(): readonly SymbolSpec[] {
    return this.#specs;
  }

  spec(symbol: SymbolName): SymbolSpec | null {
    return this.#exact.get(symbol) ?? this.#folded.get(symbol.toLowerCase()) ?? null; // (1)
  }

  quote(symbol: SymbolName): Quote | null {
    const spec = this.spec(symbol);
    return spec === null ? null : (this.#quotes.get(spec.symbol) ?? null);
  }
}
