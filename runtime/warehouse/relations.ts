import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Column, Relation } from "../model/endpoint.js";
import { type QueryContext, RelationMissing, type ResultColumn, type ResultColumns } from "./warehouse.js";

const served = new WeakMap<ResultColumns, WeakMap<readonly Column[], ResultColumns>>();

/** The declared columns that exist, in declared order; all columns if none is declared. */
export function servedColumns(existing: ResultColumns, declared: readonly Column[] = []): ResultColumns {
  if (declared.length === 0) return existing;
  let known = served.get(existing);
  if (!known) served.set(existing, (known = new WeakMap<readonly Column[], ResultColumns>()));
  const columns = known.get(declared) ?? declared.flatMap((column) => servedColumn(existing, column));
  known.set(declared, columns);
  return columns;
}

function servedColumn(existing: ResultColumns, declared: Column): readonly ResultColumn[] {
  const { name, type, timezone, wide = false } = declared;
  const column = existing.find((each) => each.name === name);
  if (!column) return [];
  const decimal = column.type === "numeric" ? (column.decimal ?? digitsOf(type ?? "")) : undefined;
  return [
    {
      ...column,
      ...(decimal && { decimal }),
      ...(timezone !== undefined && { timezone }),
      ...(type !== null && { wide }),
    },
  ];
}

/** Precision and scale that a model declares. PostgreSQL's own type of a `sum()` has none. */
function digitsOf(declared: string): readonly [precision: number, scale: number] | undefined {
  const [, precision, scale = "0"] =
    /^(?:numeric|decimal|dec)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)/i.exec(declared) ?? [];
  return precision === undefined ? undefined : [Number(precision), Number(scale)];
}

/** A query whose relation or column is missing is retried for this time, with exponential backoff. */
const RETRY_MS = 2000;
const FIRST_RETRY_PAUSE_MS = 25;

/** Look-ups at a time when a server starts: few, so that requests do not wait behind them. */
const CONCURRENT_CHECKS = 2;

interface RelationsOptions {
  /** Looks the columns up. Rejects when the relation does not exist. */
  readonly describe: (relation: Relation) => Promise<ResultColumns>;
  /** Whether a query failed because its relation or columns have changed since its statement was built. */
  readonly isRelationChange: (error: unknown) => boolean;
}

/** The storage of rows with a known version is looked up again after this time. */
const STORAGE_MS = 1000;

/** Columns without a known version are looked up again after this time. */
const FRESH_MS = 60_000;

interface Entry {
  readonly columns: ResultColumns;
  /** Version of the rows at the lookup; null if unknown. */
  readonly version: string | null;
  readonly lookedUpAt: number;
  freshUntil: number;
}

/**
 * The relations of a database: which of them are missing, and their columns, cached per version of the rows: after a build
 * they are looked up before the next result. Without a known version, stale columns are used while they are looked up again.
 */
export class Relations {
  readonly #options: RelationsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<ResultColumns>>();
  readonly #missing = new Set<string>();

  constructor(options: RelationsOptions) {
    this.#options = options;
  }

  /** Relations, as `schema.name`, whose latest query failed because the database does not have them. */
  get missing(): readonly string[] {
    return [...this.#missing];
  }

  /**
   * The columns of a relation. With `hasStorage` they are looked up again after a second: dbt has replaced a table some time
   * before it reports the build, and never reports it when it is killed.
   */
  async columns(
    relation: Relation,
    version: string | null,
    hasStorage = version !== null,
  ): Promise<ResultColumns> {
    const cached = this.#cached(relation, version);
    if (cached !== null && !hasStorage) return cached;
    const { lookedUpAt = 0 } = this.#entries.get(relationKey(relation)) ?? {};
    if (cached !== null && Date.now() <= lookedUpAt + STORAGE_MS) return cached;
    if (cached !== null) {
      const renewed = await this.#renew(relation, version).catch((error: unknown) => error);
      if (Array.isArray(renewed)) return renewed as ResultColumns;
      // A database that does not respond has not changed the rows that are cached.
      if (!this.#options.isRelationChange(renewed)) return cached;
    }
    return this.query(relation, { version, isStillNeeded: () => true }, (found) => Promise.resolve(found));
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
          this.#missing.add(relation.join("."));
        }
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_CHECKS }, checkNext));
  }

  /** Runs a query; retries it while dbt replaces a table or its views (runtime/docs/freshness.md). */
  async query<T>(
    relation: Relation,
    context: Pick<QueryContext, "version" | "isStillNeeded">,
    run: (columns: ResultColumns) => Promise<T>,
  ): Promise<T> {
    const { isRelationChange } = this.#options;
    const until = performance.now() + RETRY_MS;
    let columns = this.#cached(relation, context.version);
    for (let pauseMs = FIRST_RETRY_PAUSE_MS; ; pauseMs *= 2) {
      try {
        columns ??= await this.#renew(relation, context.version);
        const result = await run(columns);
        if (this.#missing.size > 0) this.#missing.delete(relation.join("."));
        return result;
      } catch (error) {
        if (!isRelationChange(error)) throw error;
        const left = until - performance.now();
        if (left <= 0 || !context.isStillNeeded()) {
          this.#missing.add(relation.join("."));
          throw error;
        }
        await pause(Math.min(pauseMs, left));
        columns = null;
      }
    }
  }

  #cached(relation: Relation, version: string | null): ResultColumns | null {
    const entry = this.#entries.get(relationKey(relation));
    if (entry?.version !== version) return null;
    if (entry.freshUntil < Date.now()) {
      // After a failure the stale columns stay: the query itself fails if they are wrong.
      this.#renew(relation, version).catch(() => (entry.freshUntil = Date.now() + FRESH_MS));
    }
    return entry.columns;
  }

  /** Looks the columns up; concurrent callers share one lookup. */
  #renew(relation: Relation, version: string | null): Promise<ResultColumns> {
    const key = `${relationKey(relation)}\0${version ?? ""}`;
    const pending = this.#pending.get(key) ?? this.#lookUp(key, relation, version);
    this.#pending.set(key, pending);
    return pending;
  }

  async #lookUp(key: string, relation: Relation, version: string | null): Promise<ResultColumns> {
    try {
      const lookedUpAt = Date.now();
      const found = await this.#options.describe(relation);
      // The same object while nothing has changed: entity tags are cached by it.
      const known = this.#entries.get(relationKey(relation))?.columns;
      const columns = known !== undefined && isDeepStrictEqual(known, found) ? known : found;
      this.#entries.set(relationKey(relation), {
        columns,
        version,
        lookedUpAt,
        freshUntil: lookedUpAt + FRESH_MS,
      });
      return columns;
    } finally {
      this.#pending.delete(key);
    }
  }
}

/** U+0000 separates the parts: no name of a database contains it. */
export function relationKey([schema, name]: Relation): string {
  return `${schema}\0${name}`;
}
