/**
 * What was made of a text, for types, keys and columns that a manifest repeats thousands of times. So many are kept; then all are
 * forgotten.
 */
export class Remembered<Value extends object | string | null> {
  readonly #most: number;
  readonly #values = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  of(text: string, make: () => Value): Value {
    const known = this.#values.get(text);
    if (known !== undefined) return known;
    if (this.#values.size >= this.#most) this.#values.clear();
    const value = make();
    this.#values.set(text, value);
    return value;
  }
}
