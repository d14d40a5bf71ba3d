/** What is searched of an endpoint. */
export interface Searchable {
  readonly path: string;
  readonly category: string;
  readonly description: string;
  readonly columns: readonly { readonly name: string; readonly description: string }[];
  readonly parameters: readonly { readonly name: string }[] | null;
}

/** An endpoint's texts in lower case, made once. */
interface Entry<T> {
  readonly endpoint: T;
  readonly path: string;
  readonly names: string;
  readonly all: string;
}

/**
 * Finds endpoints by words: each must occur in the path, the category, a column or a description. Those with more of the
 * words in their path come first, then those with them in column names; else the order is the catalogue's. A plain scan of
 * lower-case texts, which are made when they are first needed or, piece by piece, before that.
 */
export class Search<T extends Searchable> {
  readonly #endpoints: readonly T[];
  readonly #entries: Entry<T>[] = [];

  constructor(endpoints: readonly T[]) {
    this.#endpoints = endpoints;
  }

  /** Makes the texts of some more endpoints; false when all are made. */
  prepare(count: number): boolean {
    const made = this.#entries.length;
    for (const endpoint of this.#endpoints.slice(made, made + count)) this.#entries.push(entryOf(endpoint));
    return this.#entries.length < this.#endpoints.length;
  }

  /** All endpoints where there is no word. */
  find(query: string): readonly T[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return this.#endpoints;
    this.prepare(this.#endpoints.length);
    const ranked: T[][] = Array.from({ length: 2 * words.length + 1 }, () => []);
    for (const { endpoint, path, names, all } of this.#entries) {
      if (!words.every((word) => all.includes(word))) continue;
      const score = words.reduce(
        (sum, word) => sum + (path.includes(word) ? 2 : names.includes(word) ? 1 : 0),
        0,
      );
      ranked[score]?.push(endpoint);
    }
    return ranked.reverse().flat();
  }
}

function entryOf<T extends Searchable>(endpoint: T): Entry<T> {
  const { category, description, columns, parameters } = endpoint;
  const path = endpoint.path.toLowerCase();
  let [names, texts] = ["", `${path}\n${category}\n${description}`];
  for (const column of columns) {
    names += `\n${column.name}`;
    texts += `\n${column.description}`;
  }
  for (const { name } of parameters ?? []) names += `\n${name}`;
  names = names.toLowerCase();
  return { endpoint, path, names, all: texts.toLowerCase() + names };
}
