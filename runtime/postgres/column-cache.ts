import type { Relation } from "../model/endpoint.js";
import type { ResultColumns } from "../query/warehouse.js";

/** A dbt build may add a column at any time; a view's columns are looked up anew after this long. */
const FRESH_MS = 60_000;

interface Entry {
  readonly shape: ResultColumns;
  freshUntil: number;
}

/** The columns of relations. An old shape still serves while the new one is looked up. */
export class ColumnCache {
  /** By schema and name. */
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #pending = new Map<string, Promise<ResultColumns>>();
  readonly #describe: (relation: Relation) => Promise<ResultColumns>;

  constructor(describe: (relation: Relation) => Promise<ResultColumns>) {
    this.#describe = describe;
  }

  /** The shape at once where it is known, else a promise of it. */
  get(relation: Relation): ResultColumns | Promise<ResultColumns> {
    const entry = this.#entries.get(relation[0])?.get(relation[1]);
    if (!entry) return this.renew(relation);
    if (entry.freshUntil < Date.now()) {
      // A failure here leaves the old shape: the query itself tells when that no longer fits.
      this.renew(relation).catch(() => (entry.freshUntil = Date.now() + FRESH_MS));
    }
    return entry.shape;
  }

  /** Looks the shape up; callers at the same time share one look-up. */
  renew(relation: Relation): Promise<ResultColumns> {
    const key = keyOf(relation);
    const pending = this.#pending.get(key) ?? this.#lookUp(key, relation);
    this.#pending.set(key, pending);
    return pending;
  }

  async #lookUp(key: string, relation: Relation): Promise<ResultColumns> {
    try {
      const shape = await this.#describe(relation);
      this.#keep(relation, shape);
      return shape;
    } finally {
      this.#pending.delete(key);
    }
  }

  #keep([schema, name]: Relation, shape: ResultColumns): void {
    const entry = { shape, freshUntil: Date.now() + FRESH_MS };
    const entries = this.#entries.get(schema);
    if (entries) entries.set(name, entry);
    else this.#entries.set(schema, new Map([[name, entry]]));
  }
}

function keyOf([schema, name]: Relation): string {
  return `${schema}\0${name}`;
}
