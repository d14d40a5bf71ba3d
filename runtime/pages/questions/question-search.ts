import MiniSearch from "minisearch";
import { documentOf, FIELDS, type Searchable } from "../search.js";
import { NEARNESS, nearTerms } from "./near-terms.js";
import { groupTerms, kindOf, periodFactor, termOf, type WordKind, wordsOf } from "./words.js";

/** Endpoints per chunk. */
const CHUNK = 25;

/** Further words of a question are ignored. */
const MAX_WORDS = 24;

/** What a word counts, by its kind: for the order of endpoints, and for whether one fits at all. */
const COUNTS: Readonly<Record<WordKind, { readonly score: number; readonly fit: number }>> = {
  subject: { score: 1, fit: 1 },
  period: { score: 1, fit: 0.3 },
  measure: { score: 0.7, fit: 0.3 },
  verb: { score: 0.3, fit: 0.3 },
};

/** A word in descriptions alone says less of an endpoint than one in its names. */
const IN_PROSE = 0.6;
const PROSE: ReadonlySet<string> = new Set<keyof typeof FIELDS>(["description", "comments"]);

/** A frequent word still tells more than none. */
const LEAST_WEIGHT = 0.35;

/** The part of a question's subject that an endpoint has, from which on it fits. */
const FITS = 0.3;

/** The part of a score that the endpoint's own name decides: how much of it the question says. */
const BY_NAME = 0.4;

/** What one word of a question finds of an endpoint. */
interface Match {
  score: number;
  /** Up to 1. */
  nearness: number;
  readonly terms: string[];
}

interface Word {
  readonly kind: WordKind;
  readonly weight: number;
  readonly matches: ReadonlyMap<number, Match>;
}

/** Results of a question, best first. */
export interface Answers {
  /** Positions of the endpoints: those that fit, then others that have a word of the question. */
  readonly found: readonly number[];
  /** How many of them fit: they have enough of what the question is about. */
  readonly fitting: number;
  /** How many of these have every word. */
  readonly complete: number;
}

/**
 * Ranks endpoints by a question, as MiniSearch does (BM25 over fields): words are compared by their stems, and by the groups of a
 * thesaurus, with one wrong letter in long ones. A question about something else fits no endpoint. `prepare` indexes ahead of the
 * first question.
 */
export class QuestionSearch {
  readonly #endpoints: readonly Searchable[];
  /** Bounded by the words of the catalogue. */
  readonly #terms = new Set<string>();
  /** By position, one for each endpoint. */
  readonly #names: ReadonlySet<string>[] = [];
  /** Bounded by the words of the endpoints' names. */
  readonly #frequencies = new Map<string, number>();
  readonly #index: MiniSearch<Record<keyof typeof FIELDS, string> & { readonly id: number }>;

  constructor(endpoints: readonly Searchable[]) {
    this.#endpoints = endpoints;
    this.#index = new MiniSearch({
      fields: Object.keys(FIELDS),
      tokenize: (text) => [...wordsOf(text)],
      processTerm: (word) => {
        const term = termOf(word);
        if (term === null) return null;
        const all = [term, ...groupTerms(term)];
        for (const each of all) this.#terms.add(each);
        return all;
      },
    });
  }

  /** Indexes one more chunk; false when all are indexed. */
  prepare(): boolean {
    const done = this.#names.length;
    for (const endpoint of this.#endpoints.slice(done, done + CHUNK)) {
      const document = documentOf(endpoint, this.#names.length);
      this.#index.add(document);
      const words = wordsOf(`${document.path} ${document.title}`);
      this.#names.push(new Set(words.flatMap((word) => termOf(word) ?? [])));
    }
    return this.#names.length < this.#endpoints.length;
  }

  /** The endpoints for a question; all of them for one without words. */
  find(question: string): Answers {
    while (this.prepare());
    const asked = this.#termsOf(question);
    const { length } = this.#endpoints;
    if (asked.length === 0) return { found: [...this.#names.keys()], fitting: length, complete: length };
    const words = asked.map((term) => this.#word(term));
    const ids = new Set(words.flatMap(({ matches }) => [...matches.keys()]));
    const all = [...ids].map((id) => this.#ranked(id, words, asked));
    all.sort((a, b) => Number(b.fits) - Number(a.fits) || b.score - a.score || a.id - b.id);
    const fitting = all.filter(({ fits }) => fits);
    return {
      found: all.map(({ id }) => id),
      fitting: fitting.length,
      complete: fitting.filter(({ isComplete }) => isComplete).length,
    };
  }

  #ranked(id: number, words: readonly Word[], asked: readonly string[]) {
    const matched = words.flatMap(({ matches, ...word }) => {
      const match = matches.get(id);
      return match === undefined ? [] : [{ ...word, ...match }];
    });
    const subject = words.filter(isSubject);
    const [whole, covered] = [sumOf(words, weightOf), sumOf(matched, coveredBy)];
    const fits =
      subject.length === 0
        ? covered / whole >= FITS
        : sumOf(matched.filter(isSubject), coveredBy) / sumOf(subject, weightOf) >= FITS;
    const named =
      1 - BY_NAME + BY_NAME * this.#partOfName(id, new Set(matched.flatMap(({ terms }) => terms)));
    const period = periodFactor(asked.filter(isPeriod), this.#periodsOf(id), asked.includes("count"));
    const score = sumOf(matched, (word) => word.score * COUNTS[word.kind].score);
    return {
      id,
      fits,
      isComplete: matched.length === words.length,
      score: score * (covered / whole) * named * period,
    };
  }

  /** Grain and window of a path. */
  #periodsOf(id: number): readonly string[] {
    const path = this.#endpoints[id]?.path ?? "";
    return wordsOf(path.split("/").slice(4).join(" ")).filter(isPeriod);
  }

  /** How much of an endpoint's name a question says. */
  #partOfName(id: number, said: ReadonlySet<string>): number {
    const terms = [...(this.#names[id] ?? [])];
    const weight = (term: string): number => this.#rarity(this.#frequencyOf(term));
    const isSaid = (term: string): boolean => [term, ...groupTerms(term)].some((each) => said.has(each));
    const whole = sumOf(terms, weight);
    return whole === 0 ? 0 : sumOf(terms.filter(isSaid), weight) / whole;
  }

  #frequencyOf(term: string): number {
    const known = this.#frequencies.get(term) ?? this.#search(term).length;
    this.#frequencies.set(term, known);
    return known;
  }

  #search(term: string) {
    return this.#index.search(term, {
      tokenize: (text) => [text],
      processTerm: (each) => each,
      boost: FIELDS,
    });
  }

  /** What a term tells that so many endpoints have, from 0 to 1 (BM25's). */
  #rarity(frequency: number): number {
    const { length } = this.#endpoints;
    return Math.log(1 + (length - frequency + 0.5) / (frequency + 0.5)) / Math.log(1 + (length + 0.5) / 0.5);
  }

  /** The terms of a question. Two words are one where the catalogue writes them so: `cash back`. */
  #termsOf(question: string): readonly string[] {
    const words = wordsOf(question);
    const terms = new Set<string>();
    for (let i = 0; i < words.length; i++) {
      const both = i + 1 < words.length ? termOf(`${words[i] ?? ""}${words[i + 1] ?? ""}`) : null;
      const isOne = both !== null && this.#terms.has(both);
      const term = isOne ? both : termOf(words[i] ?? "");
      if (isOne) i++;
      if (term !== null) terms.add(term);
    }
    return [...terms].slice(0, MAX_WORDS);
  }

  #word(asked: string): Word {
    const matches = new Map<number, Match>();
    for (const [term, nearness] of nearTerms(asked, this.#terms))
      for (const { id, score, match } of this.#search(term)) {
        const isProse = Object.values(match).every((fields) => fields.every((field) => PROSE.has(field)));
        const near = (nearness === NEARNESS.group ? 1 : nearness) * (isProse ? IN_PROSE : 1);
        const found = matches.get(id as number) ?? { score: 0, nearness: 0, terms: [] };
        found.score = Math.max(found.score, score * nearness);
        found.nearness = Math.max(found.nearness, near);
        found.terms.push(term);
        matches.set(id as number, found);
      }
    const kind = kindOf(asked);
    const rarity = matches.size === 0 ? 1 : Math.max(LEAST_WEIGHT, this.#rarity(matches.size));
    return { kind, weight: rarity * COUNTS[kind].fit, matches };
  }
}

interface Weighted {
  readonly kind: WordKind;
  readonly weight: number;
}

const weightOf = ({ weight }: Weighted): number => weight;
const coveredBy = ({ weight, nearness }: Weighted & Match): number => weight * nearness;
const isSubject = ({ kind }: Weighted): boolean => kind === "subject" || kind === "verb";
const isPeriod = (term: string): boolean => kindOf(term) === "period";

const sumOf = <T>(all: readonly T[], of: (each: T) => number): number =>
  all.reduce((sum, each) => sum + of(each), 0);
