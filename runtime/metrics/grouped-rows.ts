import type { AskedGroup, FixedFilter, Formula, FormulaInput, MetricTree } from "../core/model/aggregate.js";
import { compareGrains, leavesOf } from "../core/model/aggregate.js";
import { projectParts, sql } from "../core/warehouse/sql.js";
import type { GroupedSource, Part } from "../core/warehouse/aggregate-dialect.js";
import { groupName, type LeafUse, nonAdditiveLeaf, plainLeaves, timeGroups } from "./leaves.js";
import { type ColumnExpression, type PlanStep, type ColumnValue, valueAt } from "./plan.js";
import { renderPlan } from "./render-plan.js";
import type { GroupsBuild } from "./row-set.js";
import { cumulativeLeaf } from "./cumulative.js";
import { Sources } from "./sources.js";
import { filledValue, onSpine } from "./on-spine.js";
import { type Offset, offsetResult, offsetRows } from "./time-spine.js";

/** The statement of a grouping: a column per group, by its key, and per measure. */
export function groupedRows(build: GroupsBuild): Part {
  return renderPlan(planOf(build), build.dialect);
}

function planOf(build: GroupsBuild): PlanStep {
  const { groups, measures, aggregate } = build.grouping;
  const metrics = measures.map(({ name, metric }) => ({ name, metric, filters: [], measure: name }));
  const { rows: all, values } = metricValues(build, groups, metrics);
  const rows: PlanStep = {
    kind: "compute",
    rows: all,
    columns: [
      ...groups.map(({ key }, i): [string, ColumnValue] => [key, groupName(i)]),
      ...values.map((value, i): [string, ColumnValue] => [measures[i]?.name ?? "", value]),
    ],
  };
  const { saved } = aggregate;
  if (saved?.limit === undefined) return rows;
  const order = [...saved.sort, ...groups.map(({ key }) => [key, "ASC"] as const)];
  return { kind: "limit", rows, order, limit: saved.limit };
}

interface MetricUse {
  readonly metric: MetricTree;
  readonly filters: readonly FixedFilter[];
  readonly measure: string;
}

function metricValues(
  build: GroupsBuild,
  groups: readonly AskedGroup[],
  metrics: readonly MetricUse[],
): { readonly rows: PlanStep; readonly values: readonly ColumnValue[] } {
  const sources = new Sources(build, groups);
  const values = metrics.map((use) => valueOfMetric(build, groups, sources, use));
  return { rows: sources.combined(), values };
}

function valueOfMetric(
  build: GroupsBuild,
  groups: readonly AskedGroup[],
  sources: Sources,
  use: MetricUse,
): ColumnValue {
  const { metric } = use;
  return metric.kind === "leaf"
    ? leafValue(
        build,
        groups,
        sources,
        { leaf: metric, filters: [...use.filters, ...metric.filters], measure: use.measure },
        null,
      )
    : formulaValue(build, groups, sources, metric, use);
}

function leafValue(
  build: GroupsBuild,
  groups: readonly AskedGroup[],
  sources: Sources,
  use: LeafUse,
  offset: Offset | null,
): ColumnValue {
  const { leaf } = use;
  const source = leafSource(build, groups, use, offset);
  const { made: name, positions } = sources.used(() =>
    source === null ? sources.plain(use) : sources.add(source),
  );
  if (leaf.fill === undefined) return name;
  const filled: ColumnExpression = ({ value }) => filledValue(leaf, value(name));
  // What stands for null of an accumulated value does so in its own rows only.
  return leaf.cumulative === undefined ? filled : whereRow(sources, positions, filled);
}

/** A value of the groups that one of these sources has. */
function whereRow(sources: Sources, positions: ReadonlySet<number>, value: ColumnValue): ColumnExpression {
  const hasRow = sources.hasRow(positions);
  return (read) => sql`CASE WHEN ${hasRow(read)} THEN ${valueAt(value, read)} END`;
}

/** The source of a leaf that needs one of its own; null for one that shares its rows with others. */
function leafSource(
  build: GroupsBuild,
  groups: readonly AskedGroup[],
  use: LeafUse,
  offset: Offset | null,
): GroupedSource | null {
  const { leaf } = use;
  const times = timeGroups(build, leaf, groups);
  if (leaf.cumulative !== undefined && times.length > 0) return cumulativeLeaf(build, use, groups, offset);
  const inTime = offset === null ? null : offsetSource(build, groups, use, offset);
  const isOnSpine = leaf.onSpine === true && times.length > 0;
  if (inTime !== null && !isOnSpine) return inTime;
  if (leaf.nonAdditive === undefined && !isOnSpine) return inTime;
  const own = inTime ?? simpleSource(build, use, groups);
  return isOnSpine ? onSpine(build, leaf, groups, own, use) : own;
}

function simpleSource(build: GroupsBuild, use: LeafUse, groups: readonly AskedGroup[]): GroupedSource {
  return use.leaf.nonAdditive === undefined
    ? plainLeaves(build, [use], groups)
    : nonAdditiveLeaf(build, use, groups);
}

/** A simple metric in other periods: joined after its aggregation where the groups are no longer than the offset's grain. */
function offsetSource(
  build: GroupsBuild,
  groups: readonly AskedGroup[],
  use: LeafUse,
  offset: Offset,
): GroupedSource {
  const { leaf } = use;
  const [finest] = timeGroups(build, leaf, groups);
  const grain = offset.window?.grain ?? offset.toGrain ?? "day";
  const isWeekToGrain = finest?.grain === "week" && offset.toGrain !== undefined;
  if (finest === undefined || compareGrains(finest.grain, grain) > 0 || isWeekToGrain)
    return offsetRows(build, use, groups, offset);
  return offsetResult(build, { ...use, offset }, groups, (inner, asked) => simpleSource(inner, use, asked));
}

function formulaValue(
  build: GroupsBuild,
  groups: readonly AskedGroup[],
  sources: Sources,
  formula: Formula,
  use: MetricUse,
): ColumnValue {
  const filters = [...use.filters, ...formula.filters];
  const { made, positions } = sources.used(() =>
    formula.inputs.map(
      (input) => [input.alias, inputValue(build, groups, sources, input, { ...use, filters })] as const,
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

function inputValue(
  build: GroupsBuild,
  groups: readonly AskedGroup[],
  sources: Sources,
  input: FormulaInput,
  use: MetricUse,
): ColumnValue {
  const { metric, offset: window, offsetToGrain: toGrain } = input;
  const inner = { ...use, metric, filters: [...use.filters, ...input.filters] };
  if (window === undefined && toGrain === undefined) return valueOfMetric(build, groups, sources, inner);
  const offset = { window, toGrain };
  if (metric.kind === "leaf")
    return leafValue(
      build,
      groups,
      sources,
      { leaf: metric, filters: [...inner.filters, ...metric.filters], measure: use.measure },
      offset,
    );
  const [leaf] = leavesOf(metric);
  if (leaf === undefined) throw new Error("A metric without a measure.");
  const source = offsetResult(build, { leaf, filters: inner.filters, offset }, groups, (untimed, asked) =>
    formulaSource(untimed, asked, inner),
  );
  return sources.add(source);
}

/** A formula as a source of its own. */
function formulaSource(build: GroupsBuild, groups: readonly AskedGroup[], use: MetricUse): GroupedSource {
  const { rows, values } = metricValues(build, groups, [use]);
  const columns = [
    ...groups.map((_, i): [string, ColumnValue] => [groupName(i), groupName(i)]),
    ...values.map((value): [string, ColumnValue] => ["a0", value]),
  ];
  return { select: renderPlan({ kind: "compute", rows, columns }, build.dialect), columns: ["a0"] };
}
