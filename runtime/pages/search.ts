import MiniSearch, { type SearchResult } from "minisearch";

/** The parts of an endpoint that are searched. */
export interface Searchable {
  readonly path: string;
  readonly title: string;
  readonly category: string;
  readonly description: string;
  readonly synonyms: readonly string[];
  readonly columns: readonly { readonly name: string; readonly description: string }[];
  readonly parameters: readonly { readonly name: string }[] | null;
  readonly aggregate?: {
    readonly groups: readonly { readonly name: string }[];
    readonly measures: readonly {
      readonly name: string;
      readonly label: string | null;
      readonly description: string;
    }[];
  };
}

/** Endpoints per chunk. */
const CHUNK = 25;

/** Further words of a query are ignored. */
const MAX_WORDS = 24;

/** Terms that one part of a word stands for. */
const MAX_TERMS = 20;

/** What a match counts, by field: a path of a few words says more than a description of many. */
export const FIELDS = {
  path: 4,
  title: 2,
  synonyms: 4,
  columns: 1.5,
  category: 1.5,
  description: 1,
  comments: 1,
};

/** Results of a search, best first. */
export interface Found {
  /** Positions of the endpoints. */
  readonly found: readonly number[];
  /** How many of them have every word of the query; these come first. */
  readonly complete: number;
}

/**
 * Ranks endpoints by the words of a query, as MiniSearch does (BM25): in paths, titles, synonyms, columns, categories and
 * descriptions. Words are compared by their stems, with one wrong letter in long ones; a word also stands for longer ones that begin
 * with it and, where none does, for those that contain it. `prepare` indexes ahead of the first search.
 */
export class Search {
  readonly #endpoints: readonly Searchable[];
  /** Bounded by the words of the catalogue. */
  readonly #terms = new Set<string>();
  readonly #index: MiniSearch<Record<keyof typeof FIELDS, string> & { readonly id: number }>;
  #indexed = 0;

  constructor(endpoints: readonly Searchable[]) {
    this.#endpoints = endpoints;
    this.#index = new MiniSearch({
      fields: Object.keys(FIELDS),
      tokenize: wordsOf,
      processTerm: (word) => {
        const term = stem(word);
        if (term !== null) this.#terms.add(term);
        return term;
      },
    });
  }

  /** Indexes one more chunk; false when all are indexed. */
  prepare(): boolean {
    const chunk = this.#endpoints.slice(this.#indexed, this.#indexed + CHUNK);
    this.#index.addAll(chunk.map((endpoint, i) => documentOf(endpoint, this.#indexed + i)));
    this.#indexed += chunk.length;
    return this.#indexed < this.#endpoints.length;
  }

  /** The endpoints that have a word of the query; all of them for a query without words. */
  find(query: string): Found {
    const words = [...new Set(wordsOf(query).flatMap((word) => stem(word) ?? []))].slice(0, MAX_WORDS);
    if (words.length === 0)
      return { found: this.#endpoints.map((_, i) => i), complete: this.#endpoints.length };
    while (this.prepare());
    const terms = new Map(words.map((word) => [word, this.#termsOf(word)]));
    const results = this.#index.search([...terms.values()].flat().join(" "), {
      tokenize: (text) => text.split(" "),
      processTerm: (term) => term,
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 4 ? 1 : false),
      boost: FIELDS,
    });
    const isComplete = ({ queryTerms }: SearchResult): boolean =>
      [...terms.values()].every((each) => each.some((term) => queryTerms.includes(term)));
    const complete = results.filter(isComplete);
    const others = results.filter((result) => !isComplete(result));
    return { found: [...complete, ...others].map(({ id }) => id as number), complete: complete.length };
  }

  /** The word; where no term begins with it, the terms that contain it: `chain` for `crosschain`. */
  #termsOf(word: string): readonly string[] {
    const containing: string[] = [];
    for (const term of this.#terms) {
      if (term.startsWith(word)) return [word];
      if (word.length > 2 && term.includes(word)) containing.push(term);
    }
    return containing.length === 0 ? [word] : containing.slice(0, MAX_TERMS);
  }
}

export function documentOf(endpoint: Searchable, id: number) {
  const { path, title, category, description, synonyms, columns, parameters, aggregate } = endpoint;
  const measures = aggregate?.measures.flatMap((each) => [each.name, each.label ?? ""]) ?? [];
  const texts = aggregate?.measures.map((each) => each.description) ?? [];
  const groups = aggregate?.groups.map(({ name }) => name) ?? [];
  const names = columns.map(({ name }) => name);
  const comments = columns.map((column) => column.description);
  return {
    id,
    path: path.split("/").slice(3).join(" "),
    title,
    category,
    synonyms: synonyms.join(" "),
    columns: [...names, ...measures, ...groups, ...(parameters ?? []).map(({ name }) => name)].join(" "),
    description,
    comments: [...comments, ...texts].join(" "),
  };
}

/** Words of names and sentences: `totalVolume_usd` has three. */
function wordsOf(text: string): string[] {
  return (
    text
      .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  );
}

/** Words of questions that say nothing of an endpoint. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a about all an and any are as at be been by can did do does each every find for from get give had has have how i in into is it its " +
    "list many me much my of on or our over per please show tell than that the their there these they this to us was we were what when " +
    "where which who why will with you your v1 api data endpoint model view provides"
  ).split(" "),
);

/** Words that names of columns and paths shorten, or say in another form. */
const SAME: Readonly<Record<string, string>> = {
  daily: "day",
  hourly: "hour",
  weekly: "week",
  monthly: "month",
  quarterly: "quarter",
  yearly: "year",
  annual: "year",
  annualized: "year",
  annualised: "year",
  cnt: "count",
  number: "count",
  pct: "percent",
  percentage: "percent",
  avg: "average",
  mean: "average",
  current: "latest",
  currently: "latest",
  now: "latest",
};

/** The common beginning of a word's forms; null for a stop word. */
function stem(word: string): string | null {
  if (STOP_WORDS.has(word)) return null;
  return Object.hasOwn(SAME, word) ? (SAME[word] ?? null) : cut(word);
}

/** The common beginning of a word's forms. Both sides are cut alike, so it need not be a word. */
export function cut(word: string): string {
  if (word.length < 4 || /\d/.test(word)) return word;
  return word
    .replace(/ies$/, "y")
    .replace(/([^s])s$/, "$1")
    .replace(/(?<=...)(?:ing|ed|e)$/, "")
    .replace(/([^aeioul])\1$/, "$1");
}
