/** Statements remembered at most. */
const MAX_REMEMBERED = 1000;

/** The same statement may give little for other values: so many times it is streamed, then it is tried anew. */
const STREAMED_BEFORE_TRIAL = 20;

/** Remembers which statements gave more than one piece should hold, so that the next time they are streamed at once. */
export class LargeAnswers {
  /** Above this a piece is too long, however few its rows are. */
  static readonly CHARACTERS = 1024 * 1024;

  /** How many times each is still streamed. */
  readonly #left = new Map<string, number>();

  /** Whether the statement should be streamed this time. */
  isExpected(text: string): boolean {
    const left = this.#left.get(text);
    if (left === undefined) return false;
    if (left > 1) this.#left.set(text, left - 1);
    else this.#left.delete(text);
    return true;
  }

  note(text: string): void {
    if (this.#left.size < MAX_REMEMBERED) this.#left.set(text, STREAMED_BEFORE_TRIAL);
  }
}
