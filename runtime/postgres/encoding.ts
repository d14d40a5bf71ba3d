import { mapConditions, type ResolvedQuery } from "../core/model/query.js";
import { UNSTORABLE } from "../core/warehouse/filter-type.js";

/** SQLSTATE untranslatable_character. */
const UNTRANSLATABLE = "22P05";

/**
 * The characters that the encoding of a database does not have (`€` in LATIN1), as its errors name them. A value with one of them
 * equals no row: the query runs again without the value.
 */
export class MissingCharacters {
  /** Bounded by the characters that the encoding does not have: 1.1 million of 4 bytes, each for a query that failed. */
  readonly #known = new Set<string>();

  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  query<Query extends ResolvedQuery, T>(query: Query, run: (query: Query) => Promise<T>): Promise<T> {
    return run(this.#withoutThem(query)).catch((error: unknown) => {
      if (!this.#learn(error as Error & { readonly code?: unknown })) throw error;
      return this.query(query, run);
    });
  }

  /** Whether an error names a further character. Messages are localized, its bytes are not. */
  #learn({ code, message }: Error & { readonly code?: unknown }): boolean {
    const bytes = code === UNTRANSLATABLE ? message.match(/\b0x[0-9a-f]{2}\b/g) : null;
    if (bytes === null) return false;
    const { size } = this.#known;
    this.#known.add(Buffer.from(bytes.map(Number)).toString());
    return this.#known.size > size;
  }

  #withoutThem<Query extends ResolvedQuery>(query: Query): Query {
    const { selection } = query;
    if (this.#known.size === 0 || selection.conditions.length === 0) return query;
    const conditions = mapConditions(selection.conditions, (condition) => {
      const { value } = condition;
      return {
        ...condition,
        value: typeof value === "string" ? this.#storable(value) : value.map(this.#storable),
        typed: undefined,
      };
    });
    return { ...query, selection: { ...selection, conditions } };
  }

  readonly #storable = (text: string): string =>
    Array.from(text).some((character) => this.#known.has(character)) ? UNSTORABLE : text;
}
