import {
  type AggregateGroup,
  type AggregateMeasure,
  type ColumnFilter,
  groupKey,
  isDayGrain,
  type Leaf,
  type MetricTree,
} from "@routewright/runtime/model";
import type { DescribedColumn } from "../catalogue.js";
import { isWideNumber } from "../types/data-type.js";
import { jsonKindOf } from "../types/json-schema.js";
import { dataTypeOf } from "../types/read-type.js";
import { filterTypeOf } from "../settings/filters.js";

/** Looks up the declared type of a group or of a leaf's value; null where none is declared. */
export interface DeclaredTypes {
  readonly group: (name: string) => DeclaredGroup;
  readonly value: (leaf: Leaf) => string | null;
  /** Whether the project marks a measure as private; of a model's own measures it marks none. */
  readonly isPrivate?: (measure: string) => boolean;
  readonly isClickhouse: boolean;
}

export interface DeclaredGroup {
  readonly type: string | null;
  readonly description: string;
  readonly isPrivate: boolean;
}

export interface DescribedMeasure extends AggregateMeasure {
  readonly description?: string;
  readonly label?: string;
}

/** What rows of groups may have: each group in each of its grains, then each measure. */
export function groupedColumns(
  groups: readonly AggregateGroup[],
  measures: readonly DescribedMeasure[],
  types: DeclaredTypes,
): readonly DescribedColumn[] {
  const ofGroups = groups.flatMap((group) => groupColumns(group, types));
  const ofMeasures = measures.map(({ name, description = "", metric }) => ({
    ...columnOf(name, measureType(metric, types), description),
    ...(types.isPrivate?.(name) && { private: true as const }),
  }));
  return [...ofGroups, ...ofMeasures];
}

function groupColumns({ name, grains }: AggregateGroup, types: DeclaredTypes): readonly DescribedColumn[] {
  const { type, description, isPrivate } = types.group(name);
  const of = (key: string, keyType: string | null): DescribedColumn => ({
    ...columnOf(key, keyType, description),
    ...(isPrivate && { private: true }),
  });
  if (grains === undefined) return [of(name, type)];
  const bare = of(name, null);
  return [
    bare,
    ...grains.map((grain) => {
      const { day, time } = types.isClickhouse
        ? { day: "Date32", time: "DateTime64(6)" }
        : { day: "date", time: "timestamp" };
      return of(groupKey(name, grain), isDayGrain(grain) ? day : time);
    }),
  ].filter(({ name: key }) => key !== name || grains.length > 0);
}

function columnOf(name: string, type: string | null, description: string): DescribedColumn {
  const nullable =
    type === null || /\bnull$|^Nullable|^LowCardinality\(Nullable/.test(type) ? type : `${type} null`;
  return {
    name,
    type: nullable,
    ...(isWideNumber(dataTypeOf(type)) && { wide: true as const }),
    ...(description.trim() !== "" && { description }),
  };
}

/** What the database makes of an aggregation; null where an expression decides. */
function measureType(metric: MetricTree, types: DeclaredTypes): string | null {
  const float = types.isClickhouse ? "Float64" : "double precision";
  if (metric.kind !== "leaf") return metric.kind === "ratio" ? float : null;
  const { aggregation } = metric;
  if (aggregation.startsWith("count") || aggregation === "sum_boolean")
    return types.isClickhouse ? "UInt64" : "bigint";
  const type = types.value(metric);
  if (type === null || metric.cumulative?.periodAggregation === "average") return null;
  const kind = jsonKindOf(dataTypeOf(type));
  switch (aggregation as "min" | "max" | "percentile" | "average" | "sum") {
    case "min":
    case "max":
      return type;
    case "percentile":
      return metric.isDiscrete === true ? type : float;
    case "average":
      return types.isClickhouse || kind === "float" ? float : "numeric";
    case "sum":
      return sumType(kind, type, types.isClickhouse);
  }
}

function sumType(kind: string, type: string, isClickhouse: boolean): string | null {
  if (kind === "float")
    return isClickhouse ? "Float64" : /^(real|float4)/i.test(type) ? "real" : "double precision";
  if (isClickhouse) return kind === "integer" && /Int\d/.test(type) ? "Int256" : null;
  // `numeric(38,0)` holds integers, and its sum is a `numeric`.
  if (kind === "integer") return /^(bigint|int8|numeric|decimal)/i.test(type) ? "numeric" : "bigint";
  return kind === "decimal" ? "numeric" : null;
}

/** Groups filter by operators of their type. Where none is declared, as of an expression, the database has it. */
export function groupFilters(
  groups: readonly AggregateGroup[],
  types: DeclaredTypes,
): readonly ColumnFilter[] {
  return groups.flatMap(({ name, grains }): readonly ColumnFilter[] => {
    if (grains !== undefined) return [{ column: name, type: "date" }];
    const declared = types.group(name).type;
    const type = declared === null ? "text" : filterTypeOf(declared, !types.isClickhouse);
    return type === null ? [] : [{ column: name, type }];
  });
}
