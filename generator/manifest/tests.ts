import { enforcesConstraints, type ModelColumn, refOf } from "./columns.js";
import { type JsonObject, objectOr, objectsOf, textOr, textsOf } from "./json.js";
import { byText } from "./strings.js";

/** Columns that a test of the project finds unique together, by the tested node's `unique_id`. */
export function testedKeysOf(nodes: JsonObject): ReadonlyMap<string, readonly (readonly string[])[]> {
  const keys = new Map<string, (readonly string[])[]>();
  const inOrder = Object.entries(nodes).sort(([a], [b]) => byText(a, b));
  for (const [, value] of inOrder) {
    const node = objectOr(value);
    const key = testedKeyOf(node);
    if (key.length > 0) keys.set(testedModel(node), [...(keys.get(testedModel(node)) ?? []), key]);
  }
  return keys;
}

function testedKeyOf(node: JsonObject): readonly string[] {
  if (isBindingTest(node, "unique")) return textsOf([node["column_name"]]);
  if (!isBindingTest(node, "unique_combination_of_columns")) return [];
  const { kwargs } = objectOr(node["test_metadata"]);
  return textsOf(objectOr(kwargs)["combination_of_columns"]);
}

/** `error_if` of a test that fails if any row fails: dbt's default, and other ways to write it. */
const FAILS_AT_FIRST_ROW = /^\s*(?:(?:!=|<>|>)\s*0|>=\s*1)\s*$/;

/**
 * Whether a node is a test of this name that holds for all rows: a test that reads some rows only, only warns, or
 * tolerates failures (`error_if`) guarantees nothing.
 */
export function isBindingTest(node: JsonObject, name: string): boolean {
  const { where = null, severity, error_if, fail_calc } = objectOr(node["config"]);
  return (
    node["resource_type"] === "test" &&
    objectOr(node["test_metadata"])["name"] === name &&
    where === null &&
    textOr(severity, "error").toLowerCase() === "error" &&
    FAILS_AT_FIRST_ROW.test(textOr(error_if, "!= 0")) &&
    textOr(fail_calc, "count(*)") === "count(*)"
  );
}

/**
 * The node that a test is of. Older versions have no `attached_node`: there it is the one that the test's `model` names; a
 * `relationships` test depends on the referenced node too, in any order.
 */
export function testedModel(test: JsonObject): string {
  const attached = textOr(test["attached_node"], "");
  if (attached !== "") return attached;
  const nodes = textsOf(objectOr(test["depends_on"])["nodes"]);
  const { model } = objectOr(objectOr(test["test_metadata"])["kwargs"]);
  const name = refOf(textOr(model, ""));
  const isTested = (id: string): boolean =>
    name === null
      ? id.startsWith("source.") && /\bsource\(/.test(textOr(model, ""))
      : id.split(".")[2] === name;
  return nodes.find(isTested) ?? nodes[0] ?? "";
}

/** What a model's keys depend on besides its own node. */
interface ModelContext {
  readonly adapter: string;
  /** Columns that binding tests find unique together. */
  readonly testedKeys: readonly (readonly string[])[];
}

/**
 * A column counts only where it is never null: `unique` tests and constraints ignore nulls. ClickHouse enforces no
 * constraint.
 */
export function provenKeysOf(
  node: JsonObject,
  columns: readonly ModelColumn[],
  { adapter, testedKeys }: ModelContext,
): readonly (readonly string[])[] {
  const isClickhouse = adapter === "clickhouse";
  const constraints = isClickhouse || !enforcesConstraints(node) ? [] : constraintKeys(node);
  const isNeverNull = (name: string): boolean => {
    const { notNull, type } = columns.find((column) => column.name === name) ?? { notNull: null, type: null };
    return notNull !== null || (isClickhouse && type !== null && !/\bNullable\(/.test(type));
  };
  const isProven = (key: readonly string[]): boolean => key.length > 0 && key.every(isNeverNull);
  // The test of a combination groups nulls as it does values.
  return [...testedKeys.filter((key) => key.length > 1 || isProven(key)), ...constraints.filter(isProven)];
}

function constraintKeys(node: JsonObject): readonly (readonly string[])[] {
  const isUnique = ({ type }: JsonObject): boolean => type === "unique" || type === "primary_key";
  const ofColumns = Object.entries(objectOr(node["columns"])).flatMap(([key, value]) => {
    const column = objectOr(value);
    return objectsOf(column["constraints"]).some(isUnique) ? [[textOr(column["name"], "") || key]] : [];
  });
  return [
    ...ofColumns,
    ...objectsOf(node["constraints"])
      .filter(isUnique)
      .map(({ columns }) => textsOf(columns)),
  ];
}
