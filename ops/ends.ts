// Owns ending what was started: in the reverse order, each tried whatever became of the others.

export class Ends {
  readonly #ends: (() => Promise<unknown>)[] = [];

  /** Run before those that were added earlier. */
  add(end: () => Promise<unknown>): void {
    this.#ends.unshift(end);
  }

  /** Runs each once; resolves with what failed. */
  async run(): Promise<readonly unknown[]> {
    const failures: unknown[] = [];
    for (const end of this.#ends.splice(0)) await end().catch((error: unknown) => failures.push(error));
    return failures;
  }
}
