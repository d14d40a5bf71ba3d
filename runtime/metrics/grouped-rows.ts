import { compareGrains } from "../core/model/aggregate/grains.js";
import {
  type FixedFilter,
  type Formula,
  type FormulaInput,
  hasOffset,
  type Leaf,
  leavesOf,
  type MetricTree,
} from "../core/model/aggregate/metric.js";
import { projectParts, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { convertedLeaf } from "./converted-rows.js";
import { cumulativeLeaf } from "./cumulative.js";
import { finestGrain, type GroupsBuild, type LeafUse, timeGrainOf, timeGroups } from "./groups-build.js";
import { aggregatedLeaves, nonAdditiveLeaf } from "./leaves.js";
import {
  type ColumnExpression,
  type ColumnValue,
  compute,
  groupName,
  kept,
  type PlanStep,
  VALUE,
  valueAt,
} from "./plan.js";
import { Sources } from "./sources.js";
import { rowsInUnits } from "./spine-units.js";
import { filledValue, type Offset, offsetResult, offsetRows, onSpine } from "./spine-joins.js";

/** The rows of a grouping: a column per group, by its key, and per measure. */
export function groupRows(build: GroupsBuild): PlanStep {
  const { groups, measures } = build.grouping;
  const metrics = measures.map(({ name, metric }) => ({ name, metric, filters: [], measure: name }));
  const { rows, values } = metricValues(build, metrics);
  return compute(
    rows,
    ...groups.map((group) => [group.key, groupName(group)] as const),
    ...values.map((value, i) => [measures[i]?.name ?? "", value] as const),
  );
}

interface MetricUse {
  readonly metric: MetricTree;
  readonly filters: readonly FixedFilter[];
  readonly measure: string;
}

function metricValues(
  build: GroupsBuild,
  metrics: readonly MetricUse[],
): { readonly rows: PlanStep; readonly values: readonly ColumnValue[] } {
  const sources = new Sources(build);
  const values = metrics.map((use) => valueOfMetric(build, sources, use));
  return { rows: sources.combined(), values };
}

function valueOfMetric(build: GroupsBuild, sources: Sources, use: MetricUse): ColumnValue {
  const { metric } = use;
  return metric.kind === "leaf"
    ? leafValue(
        build,
        sources,
        { leaf: metric, filters: [...use.filters, ...metric.filters], measure: use.measure },
        null,
      )
    : formulaValue(build, sources, metric, use);
}

function leafValue(build: GroupsBuild, sources: Sources, use: LeafUse, offset: Offset | null): ColumnValue {
  const { leaf } = use;
  const source = leafSource(build, use, offset);
  const { made: name, positions } = sources.used(() =>
    source === null ? sources.plain(use) : sources.add(source),
  );
  if (leaf.fill === undefined) return name;
  const filled = filledValue(leaf, name);
  // What stands for null of an accumulated value does so in its own rows only.
  return leaf.cumulative === undefined ? filled : whereRow(sources, positions, filled);
}

/** A value of the groups that one of these sources has. */
function whereRow(sources: Sources, positions: ReadonlySet<number>, value: ColumnValue): ColumnExpression {
  const hasRow = sources.hasRow(positions);
  return (read) => sql`CASE WHEN ${hasRow(read)} THEN ${valueAt(value, read)} END`;
}

/** The source of a leaf that needs one of its own; null for one that shares its rows with others. */
function leafSource(build: GroupsBuild, use: LeafUse, offset: Offset | null): PlanStep | null {
  const { leaf } = use;
  const [finest] = timeGroups(build, leaf);
  if (leaf.cumulative !== undefined && finest !== undefined) return cumulativeLeaf(build, use, offset);
  const inTime = offset === null ? null : offsetSource(build, use, offset);
  if (leaf.onSpine !== true || finest === undefined)
    return inTime ?? (hasOwnSource(leaf) ? simpleSource(build, use) : null);
  const on = timeGroups(build, leaf).map(groupName);
  const grain = finestGrain(build, leaf);
  return onSpine(build, use, inTime ?? simpleSource(build, use), { grain, on });
}

const hasOwnSource = ({ nonAdditive, converted }: Leaf): boolean =>
  nonAdditive !== undefined || converted !== undefined;

function simpleSource(build: GroupsBuild, use: LeafUse): PlanStep {
  if (use.leaf.converted !== undefined) return convertedLeaf(build, use);
  return use.leaf.nonAdditive === undefined
    ? aggregatedLeaves(build, [{ ...use, total: VALUE }])
    : nonAdditiveLeaf(build, use);
}

/** A simple metric in other periods: joined after its aggregation where the groups are no longer than the offset's grain. */
function offsetSource(build: GroupsBuild, use: LeafUse, offset: Offset): PlanStep {
  if (offset.units !== undefined) return rowsInUnits(build, use, offset.units);
  const finest = finestGrain(build, use.leaf);
  const grain = offset.window?.grain ?? offset.toGrain ?? "day";
  const isWeekToGrain = finest === "week" && offset.toGrain !== undefined;
  // A day of the week, as other parts of a date, does not follow from a longer period.
  const isFiner =
    timeGroups(build, use.leaf).at(-1)?.derived !== undefined && finest !== timeGrainOf(build, use.leaf);
  if (finest === null || compareGrains(finest, grain) > 0 || isWeekToGrain || isFiner)
    return offsetRows(build, use, offset);
  return offsetResult(build, use, offset, (inner) => simpleSource(inner, use));
}

function formulaValue(build: GroupsBuild, sources: Sources, formula: Formula, use: MetricUse): ColumnValue {
  const filters = [...use.filters, ...formula.filters];
  const { made, positions } = sources.used(() =>
    formula.inputs.map(
      (input) => [input.alias, inputValue(build, sources, input, { ...use, filters })] as const,
    ),
  );
  const value = formulaOf(build, formula, new Map(made));
  // Where none of its inputs has a row there is no value, also of a formula that makes one of nulls.
  return isNullOfNulls(formula) ? value : whereRow(sources, positions, value);
}

function formulaOf(
  build: GroupsBuild,
  { kind, parts, inputs }: Formula,
  values: ReadonlyMap<string, ColumnValue>,
): ColumnExpression {
  return (read) => {
    const valueOf = (alias = ""): Part => {
      const value = values.get(alias);
      return value === undefined ? sql`NULL` : valueAt(value, read);
    };
    if (kind === "ratio") return build.dialect.quotient(valueOf(inputs[0]?.alias), valueOf(inputs[1]?.alias));
    const divides = parts.some((part) => typeof part === "string" && part.includes("/"));
    return projectParts(
      parts.map((part) =>
        typeof part === "string" ? part : build.dialect.operand(valueOf(part.alias), divides),
      ),
    );
  };
}

/** Whether a formula is null where all of its inputs have no row. */
function isNullOfNulls({ parts, inputs }: Formula): boolean {
  const isArithmetic = (text: string): boolean => /^[\s\d.+\-*/()]*$/.test(text);
  return (
    parts.every((part) => typeof part !== "string" || isArithmetic(part)) &&
    inputs.every(({ metric }) => leavesOf(metric).every(({ fill }) => fill === undefined))
  );
}

function inputValue(build: GroupsBuild, sources: Sources, input: FormulaInput, use: MetricUse): ColumnValue {
  const { metric, offset: window, offsetToGrain: toGrain, offsetUnits: units } = input;
  const inner = { ...use, metric, filters: [...use.filters, ...input.filters] };
  if (!hasOffset(input)) return valueOfMetric(build, sources, inner);
  const offset = { window, toGrain, units };
  if (metric.kind === "leaf")
    return leafValue(
      build,
      sources,
      { leaf: metric, filters: [...inner.filters, ...metric.filters], measure: use.measure },
      offset,
    );
  const [leaf] = leavesOf(metric);
  if (leaf === undefined) throw new Error("A metric without a measure.");
  const rows = offsetResult(build, { leaf, filters: inner.filters }, offset, (untimed) =>
    formulaSource(untimed, inner),
  );
  return sources.add(rows);
}

/** A formula as a source of its own. */
function formulaSource(build: GroupsBuild, use: MetricUse): PlanStep {
  const { rows, values } = metricValues(build, [use]);
  const groups = kept(build.grouping.groups.map(groupName));
  return compute(rows, ...groups, ...values.map((value) => [VALUE, value] as const));
}
