import type { Json, SortKey } from "@routewright/runtime/model";
import type { YamlEdit } from "./yaml-edit.js";

/** What can be suggested: of a model's YAML, or of the database. */
export const SUGGESTION_KINDS = [
  "filters",
  "accepted-values",
  "cursor",
  "sort",
  "fields",
  "changes",
  "title",
  "synonyms",
  "description",
  "tier",
  "index",
  "sort-key",
  "projection",
  "roll-up",
] as const;
export type SuggestionKind = (typeof SUGGESTION_KINDS)[number];

/** Places of a model's YAML that dbt lets stand in its `config` or beside it: the file decides. */
export const META = { name: "meta" } as const;
export const TAGS = { name: "tags" } as const;

/** An edit of a model's YAML entry. `at` begins in the entry; `META` and `TAGS` stand for the place that the file has. */
export type ModelEdit = YamlEdit;

/** Something that a model or the database should declare. */
export interface Suggestion {
  readonly kind: SuggestionKind;
  /** dbt's `unique_id`. */
  readonly model: string;
  /** Path of its endpoint. */
  readonly path: string;
  /** The column or setting in question. */
  readonly subject: string;
  readonly reason: string;
  /** What was counted, estimated or measured. */
  readonly figures: readonly string[];
  /** Of the model's YAML; none where only the database changes. */
  readonly edits: readonly ModelEdit[];
  /** Of the database. */
  readonly statement?: string;
  /** What `--try` measures before and after the statement. */
  readonly trial?: Trial;
  /** New files of the project. */
  readonly files?: readonly NewFile[];
  /** What `--try` measures of a roll-up. */
  readonly rollUp?: RollUpTrial | undefined;
}

/** A file that the project has not yet. */
export interface NewFile {
  /** In the project, with `/`. */
  readonly file: string;
  readonly text: string;
}

/** A question asked of the rows, and of a roll-up of them: beginnings of statements. */
export interface RollUpTrial {
  readonly relation: readonly [schema: string, name: string];
  readonly select: string;
  /** Positions of what `select` groups by. */
  readonly groupBy: string;
  readonly asked: string;
  readonly askedAgain: string;
}

/** What is measured: the rows that have one value of the column, or have it in theirs, or the first page in an order. */
export interface Trial {
  readonly relation: readonly [schema: string, name: string];
  readonly column: string;
  readonly page?: FirstPage;
  /** The rows that have the value as a part of theirs. */
  readonly isPart?: true;
}

export interface FirstPage {
  readonly order: readonly SortKey[];
  readonly limit: number;
}

/** Sets a key of `meta.routewright`. */
export function setting(key: string, value: Json): ModelEdit {
  return { at: [META, "routewright", key], value, how: "set" };
}

/** What a run knows of a relation; null where nothing says it. */
export interface RelationFacts {
  /** Estimated. */
  readonly rows: number | null;
  readonly columns: ReadonlyMap<string, ColumnFacts>;
  /** Columns of ClickHouse's sorting key. */
  readonly sortKey: readonly string[] | null;
  /** PostgreSQL's operator class of trigrams; null without the extension. */
  readonly trigrams: string | null;
}

/** Statistics of a column: estimates of the database. */
export interface ColumnFacts {
  /** Different values. */
  readonly distinct: number;
  /** The most frequent values, and the share of the rows that they have together. */
  readonly common: readonly string[];
  readonly commonShare: number;
}

export const NO_FACTS: RelationFacts = { rows: null, columns: new Map(), sortKey: null, trigrams: null };

/** How callers ask an endpoint. */
export interface EndpointUsage {
  readonly days: number;
  readonly requests: number;
  /** Of those with a shape: requests that filter by nothing. */
  readonly unfiltered: number;
}

/** `about 12,000`. */
export function about(count: number): string {
  return `about ${Math.round(count).toLocaleString("en")}`;
}
