import type { Relation } from "../model/endpoint.js";
import type { ResultColumns } from "../query/warehouse.js";

/** Columns without a known version are looked up again after this time. */
const FRESH_MS = 60_000;

interface Entry {
  readonly columns: ResultColumns;
  /** Version of the rows at the lookup; null if unknown. */
  readonly version: string | null;
  freshUntil: number;
}

/**
 * Caches the columns of relations per version of the rows: after a build they are looked up before the next result.
 * Without a known version, stale columns are used while they are looked up again.
 */
export class ColumnCache {
  readonly #entries = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<ResultColumns>>();
  readonly #describe: (relation: Relation) => Promise<ResultColumns>;

  constructor(describe: (relation: Relation) => Promise<ResultColumns>) {
    this.#describe = describe;
  }

  /** The columns, or a promise of them when they are not cached. */
  get(relation: Relation, version: string | null): ResultColumns | Promise<ResultColumns> {
    const entry = this.#entries.get(relationKey(relation));
    if (entry?.version !== version) return this.renew(relation, version);
    if (entry.freshUntil < Date.now()) {
      // After a failure the stale columns stay: the query itself fails if they are wrong.
      this.renew(relation, version).catch(() => (entry.freshUntil = Date.now() + FRESH_MS));
    }
    return entry.columns;
  }

  /** Looks the columns up; concurrent callers share one lookup. */
  renew(relation: Relation, version: string | null): Promise<ResultColumns> {
    const key = `${relationKey(relation)}\0${version ?? ""}`;
    const pending = this.#pending.get(key) ?? this.#lookUp(key, relation, version);
    this.#pending.set(key, pending);
    return pending;
  }

  async #lookUp(key: string, relation: Relation, version: string | null): Promise<ResultColumns> {
    try {
      const columns = await this.#describe(relation);
      this.#entries.set(relationKey(relation), { columns, version, freshUntil: Date.now() + FRESH_MS });
      return columns;
    } finally {
      this.#pending.delete(key);
    }
  }
}

/** U+0000 separates the parts: PostgreSQL names cannot contain it. */
export function relationKey([schema, name]: Relation): string {
  return `${schema}\0${name}`;
}
