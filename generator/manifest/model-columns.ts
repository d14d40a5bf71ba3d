import type { Constraint } from "./constraints.js";
import { type JsonObject, textOr } from "./json.js";
import { columnEntries, isPrivate, routewrightOf } from "./node-meta.js";

/** A column that `schema.yml` declares or `catalog.json` lists. */
export interface ModelColumn {
  readonly name: string;
  /** Its type as the database writes it; null if none is declared. */
  readonly type: string | null;
  /** The type is that of the database that serves, whatever dbt's adapter is. */
  readonly isServedType?: true;
  /** The type in the warehouse of which the relation is a copy. */
  readonly sourceType?: string;
  /** Labels of an enumeration that the database has by a name of its own, in its order: of `columns.json`. */
  readonly labels?: readonly string[];
  /** What a domain of the database is of: of `columns.json`. */
  readonly baseType?: string;
  /** What guarantees that values are not null: a constraint, a dbt test that fails the build, or nothing. */
  readonly notNull: "constraint" | "test" | null;
  /** The values that an `accepted_values` test allows; null without one. */
  readonly acceptedValues: readonly string[] | null;
  /** What other tests and constraints guarantee. */
  readonly guarantees: ColumnGuarantees;
  /** Whether the project marks the column as private data. */
  readonly isPrivate: boolean;
  /** Keys of `meta.routewright` as written. */
  readonly routewright: JsonObject;
  readonly description: string;
}

/** What the tests of a column guarantee. */
export interface ColumnTests {
  readonly notNull: boolean;
  readonly acceptedValues: readonly string[] | null;
  readonly guarantees: ColumnGuarantees;
}

/** What is guaranteed besides nulls and accepted values; a key without a guarantee is absent. */
export interface ColumnGuarantees {
  readonly minimum?: number;
  readonly maximum?: number;
  /** Whether the range excludes `minimum` and `maximum` themselves. */
  readonly exclusive?: true;
  /** No two rows have the same value, nulls aside. */
  readonly unique?: true;
  /** `model.column` that has each value. */
  readonly references?: string;
}

/** Shared by columns without one. */
export const NO_GUARANTEES: ColumnGuarantees = {};

/** The columns in the order of `schema.yml`. */
export function columnsOf(
  node: JsonObject,
  testsByColumn: ReadonlyMap<string, ColumnTests>,
  constraints: readonly Constraint[],
): readonly ModelColumn[] {
  const columns = columnEntries(node).map(([key, column]): ModelColumn => {
    const name = textOr(column["name"], "") || key;
    const tests = testsByColumn.get(name);
    const own = constraints.filter(({ columns }) => columns.includes(name));
    return {
      name,
      type: textOr(column["data_type"], "").trim() || null,
      notNull: own.some(forbidsNull) ? "constraint" : tests?.notNull ? "test" : null,
      // Tests that have no value in common document none.
      acceptedValues: tests?.acceptedValues?.length === 0 ? null : (tests?.acceptedValues ?? null),
      guarantees: { ...guaranteesOf(own), ...tests?.guarantees },
      isPrivate: isPrivate(column),
      routewright: routewrightOf(column),
      description: textOr(column["description"], ""),
    };
  });
  return firstOfEachName(columns);
}

/** What the constraints of a column guarantee; one on several columns says nothing of one of them. */
function guaranteesOf(constraints: readonly Constraint[]): ColumnGuarantees {
  const single = constraints.filter(({ columns }) => columns.length === 1);
  const isUnique = single.some(({ type }) => type === "unique" || type === "primary_key");
  const { references = null } = single.find((each) => each.references !== null) ?? {};
  return { ...(isUnique && { unique: true as const }), ...(references !== null && { references }) };
}

function forbidsNull({ type }: Constraint): boolean {
  return type === "not_null" || type === "primary_key";
}

export function firstOfEachName(columns: readonly ModelColumn[]): readonly ModelColumn[] {
  const seen = new Set<string>();
  return columns.filter(({ name }) => !seen.has(name) && seen.add(name));
}
