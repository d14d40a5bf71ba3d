import { BUILT } from "./graph.js";
import { type JsonObject, objectOr, objectsOf, textOr, textsOf } from "./json.js";
import { columnEntries } from "./node-meta.js";

const TYPES = ["not_null", "unique", "primary_key", "foreign_key", "check"] as const;
type ConstraintType = (typeof TYPES)[number];

/** A constraint that a model declares and its database enforces. */
export interface Constraint {
  readonly type: ConstraintType;
  /** Empty for a `check` of the model that names none. */
  readonly columns: readonly string[];
  /** Of a `check`. */
  readonly expression: string;
  /** `model.column` of a foreign key. */
  readonly references: string | null;
}

/** What databases enforce, by dbt's adapter (its `CONSTRAINT_SUPPORT`); others are notes for readers and planners. */
const ENFORCED: Readonly<Record<string, readonly ConstraintType[] | undefined>> = {
  postgres: TYPES,
  duckdb: TYPES,
  clickhouse: ["check"],
  databricks: ["not_null", "check"],
};
const BY_DEFAULT: readonly ConstraintType[] = ["not_null"];

/** First those of columns; none without a contract, and of a view, which has none in the database. */
export function constraintsOf(node: JsonObject, adapter: string): readonly Constraint[] {
  if (!enforcesContract(node) || !BUILT.has(objectOr(node["config"])["materialized"])) return NO_CONSTRAINTS;
  const enforced = ENFORCED[adapter] ?? BY_DEFAULT;
  const ofColumns = columnEntries(node).flatMap(([key, column]) => {
    const columns = [textOr(column["name"], "") || key];
    return objectsOf(column["constraints"]).flatMap((json) => readConstraint(json, columns, enforced));
  });
  const ofModel = objectsOf(node["constraints"]).flatMap((json) =>
    readConstraint(json, textsOf(json["columns"]), enforced),
  );
  return [...ofColumns, ...ofModel];
}

/** Whether dbt refuses to build other names and types of columns than those declared. */
export function enforcesContract({ config, contract }: JsonObject): boolean {
  const { contract: configured } = objectOr(config);
  return (objectOr(configured)["enforced"] ?? objectOr(contract)["enforced"]) === true;
}

function readConstraint(
  json: JsonObject,
  columns: readonly string[],
  enforced: readonly ConstraintType[],
): readonly Constraint[] {
  const type = enforced.find((each) => each === json["type"]);
  if (type === undefined) return [];
  return [
    { type, columns, expression: textOr(json["expression"], "").trim(), references: referenceOf(json) },
  ];
}

/** `customers.id` of `{to: "ref('customers')", to_columns: [id]}`, where dbt may write the relation's name for the `ref`. */
function referenceOf({ to, to_columns }: JsonObject): string | null {
  const target = textOr(to, "");
  const model = refOf(target) ?? /"?([^".]+)"?\s*$/.exec(target)?.[1];
  const [column] = textsOf(to_columns);
  return model === undefined || column === undefined ? null : `${model}.${column}`;
}

/** The node that `ref('model')`, `ref('package', 'model')` or `ref('model', v=1)` names. */
export function refOf(text: string): string | null {
  return /\bref\((?:[^()]*,)?\s*['"]([^'"]+)['"]\s*(?:,\s*v(?:ersion)?\s*=[^()]*)?\)/.exec(text)?.[1] ?? null;
}

/** Shared: most models have none. */
const NO_CONSTRAINTS: readonly Constraint[] = [];
