import { BUILT } from "./graph.js";
import { type JsonObject, objectOr, objectsOf, textOr, textsOf } from "./json.js";
import { columnEntries, isPrivate, routewrightOf } from "./node-meta.js";

/** A column that `schema.yml` declares or `catalog.json` lists. */
export interface ModelColumn {
  readonly name: string;
  /** Its type as the database writes it; null if none is declared. */
  readonly type: string | null;
  /** What guarantees that values are not null: a constraint, a dbt test that fails the build, or nothing. */
  readonly notNull: "constraint" | "test" | null;
  /** The values that an `accepted_values` test allows; null without one. */
  readonly acceptedValues: readonly string[] | null;
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
}

/** The columns in the order of `schema.yml`. */
export function columnsOf(
  node: JsonObject,
  testsByColumn: ReadonlyMap<string, ColumnTests>,
): readonly ModelColumn[] {
  const isEnforced = enforcesConstraints(node);
  const ofModel = isEnforced ? objectsOf(node["constraints"]) : NO_CONSTRAINTS;
  const columns = columnEntries(node).map(([key, column]): ModelColumn => {
    const name = textOr(column["name"], "") || key;
    const tests = testsByColumn.get(name);
    const own = isEnforced ? objectsOf(column["constraints"]) : NO_CONSTRAINTS;
    const constraints = [...own, ...ofModel.filter(({ columns }) => textsOf(columns).includes(name))];
    return {
      name,
      type: textOr(column["data_type"], "").trim() || null,
      notNull: constraints.some(forbidsNull) ? "constraint" : tests?.notNull ? "test" : null,
      // Tests that have no value in common document none.
      acceptedValues: tests?.acceptedValues?.length === 0 ? null : (tests?.acceptedValues ?? null),
      isPrivate: isPrivate(column),
      routewright: routewrightOf(column),
      description: textOr(column["description"], ""),
    };
  });
  return firstOfEachName(columns);
}

/** Whether the relation has the constraints that the model declares: dbt builds none on a view. */
export function enforcesConstraints({ config, contract }: JsonObject): boolean {
  const { materialized, contract: configured } = objectOr(config);
  const isEnforced = objectOr(configured)["enforced"] ?? objectOr(contract)["enforced"];
  return isEnforced === true && BUILT.has(materialized);
}

function forbidsNull({ type }: JsonObject): boolean {
  return type === "not_null" || type === "primary_key";
}

export function firstOfEachName(columns: readonly ModelColumn[]): readonly ModelColumn[] {
  const seen = new Set<string>();
  return columns.filter(({ name }) => !seen.has(name) && seen.add(name));
}

/** Shared: most columns have none, and there may be tens of thousands. */
const NO_CONSTRAINTS: readonly JsonObject[] = [];
