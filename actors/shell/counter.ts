// Owns the numbering of one ownership of an account: it counts on when the actor is made anew after
// a failure, so that within one epoch no number is given twice.

export class Counter {
  #last = 0;

  /** 0 before the first. */
  get last(): number {
    return this.#last;
  }

  next(): number {
    return ++this.#last;
  }
}
