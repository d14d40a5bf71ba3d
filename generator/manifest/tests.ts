import { groupedBy } from "@routewright/runtime/model";
import { type Constraint, refOf } from "./constraints.js";
import { type ColumnGuarantees, type ColumnTests, type ModelColumn, NO_GUARANTEES } from "./model-columns.js";
import { type JsonObject, objectOr, textOr, textsOf } from "./json.js";
import { byText } from "./strings.js";

/** A test of the project. */
export interface NodeTest {
  readonly id: string;
  readonly json: JsonObject;
}

/** The tests by the `unique_id` of the tested node: in one order, whatever that of the file. */
export function testsByNode(nodes: JsonObject): ReadonlyMap<string, readonly NodeTest[]> {
  const tests = Object.entries(nodes)
    .map(([id, value]): NodeTest => ({ id, json: objectOr(value) }))
    .filter(({ json }) => json["resource_type"] === "test")
    .sort((a, b) => byText(a.id, b.id));
  return groupedBy(tests, ({ json }) => testedModel(json));
}

/** The column of each test that is of one. */
export function testedColumnsOf(tests: readonly NodeTest[]): ReadonlyMap<string, string> {
  const columns = tests.map(({ id, json }) => [id, textOr(json["column_name"], "")] as const);
  return new Map(columns.filter(([, column]) => column !== ""));
}

/** What the binding tests (`isBindingTest`) of a node guarantee, by column. */
export function columnTestsOf(tests: readonly NodeTest[]): ReadonlyMap<string, ColumnTests> {
  const found = new Map<string, ColumnTests>();
  for (const { json } of tests) {
    const { name, kwargs } = objectOr(json["test_metadata"]);
    const guarantee = GUARANTEES[textOr(name, "")];
    if (guarantee === undefined || !isBindingTest(json, textOr(name, ""))) continue;
    const column = textOr(json["column_name"], "");
    const known = found.get(column) ?? { notNull: false, acceptedValues: null, guarantees: NO_GUARANTEES };
    found.set(column, { ...known, ...guarantee(objectOr(kwargs), known, json) });
  }
  return found;
}

type ReadGuarantee = (kwargs: JsonObject, known: ColumnTests, test: JsonObject) => Partial<ColumnTests>;

/** By the name of the test: dbt's own four, and the range tests of two packages. */
const GUARANTEES: Readonly<Record<string, ReadGuarantee | undefined>> = {
  not_null: () => ({ notNull: true }),
  accepted_values: ({ values }, { acceptedValues: known }) => {
    if (!Array.isArray(values)) return {};
    const accepted = values.map(String);
    return { acceptedValues: known === null ? accepted : known.filter((value) => accepted.includes(value)) };
  },
  unique: (_, { guarantees }) => ({ guarantees: { ...guarantees, unique: true } }),
  relationships: ({ to, field }, { guarantees }) => {
    const model = refOf(textOr(to, ""));
    const column = textOr(field, "");
    // Of two references the first counts.
    return model === null || column === ""
      ? {}
      : { guarantees: { references: `${model}.${column}`, ...guarantees } };
  },
  accepted_range: ({ inclusive, ...range }, { guarantees }, test) =>
    isFromPackage(test, "dbt_utils") ? { guarantees: withRange(guarantees, range, inclusive === false) } : {},
  expect_column_values_to_be_between: ({ strictly, row_condition, ...range }, { guarantees }, test) =>
    isFromPackage(test, "dbt_expectations") && (row_condition ?? null) === null
      ? { guarantees: withRange(guarantees, range, strictly === true) }
      : {},
};

function isFromPackage(test: JsonObject, namespace: string): boolean {
  return objectOr(test["test_metadata"])["namespace"] === namespace;
}

/**
 * Intersects two ranges. If only one of them excludes its bounds, the result includes them. A bound that is an SQL
 * expression is ignored, as it has no JSON Schema keyword.
 */
function withRange(
  { minimum, maximum, exclusive, ...known }: ColumnGuarantees,
  { min_value, max_value }: JsonObject,
  isExclusive: boolean,
): ColumnGuarantees {
  const isNumber = (bound: unknown): bound is number => typeof bound === "number" && Number.isFinite(bound);
  const lower = [minimum, min_value].filter(isNumber);
  const upper = [maximum, max_value].filter(isNumber);
  const hadRange = minimum !== undefined || maximum !== undefined;
  const hasRange = isNumber(min_value) || isNumber(max_value);
  const isEachExclusive = (!hadRange || exclusive === true) && (!hasRange || isExclusive);
  return {
    ...known,
    ...(lower.length > 0 && { minimum: Math.max(...lower) }),
    ...(upper.length > 0 && { maximum: Math.min(...upper) }),
    ...(isEachExclusive && (hadRange || hasRange) && { exclusive: true as const }),
  };
}

/** The columns that a test finds unique together; none for another test. */
function testedKeyOf({ json }: NodeTest): readonly string[] {
  if (isBindingTest(json, "unique")) return textsOf([json["column_name"]]);
  if (!isBindingTest(json, "unique_combination_of_columns")) return [];
  const { kwargs } = objectOr(json["test_metadata"]);
  return textsOf(objectOr(kwargs)["combination_of_columns"]);
}

/** `error_if` of a test that fails if any row fails: dbt's default, and other ways to write it. */
const FAILS_AT_FIRST_ROW = /^\s*(?:(?:!=|<>|>)\s*0|>=\s*1)\s*$/;

/**
 * Whether a node is a test of this name that holds for all rows: a test that reads some rows only, only warns, or
 * tolerates failures (`error_if`) guarantees nothing.
 */
function isBindingTest(node: JsonObject, name: string): boolean {
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
function testedModel(test: JsonObject): string {
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

/** What a model depends on besides its own node. */
export interface ModelContext {
  readonly adapter: string;
  /** The tests of the model. */
  readonly tests: readonly NodeTest[];
}

/** A column counts only where it is never null: `unique` tests and constraints ignore nulls. */
export function provenKeysOf(
  columns: readonly ModelColumn[],
  constraints: readonly Constraint[],
  { adapter, tests }: ModelContext,
): readonly (readonly string[])[] {
  const isNeverNull = (name: string): boolean => {
    const { notNull, type } = columns.find((column) => column.name === name) ?? { notNull: null, type: null };
    return notNull !== null || (adapter === "clickhouse" && type !== null && !/\bNullable\(/.test(type));
  };
  const isProven = (key: readonly string[]): boolean => key.length > 0 && key.every(isNeverNull);
  // The test of a combination groups nulls as it does values.
  const tested = tests.map(testedKeyOf).filter((key) => key.length > 1 || isProven(key));
  return [
    ...tested,
    ...constraints
      .filter(isKey)
      .map((each) => each.columns)
      .filter(isProven),
  ];
}

function isKey({ type }: Constraint): boolean {
  return type === "unique" || type === "primary_key";
}
