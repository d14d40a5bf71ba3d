import { StatementNames } from "./statement-names.js";

/** One that once took this long is asked alone for so many times. */
const SLOW_MS = 50;
const ALONE = 200;

/** The share of an answer that was slower than those before it in what an answer is taken to cost: waiting is no cost. */
const SHARE = 0.05;

/** A statement that is parsed once per connection, and what it takes. */
export class NamedStatement {
  readonly name: string;
  #ms = Infinity;
  #aloneFor = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** What its next answer is likely to take, in milliseconds; Infinity where that cannot be told. */
  get expectedMs(): number {
    return this.#aloneFor > 0 ? Infinity : this.#ms;
  }

  /** `isAlone`: it was not asked with others, and so the time is its own. */
  took(ms: number, isAlone: boolean): void {
    if (ms > SLOW_MS) this.#aloneFor = ALONE;
    else if (this.#aloneFor > 0) this.#aloneFor--;
    this.#ms = isAlone && ms < this.#ms ? ms : this.#ms + SHARE * (ms - this.#ms);
  }

  /** A connection was lost over it. */
  failed(): void {
    this.#aloneFor = ALONE;
  }
}

/** The statements that have a name, by text, each with what is known of it. */
export class NamedStatements {
  readonly #names = new StatementNames();
  readonly #statements = new Map<string, NamedStatement>();

  /** Null when there are too many already. */
  of(text: string): NamedStatement | null {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const name = this.#names.of(text);
    if (name === null) return null;
    const named = new NamedStatement(name);
    this.#statements.set(text, named);
    return named;
  }
}
