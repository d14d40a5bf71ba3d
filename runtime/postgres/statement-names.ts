/** Prepared statements held per connection at most: each keeps its plan in the database's memory. */
const MAX_NAMES = 1000;

/**
 * Names for prepared statements, by text. A named statement is parsed once per connection; past the bound a text gets
 * no name and is parsed each time.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();

  of(text: string): string | null {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    if (this.#names.size >= MAX_NAMES) return null;
    const name = `rw${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}
