import { RE2JS } from "re2js";

/** A pattern of JSON Schema that runs in time linear in the text. */
class LinearPattern {
  readonly #source: string;
  readonly #pattern: RE2JS;

  constructor(source: string) {
    this.#source = source;
    this.#pattern = RE2JS.compile(RE2JS.translateRegExp(source));
  }

  test(text: string): boolean {
    return this.#pattern.test(text);
  }

  /** Instructions of its program: a check takes at most this many steps per character. */
  get size(): number {
    return this.#pattern.programSize();
  }

  /** The compiler of schemas tells patterns apart by it. */
  toString(): string {
    return this.#source;
  }
}

/**
 * Compiles a pattern of a provider: one of JavaScript, as JSON Schema has them, that RE2 can run. Throws for look-arounds and
 * back-references, which need more than linear time, and for repetitions of more than 1,000. The engine of JavaScript took 8 s for
 * `^([a-zA-Z0-9]+\\s?)+$` and 28 letters, while every other request waited; re2js takes 0.5 s for 100,000.
 */
function compile(source: string): LinearPattern {
  // RE2 reads some texts as patterns that JavaScript refuses.
  const { source: pattern } = new RegExp(source, "u");
  if (/\\k/.test(pattern)) throw new SyntaxError("Back-references need more than linear time.");
  return new LinearPattern(source);
}

/** In the form in which the compiler of schemas takes an engine; `code` is for code that is generated ahead, which is not done. */
export const linearPattern = Object.assign(compile, { code: "linearPattern" });
