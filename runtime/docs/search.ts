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
 * words in their path come first, then those with them in column names; else the order is the catalogue's. A plain scan:
 * it takes a few milliseconds for 10,000 endpoints, and an index would take longer to make than it saves.
 */
export class Search<T extends Searchable> {
  readonly #entries: readonly Entry<T>[];

  constructor(endpoints: readonly T[]) {
    this.#entries = endpoints.map((endpoint) => {
      const { category, description, columns, parameters } = endpoint;
      const path = endpoint.path.toLowerCase();
      const names = [...columns, ...(parameters ?? [])].map(({ name }) => name).join("\n");
      const texts = [path, names, category, description, ...columns.map((column) => column.description)];
      return { endpoint, path, names: names.toLowerCase(), all: texts.join("\n").toLowerCase() };
    });
  }

  /** All endpoints where there is no word. */
  find(query: string): readonly T[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return this.#entries.map(({ endpoint }) => endpoint);
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
