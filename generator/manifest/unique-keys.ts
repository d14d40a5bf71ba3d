import { type JsonObject, objectOr, objectsOf, textOr, textsOf } from "./json.js";
import { enforcesConstraints, type ModelColumn } from "./columns.js";

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
