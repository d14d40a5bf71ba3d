import { isDeepStrictEqual } from "node:util";
import { BoundedCache } from "../http/bounded-cache.js";
import type { Relation } from "../model/endpoint.js";
import { type ColumnChange, RelationMissing } from "./query-errors.js";
import type { DescribedRelation, QueryContext, ResultColumns } from "./warehouse.js";
import { sleep } from "../model/timer.js";

/** A query whose relation is missing or changes is retried for this time, with exponential backoff. */
export const RETRY_MS = 2000;
export const FIRST_RETRY_PAUSE_MS = 25;

/** Look-ups at a time when a server starts: few, so that requests do not wait behind them. */
const CONCURRENT_CHECKS = 2;

/** Rows that a statement makes of relations. */
export interface DerivedRows {
  /** A digest (`derivedRows`): it is looked up several times a request. */
  readonly key: string;
  readonly relations: readonly Relation[];
  readonly describe: () => Promise<DescribedRelation>;
}

/** Where rows come from. */
export type RowSource = Relation | DerivedRows;

const isRelation = (source: RowSource): source is Relation => !("key" in source);
const relationsOf = (source: RowSource): readonly Relation[] =>
  isRelation(source) ? [source] : source.relations;
const sourceKey = (source: RowSource): string =>
  isRelation(source) ? relationKey(source) : `\0${source.key}`;

/** Of a column's name, type and entry; of the entry around them. */
const COLUMN_BYTES = 250;
const DERIVED_BYTES = 300;

interface RelationsOptions {
  /** Looks the relation up. Rejects with `RelationMissing` when it does not exist. */
  readonly describe: (relation: Relation) => Promise<DescribedRelation>;
  /** What an error says of the relation and columns that its statement was built for. */
  readonly changeIn: (error: unknown) => ColumnChange;
  /** Called with the columns of a relation once per build. */
  readonly onColumns: (relation: Relation, columns: ResultColumns) => void;
}

/** Columns without a known version are looked up again after this time. */
const FRESH_MS = 60_000;

interface KnownRelation extends DescribedRelation {
  /** Version of the rows at the lookup; null if unknown. */
  readonly version: string | null;
  /** By `performance.now()`. */
  freshUntil: number;
  /** How often its relations had expired when its look-up began. */
  readonly expiries: number;
}

/**
 * The relations of a database: which of them are missing, and their columns, cached per version of the rows: after a build
 * they are looked up before the next result. Without a known version, stale columns are used while they are looked up again.
 */
export class SchemaCache {
  readonly #options: RelationsOptions;
  /** Bounded by the relations that are served. */
  readonly #entries = new Map<string, KnownRelation>();
  /** Bounded by the look-ups that run. */
  readonly #pending = new Map<string, Promise<KnownRelation>>();
  /** Bounded by the relations that are served. */
  readonly #missing = new Map<string, string | null>();
  /** Callers choose their groups. */
  readonly #derived = new BoundedCache<KnownRelation>("derived_columns", {
    sizeOf: ({ columns }) => DERIVED_BYTES + COLUMN_BYTES * columns.length,
  });
  /** How often each relation has expired. Bounded by the relations that are served. */
  readonly #expiries = new Map<string, number>();

  constructor(options: RelationsOptions) {
    this.#options = options;
  }

  /** Relations, as `schema.name`, that the database did not have at their latest query. */
  get missing(): readonly string[] {
    return [...this.#missing.keys()];
  }

  reasonMissing(name: string): string | null {
    return this.#missing.get(name) ?? null;
  }

  /** Where `isStillNeeded` is false one that is missing is not waited for. */
  columns(
    relation: RowSource,
    version: string | null,
    isStillNeeded = (): boolean => true,
  ): ResultColumns | Promise<ResultColumns> {
    const cached = this.#cached(relation, version);
    if (cached !== null) return cached.columns;
    return this.query(relation, { version, isStillNeeded }, (found) => Promise.resolve(found));
  }

  /** Their columns, and those of rows derived from them, are looked up again before they are used: an answer depends on them. */
  expire(relations: readonly Relation[]): void {
    for (const relation of relations) {
      const key = relationKey(relation);
      this.#expiries.set(key, (this.#expiries.get(key) ?? 0) + 1);
    }
  }

  #expiriesOf(source: RowSource): number {
    if (isRelation(source)) return this.#expiries.get(relationKey(source)) ?? 0;
    return source.relations.reduce((sum, relation) => sum + this.#expiriesOf(relation), 0);
  }

  known(relation: Relation): ResultColumns | null {
    return this.#entries.get(relationKey(relation))?.columns ?? null;
  }

  /**
   * Looks up which relations exist: `missing` names the others at once, before anybody asks for them. Never rejects; stops
   * when the database does not respond, which says nothing about its relations.
   */
  async check(relations: readonly Relation[]): Promise<void> {
    const left = [...new Map(relations.map((relation) => [relationKey(relation), relation])).values()];
    const checkNext = async (): Promise<void> => {
      for (let relation; (relation = left.pop()) !== undefined;) {
        try {
          await this.#renew(relation, null);
        } catch (error) {
          if (!(error instanceof RelationMissing)) return;
          this.#missing.set(relation.join("."), error.reason);
        }
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_CHECKS }, checkNext));
  }

  /**
   * Runs a query. Where the database refuses it, it is asked whether the relation has changed since: only then the query is
   * retried, while dbt replaces a table or its views (runtime/docs/freshness.md).
   */
  async query<T>(
    relation: RowSource,
    { version, isStillNeeded }: Pick<QueryContext, "version" | "isStillNeeded">,
    run: (columns: ResultColumns) => Promise<T>,
  ): Promise<T> {
    const until = performance.now() + RETRY_MS;
    let entry = this.#cached(relation, version);
    for (let pauseMs = FIRST_RETRY_PAUSE_MS; ; pauseMs *= 2) {
      let failure: unknown;
      try {
        entry ??= await this.#renew(relation, version);
        const result = await run(entry.columns);
        if (this.#missing.size > 0)
          for (const each of relationsOf(relation)) this.#missing.delete(each.join("."));
        return result;
      } catch (error) {
        failure = error;
      }
      entry = await this.#changed(relation, version, entry, failure);
      const left = until - performance.now();
      if (left <= 0 || !isStillNeeded()) throw failure;
      await sleep(Math.min(pauseMs, left));
    }
  }

  /**
   * The relation after a query of it has failed, looked up again; null where it is missing. Rejects with the query's failure where
   * the relation has not changed, and where the database does not say.
   */
  async #changed(
    relation: RowSource,
    version: string | null,
    used: KnownRelation | null,
    failure: unknown,
  ): Promise<KnownRelation | null> {
    if (failure instanceof RelationMissing) {
      if (isRelation(relation)) this.#missing.set(relation.join("."), failure.reason);
      // A statement does not say which of its relations is missing.
      else await this.check(relation.relations);
      if (failure.reason !== null) throw failure;
      return null;
    }
    const change = this.#options.changeIn(failure);
    // Derived rows are made of other columns, with which they are made anew (`Groupings`).
    if (used === null || !isRelation(relation) || change === "none") throw failure;
    // Not shared with a look-up that has begun before the failure.
    const found = await this.#lookUp(relation, version).catch((error: unknown) => error as Error);
    if (found instanceof RelationMissing) return this.#changed(relation, version, null, found);
    if (found instanceof Error) throw failure;
    // What has certainly changed may have changed back.
    if (isSame(found, used) && change !== "certain") throw failure;
    return found;
  }

  #known(source: RowSource): KnownRelation | undefined {
    return isRelation(source)
      ? this.#entries.get(relationKey(source))
      : this.#derived.get(source.key, source.key);
  }

  #cached(relation: RowSource, version: string | null): KnownRelation | null {
    const entry = this.#known(relation);
    if (entry?.version !== version || entry.expiries !== this.#expiriesOf(relation)) return null;
    if (entry.freshUntil < performance.now()) {
      // After a failure the stale columns stay: the query itself fails if they are wrong.
      this.#renew(relation, version).catch(() => (entry.freshUntil = performance.now() + FRESH_MS));
    }
    return entry;
  }

  /** Looks the relation up. Concurrent callers share one look-up, unless the relation has expired since it began. */
  #renew(relation: RowSource, version: string | null): Promise<KnownRelation> {
    const key = `${sourceKey(relation)}\0${String(this.#expiriesOf(relation))}\0${version ?? ""}`;
    const pending =
      this.#pending.get(key) ?? this.#lookUp(relation, version).finally(() => this.#pending.delete(key));
    this.#pending.set(key, pending);
    return pending;
  }

  async #lookUp(relation: RowSource, version: string | null): Promise<KnownRelation> {
    const expiries = this.#expiriesOf(relation);
    const found = await (isRelation(relation) ? this.#options.describe(relation) : relation.describe());
    const known = this.#known(relation);
    // The same object while nothing has changed: what is made from the columns is cached by it.
    const columns = known && isDeepStrictEqual(known.columns, found.columns) ? known.columns : found.columns;
    const entry: KnownRelation = {
      id: found.id,
      columns,
      version,
      freshUntil: performance.now() + FRESH_MS,
      expiries,
    };
    if (!isRelation(relation)) {
      this.#derived.set(relation.key, entry, undefined, relation.key);
      this.#renewStale(relation.relations);
      return entry;
    }
    this.#entries.set(relationKey(relation), entry);
    if (known?.version !== version || !isSame(entry, known)) this.#options.onColumns(relation, columns);
    return entry;
  }

  /** `/health` tells of the columns of relations that only statements read. */
  #renewStale(relations: readonly Relation[]): void {
    for (const relation of relations) {
      const { freshUntil = Infinity } = this.#entries.get(relationKey(relation)) ?? {};
      if (freshUntil < performance.now()) this.#renew(relation, null).catch(() => undefined);
    }
  }
}

function isSame(one: DescribedRelation, other: DescribedRelation): boolean {
  return one.id === other.id && isDeepStrictEqual(one.columns, other.columns);
}

/** U+0000 separates the parts: no name of a database contains it. */
export function relationKey([schema, name]: Relation): string {
  return `${schema}\0${name}`;
}
