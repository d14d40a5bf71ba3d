import type { Relation } from "../model/endpoint.js";
import type { ResultColumns } from "../query/warehouse.js";

/** Without a build to go by, columns are looked up again after this long. */
const FRESH_MS = 60_000;

interface Entry {
  readonly columns: ResultColumns;
  /** Of the rows when they were looked up; null where it is not known. */
  readonly version: string | null;
  freshUntil: number;
}

/**
 * The columns of relations. They belong to a version of the rows: after a build they are looked up before the next
 * answer. Where no version is known, old columns serve while new ones are looked up.
 */
export class ColumnCache {
  readonly #entries = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<ResultColumns>>();
  readonly #describe: (relation: Relation) => Promise<ResultColumns>;

  constructor(describe: (relation: Relation) => Promise<ResultColumns>) {
    this.#describe = describe;
  }

  /** The columns at once where they are known, else a promise of them. */
  get(relation: Relation, version: string | null): ResultColumns | Promise<ResultColumns> {
    const entry = this.#entries.get(relationKey(relation));
    if (entry?.version !== version) return this.renew(relation, version);
    if (entry.freshUntil < Date.now()) {
      // After a failure the old columns stay: the query itself reports when they no longer fit.
      this.renew(relation, version).catch(() => (entry.freshUntil = Date.now() + FRESH_MS));
    }
    return entry.columns;
  }

  /** Looks the columns up; callers at the same time share one look-up. */
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

/** No name holds the separator: PostgreSQL knows no such character. */
export function relationKey([schema, name]: Relation): string {
  return `${schema}\0${name}`;
}
