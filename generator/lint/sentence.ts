/** Puts text from outside into the language of a report. */
export type Quote = (text: string) => string;

/** Names that stand together in a sentence. */
export interface Names {
  readonly names: readonly string[];
  readonly separator: string;
}

/** A sentence with names from outside in it, which each form of a report quotes in its own way. */
export interface Sentence {
  /** One more than `names`: what stands before, between and behind them. */
  readonly words: readonly string[];
  readonly names: readonly (string | Names)[];
}

/** Tag of a template: its text is ours, what is put in is not. */
export function sentence(words: TemplateStringsArray, ...names: readonly (string | Names)[]): Sentence {
  return { words: [...words], names };
}

/** A sentence of our own words alone. */
export function plain(text: string): Sentence {
  return { words: [text], names: [] };
}

export function list(names: readonly string[]): Names {
  return { names, separator: ", " };
}

/** From the first to the last, as data flows or a path leads. */
export function chain(names: readonly string[]): Names {
  return { names, separator: " → " };
}

export function sentenceText({ words, names }: Sentence, quote: Quote): string {
  return words.map((word, i) => word + quoted(names[i], quote)).join("");
}

function quoted(name: string | Names | undefined, quote: Quote): string {
  if (name === undefined) return "";
  if (typeof name === "string") return quote(name);
  return name.names.map(quote).join(name.separator);
}

/** Sentences one after the other, without a space between them. */
export function joined(...sentences: readonly Sentence[]): Sentence {
  return sentences.reduce((before, after) => {
    const [first = "", ...words] = after.words;
    const last = before.words.at(-1) ?? "";
    return {
      words: [...before.words.slice(0, -1), last + first, ...words],
      names: [...before.names, ...after.names],
    };
  });
}
