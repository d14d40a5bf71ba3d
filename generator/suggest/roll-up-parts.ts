import {
  type Aggregate,
  type Aggregation,
  type AggregateValue,
  compareGrains,
  type Grain,
  isGrain,
  type RollUp,
} from "@routewright/runtime/model";
import { aggregationOf } from "../catalogue/metrics/leaf-parts.js";
import { NotCompiled } from "../catalogue/metrics/aggregate-parts.js";
import { totalProblem } from "../catalogue/metrics/roll-ups.js";
import type { SemanticIndex } from "../catalogue/metrics/semantic-index.js";
import { jsonKindOf } from "../catalogue/types/json-schema.js";
import { dataTypeOf } from "../catalogue/types/read-type.js";
import type { SemanticMeasure, SemanticModel } from "../manifest/semantic-layer.js";

/** What a roll-up groups by. `name`: of the dimension or entity; `column`: of the roll-up. */
export interface GroupPart {
  readonly name: string;
  readonly expr: string;
  readonly column: string;
  readonly sql: string;
  readonly grain?: Grain;
}

/** A total of a roll-up. `name`: of the measure. */
export interface TotalPart {
  readonly name: string;
  readonly expr: string;
  readonly column: string;
  readonly sql: string;
  readonly aggregation: Aggregation;
}

/** All that a roll-up of a semantic model can have. */
export interface RollUpParts {
  readonly of: SemanticModel;
  readonly groups: readonly GroupPart[];
  readonly totals: readonly TotalPart[];
}

interface Relation {
  /** Types by the names of the relation's columns. */
  readonly types: ReadonlyMap<string, string>;
  readonly isClickhouse: boolean;
}

/** Nothing private, no template, and only what has the same digits from its parts. */
export function rollUpParts(index: SemanticIndex, of: SemanticModel, relation: Relation): RollUpParts {
  const names = new FreeNames(relation.types.keys());
  const isOpen = (expr: string): boolean => !/\{[{%#]/.test(expr) && !index.isPrivate(of, expr);
  const own = index.ownRowsOf(of);
  const groups = [
    ...of.dimensions.flatMap((each) =>
      each.isPrivate || !isOpen(each.expr) ? [] : groupOf(each, relation, names),
    ),
    ...of.entities
      .filter(({ isPrivate, expr }) => !isPrivate && isOpen(expr))
      .map(({ name, expr }) => plainGroup(name, expr, names)),
  ].filter(({ expr }, i, all) => all.findIndex((each) => isSameName(each.expr, expr)) === i);
  const ofOwner = own === null || groups.some(({ expr }) => isSameName(expr, own)) ? [] : [own];
  return {
    of,
    groups: [...groups, ...ofOwner.map((name) => plainGroup(name, name, names))],
    totals: measuresOf(index, of).flatMap(([name, measure]) =>
      measure.isPrivate || !isOpen(measure.expr) ? [] : totalOf(name, measure, relation, names),
    ),
  };
}

export const isSameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

const plainGroup = (name: string, expr: string, names: FreeNames): GroupPart => ({
  name,
  expr,
  column: names.of(name, expr),
  sql: expr,
});

function groupOf(
  { name, expr, isTime, grain }: SemanticModel["dimensions"][number],
  { types, isClickhouse }: Relation,
  names: FreeNames,
): readonly GroupPart[] {
  if (!isTime) return [plainGroup(name, expr, names)];
  const type = types.get(expr);
  const own = isGrain(grain) && compareGrains(grain, "day") > 0 ? grain : "day";
  const sql = type === undefined ? null : isClickhouse ? clickhouseDay(expr, type) : postgresDay(expr, type);
  return sql === null ? [] : [{ name, expr, column: names.of(`${name}_${own}`), sql, grain: own }];
}

/** Days in UTC; null where the type does not say which they are. */
function postgresDay(expr: string, type: string): string | null {
  if (type === "date") return expr;
  if (/^timestamp(?:\(\d\))? with time zone$/.test(type)) return `(${expr} at time zone 'UTC')::date`;
  return /^timestamp(?:\(\d\))? without time zone$/.test(type) ? `${expr}::date` : null;
}

function clickhouseDay(expr: string, type: string): string | null {
  const inner = type.replace(/^(?:Nullable|LowCardinality)\((.*)\)$/, "$1");
  if (/^Date(?:32)?$/.test(inner)) return expr;
  if (/^DateTime(?:\(|$)/.test(inner)) return `toDate(${expr}, 'UTC')`;
  return inner.startsWith("DateTime64") ? `toDate32(${expr}, 'UTC')` : null;
}

/** Measures of the older spec, and what simple metrics aggregate themselves. */
function measuresOf(
  index: SemanticIndex,
  of: SemanticModel,
): readonly (readonly [name: string, measure: SemanticMeasure])[] {
  const ofMetrics = [...index.metrics.values()].flatMap(({ name, simple, filters }) => {
    const isPlain = simple !== null && filters.length + simple.filters.length === 0;
    const measure = isPlain ? simple.measure : "";
    return typeof measure === "object" && measure.model === of.name ? [[name, measure] as const] : [];
  });
  return [...of.measures, ...ofMetrics.filter(([name]) => !of.measures.has(name))];
}

const SUFFIXES: Partial<Record<Aggregation, string>> = { sum_boolean: "count" };

function totalOf(
  name: string,
  measure: SemanticMeasure,
  { types }: Relation,
  names: FreeNames,
): readonly TotalPart[] {
  const { expr } = measure;
  const aggregation = knownAggregation(measure);
  if (aggregation === null) return [];
  const isCount = aggregation === "count" || aggregation === "sum_boolean";
  const kind = /^\d+$/.test(expr) ? "integer" : jsonKindOf(dataTypeOf(types.get(expr) ?? null));
  const isKnown = isCount || kind !== "unknown";
  if (!isKnown || totalProblem(measure, aggregation, kind, "unknown") !== null) return [];
  const sql =
    aggregation === "sum_boolean" ? `sum(case when ${expr} then 1 else 0 end)` : `${aggregation}(${expr})`;
  return [
    { name, expr, aggregation, sql, column: names.of(`${name}_${SUFFIXES[aggregation] ?? aggregation}`) },
  ];
}

function knownAggregation(measure: SemanticMeasure): Aggregation | null {
  try {
    return aggregationOf(measure).aggregation;
  } catch (error) {
    if (!(error instanceof NotCompiled)) throw error;
    return null;
  }
}

/** Names of columns: none of another column of the rows, which ClickHouse would read in place of it. */
class FreeNames {
  readonly #taken: Set<string>;

  constructor(columns: Iterable<string>) {
    this.#taken = new Set([...columns].map((name) => name.toLowerCase()));
  }

  /** `expr`: a column that may have its own name. */
  of(wanted: string, expr = ""): string {
    if (isSameName(wanted, expr)) return expr;
    let name = wanted.replace(/\W/g, "_");
    while (this.#taken.has(name.toLowerCase())) name += "_";
    this.#taken.add(name.toLowerCase());
    return name;
  }
}

/** The roll-up with these groups, as an aggregate would read it. */
export function rollUpIn(
  { relations }: Aggregate,
  { of, totals }: RollUpParts,
  groups: readonly GroupPart[],
): RollUp {
  const values = relations.find(({ name }) => name === of.name)?.values ?? [];
  const valueOf = (expr: string): AggregateValue | undefined =>
    values.find((each) => ("column" in each ? isSameName(each.column, expr) : each.sql === expr));
  return {
    of: of.name,
    node: "",
    relation: ["", ""],
    groups: groups.flatMap(({ expr, column, grain }) => {
      const value = valueOf(expr);
      // Days of another zone than UTC.
      if (value === undefined || (grain !== undefined && value.timezone !== undefined)) return [];
      return [{ value: value.name, column, ...(grain && { grain }) }];
    }),
    totals: totals.flatMap(({ expr, aggregation, column }) => {
      const value = valueOf(expr);
      return value === undefined ? [] : [{ value: value.name, aggregation, column }];
    }),
  };
}
