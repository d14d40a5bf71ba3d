import type { Aggregate, AskedGrouping } from "../core/model/aggregate/aggregate.js";
import { operatorsOf } from "../core/model/column-operators.js";
import type { ColumnFilter, FilterParameter } from "../core/model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../core/model/errors.js";
import {
  columnConditions,
  columnsOf,
  type Condition,
  FILTER,
  isGroup,
  mapConditions,
  type RawFields,
} from "../core/model/query.js";
import type { ServedEndpoint } from "../core/model/served-endpoint.js";
import { measureResultName } from "./answer-rows.js";
import { filterOf, filterScope } from "./group-filters.js";
import { onOf } from "./row-filters.js";

/** Measures whose results conditions compare: of a saved query none. A name that filters of rows have means those. */
export function resultFilters(endpoint: ServedEndpoint, aggregate: Aggregate): readonly ColumnFilter[] {
  const { measures, saved } = aggregate;
  if (saved !== undefined) return [];
  const { filters } = filterScope(endpoint, aggregate);
  return measures
    .filter(({ name }) => !filters.some(({ column }) => column === name))
    .map(({ name }) => ({ column: name, type: "number" }));
}

/** The conditions on results that names of a request mean: `revenue[gt]`. */
export function resultParameters(
  endpoint: ServedEndpoint,
  aggregate: Aggregate,
  fields: RawFields,
): readonly FilterParameter[] {
  const results = new Set(resultFilters(endpoint, aggregate).map(({ column }) => column));
  return [...fields.keys()].flatMap((name): FilterParameter[] => {
    const [, measure = "", suffix] = /^(.+)\[(\w+)\]$/.exec(name) ?? [];
    const known = operatorsOf("number").find((each) => each === suffix);
    const isOwn = endpoint.filters.some((filter) => filter.name === name);
    if (known === undefined || isOwn || !results.has(measure)) return [];
    return [{ ...filterOf(name, measureResultName(measure), known), ...ON_RESULTS }];
  });
}

const ON_RESULTS = { on: "results" } as const;

/** The conditions of `filter`, of which those on measures are on their results: each for itself, joined to the others by `and`. */
export function onMeasureResults(
  results: readonly ColumnFilter[],
  conditions: readonly Condition[],
): Result<readonly Condition[]> {
  const names = new Set(results.map(({ column }) => column));
  const placed: Condition[] = [];
  for (const condition of conditions) {
    const own = condition.name === FILTER ? placedCondition(condition, names) : condition;
    if (isHttpError(own)) return own;
    placed.push(own);
  }
  return placed;
}

function placedCondition(condition: Condition, results: ReadonlySet<string>): Result<Condition> {
  const [compared] = columnsOf(condition).filter((column) => results.has(column));
  if (compared === undefined) return condition;
  const isSingle = !isGroup(condition) || condition.operator === "not";
  if (!isSingle) return httpError("resultInOr", { name: compared });
  const [own = condition] = mapConditions([condition], (each) => ({
    ...each,
    ...ON_RESULTS,
    column: measureResultName(each.column),
  }));
  return own;
}

/** A condition on the result of a measure that is not asked. */
export function resultProblem(
  { aggregate, measures }: AskedGrouping,
  conditions: readonly Condition[],
): HttpError | null {
  const ofResults = conditions.filter((each) => onOf(each) === "results");
  const names = columnConditions(ofResults).map(({ column }) => column.slice(1));
  const wrong = names.find((name) => !measures.some((measure) => measure.name === name));
  return wrong === undefined ? null : httpError("resultUnknown", { name: wrong, field: aggregate.of });
}
