/** The parts of an endpoint that are searched. */
export interface Searchable {
  readonly path: string;
  readonly category: string;
  readonly description: string;
  readonly columns: readonly { readonly name: string; readonly description: string }[];
  readonly parameters: readonly { readonly name: string }[] | null;
}

/** A chunk of the endpoints with their concatenated lower-case texts: path, names, descriptions. */
interface Chunk<T> {
  readonly endpoints: readonly T[];
  readonly text: string;
  /** For each endpoint the offsets of its path, names and descriptions; then the end of the text. */
  readonly starts: readonly number[];
}

/** Endpoints per chunk: making its text takes a few milliseconds. */
const CHUNK = 500;

/** Further words of a query are ignored. */
const MAX_WORDS = 16;

/**
 * Finds endpoints by words: each must occur in the path, the category, a column or a description. Endpoints with more of
 * the words in their path come first, then those with more in column names, then the order of the catalogue. Scans one long
 * text per chunk. `prepare` makes the texts ahead of the first search.
 */
export class Search<T extends Searchable> {
  readonly #endpoints: readonly T[];
  readonly #chunks: Chunk<T>[] = [];

  constructor(endpoints: readonly T[]) {
    this.#endpoints = endpoints;
  }

  /** Makes the text of one more chunk; false when all are made. */
  prepare(): boolean {
    const made = this.#chunks.length * CHUNK;
    if (made < this.#endpoints.length) this.#chunks.push(chunkOf(this.#endpoints.slice(made, made + CHUNK)));
    return made + CHUNK < this.#endpoints.length;
  }

  /** The endpoints that match; all of them for a query without words. */
  find(query: string): readonly T[] {
    const words = [...new Set(query.toLowerCase().split(/\s+/).filter(Boolean))].slice(0, MAX_WORDS);
    if (words.length === 0) return this.#endpoints;
    while (this.prepare());
    const ranked: T[][] = Array.from({ length: 2 * words.length + 1 }, () => []);
    for (const chunk of this.#chunks)
      for (const [i, score] of scoresOf(chunk, words).entries())
        if (score >= 0) ranked[score]?.push(chunk.endpoints[i] as T);
    return ([] as T[]).concat(...ranked.reverse());
  }
}

function chunkOf<T extends Searchable>(endpoints: readonly T[]): Chunk<T> {
  const chunk = joined(endpoints, (text) => text);
  const text = chunk.text.toLowerCase();
  // Some letters become two in lower case: the offsets then refer to the lower-case texts.
  return text.length === chunk.text.length
    ? { ...chunk, text }
    : joined(endpoints, (piece) => piece.toLowerCase());
}

function joined<T extends Searchable>(endpoints: readonly T[], textOf: (piece: string) => string): Chunk<T> {
  const pieces: string[] = [];
  const starts = [0];
  let length = 0;
  const add = (piece: string): void => {
    const text = textOf(piece);
    pieces.push(text);
    length += text.length + 1;
  };
  for (const { path, category, description, columns, parameters } of endpoints) {
    add(path);
    starts.push(length);
    for (const { name } of columns) add(name);
    for (const { name } of parameters ?? []) add(name);
    starts.push(length);
    add(category);
    add(description);
    for (const column of columns) add(column.description);
    starts.push(length);
  }
  return { endpoints, text: `${pieces.join("\n")}\n`, starts };
}

const MISSING = -1;

/** Per endpoint: 2 for each word in its path, 1 for each in its names; -1 where a word is missing. */
function scoresOf<T>({ endpoints, text, starts }: Chunk<T>, words: readonly string[]): Int8Array {
  const scores = new Int8Array(endpoints.length);
  for (const word of words) {
    // The first occurrence in an endpoint's text is the best one.
    let at = text.indexOf(word);
    for (let i = 0; i < endpoints.length; i++) {
      const score = scores[i] ?? 0;
      const end = starts[3 * i + 3] ?? 0;
      if (at === -1 || at >= end) scores[i] = MISSING;
      else {
        const [names = 0, descriptions = 0] = [starts[3 * i + 1], starts[3 * i + 2]];
        if (score !== MISSING) scores[i] = score + (at < names ? 2 : at < descriptions ? 1 : 0);
        at = text.indexOf(word, end);
      }
    }
  }
  return scores;
}
