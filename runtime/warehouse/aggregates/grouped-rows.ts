import type { AskedGroup, FixedFilter, Formula, FormulaInput, MetricTree } from "../../model/aggregate.js";
import { compareGrains, leavesOf } from "../../model/aggregate.js";
import type { Selection } from "../../model/query.js";
import { constant, EMPTY, join, projectParts, sql, type Sql } from "../sql.js";
import type { GroupedSource } from "./dialect.js";
import { groupColumn, type LeafUse, nonAdditiveLeaf, plainLeaves, timeGroups } from "./leaves.js";
import type { GroupsBuild } from "./row-set.js";
import { cumulativeLeaf } from "./cumulative.js";
import { type Offset, offsetResult, offsetRows, onSpine } from "./time-spine.js";

type Part = Sql<Selection>;

/** Rows of a grouping: a column per group, by its key, and per measure. */
export function groupedRows(build: GroupsBuild): Part {
  const { groups, measures, aggregate } = build.grouping;
  const { identifier } = build.dialect;
  const metrics = measures.map(({ name, metric }) => ({ name, metric, filters: [], measure: name }));
  const { from, values } = metricValues(build, groups, metrics);
  const list = [
    ...groups.map(({ key }, i) => sql`c.${groupColumn(build, i)} AS ${identifier(key)}`),
    ...values.map((value, i) => sql`${value} AS ${identifier(measures[i]?.name ?? "")}`),
  ];
  const rows = sql<Selection>`SELECT ${join(list, ", ")} FROM ${from}`;
  const { saved } = aggregate;
  if (saved?.limit === undefined) return rows;
  const order = [...saved.sort, ...groups.map(({ key }) => [key, "ASC"] as const)];
  const keys = order.map(
    ([key, direction]) =>
      sql`l.${identifier(key)}${direction === "DESC" ? sql` DESC NULLS FIRST` : sql` ASC NULLS LAST`}`,
  );
  const by = keys.length === 0 ? EMPTY : sql` ORDER BY ${join(keys, ", ")}`;
  return sql`SELECT l.* FROM (${rows}) AS l${by} LIMIT ${constant(saved.limit)}`;
}

interface MetricUse {
  readonly metric: MetricTree;
  readonly filters: readonly FixedFilter[];
  readonly measure: string;
}

/** Sources that are combined to one row per group, and what is computed from it. */
class Sources {
  readonly #build: GroupsBuild;
  readonly #groups: readonly AskedGroup[];
  readonly #plain = new Map<string, { readonly uses: LeafUse[]; readonly position: number }>();
  readonly #made: (GroupedSource | null)[] = [];

  constructor(build: GroupsBuild, groups: readonly AskedGroup[]) {
    this.#build = build;
    this.#groups = groups;
  }

  /** The column of a leaf. Leaves over the same rows are aggregated in one pass. */
  plain(use: LeafUse): string {
    const { fact, time = "" } = use.leaf;
    const key = JSON.stringify([fact, time, use.filters]);
    const known = this.#plain.get(key) ?? { uses: [], position: this.#made.push(null) - 1 };
    this.#plain.set(key, known);
    return columnName(known.position, `a${String(known.uses.push(use) - 1)}`);
  }

  add(source: GroupedSource): string {
    return columnName(this.#made.push(source) - 1, source.columns[0] ?? "");
  }

  /** All sources, joined, as `c`. */
  combined(): Part {
    const plain = new Map([...this.#plain.values()].map((each) => [each.position, each.uses]));
    const sources = this.#made.map((made, i) => {
      const uses = plain.get(i);
      return uses === undefined ? made : plainLeaves(this.#build, uses, this.#groups);
    });
    const renamed = sources.map((source, i) => this.#renamed(source, i));
    return this.#build.dialect.combined(renamed, this.#groups.length);
  }

  #renamed(source: GroupedSource | null, position: number): GroupedSource {
    if (source === null) throw new Error("A source of an aggregate was not made.");
    const { identifier } = this.#build.dialect;
    const columns = source.columns.map((name) => columnName(position, name));
    const list = [
      ...this.#groups.map((_, i) => sql`z.${groupColumn(this.#build, i)} AS ${groupColumn(this.#build, i)}`),
      ...source.columns.map((name, i) => sql`z.${identifier(name)} AS ${identifier(columns[i] ?? "")}`),
    ];
    return { select: sql`SELECT ${join(list, ", ")} FROM (${source.select}) AS z`, columns };
  }
}

const columnName = (position: number, name: string): string => `s${String(position)}${name}`;

function metricValues(
  build: GroupsBuild,
  groups: readonly AskedGroup[],
  metrics: readonly MetricUse[],
): { readonly from: Part; readonly values: readonly Part[] } {
  const sources = new Sources(build, groups);
  const values = metrics.map((use) => valueOfMetric(build, groups, sources, use));
  return { from: sources.combined(), values };
}

function valueOfMetric(
  build: GroupsBuild,
  groups: readonly AskedGroup[],
  sources: Sources,
  use: MetricUse,
): Part {
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
): Part {
  const { leaf } = use;
  const { identifier } = build.dialect;
  const source = leafSource(build, groups, use, offset);
  const column = source === null ? sources.plain(use) : sources.add(source);
  const value = sql<Selection>`c.${identifier(column)}`;
  if (leaf.fill === undefined) return value;
  return sql`coalesce(${value}, ${numberOf(leaf.fill)})`;
}

const numberOf = (value: number): Sql =>
  Number.isInteger(value) ? constant(value) : projectParts([String(value)]);

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

/** A simple metric in other periods: joined behind its aggregation where the groups are no longer than the offset's grain. */
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
): Part {
  const filters = [...use.filters, ...formula.filters];
  const values = new Map(
    formula.inputs.map((input) => [
      input.alias,
      inputValue(build, groups, sources, input, { ...use, filters }),
    ]),
  );
  const valueOf = (alias: string): Part => values.get(alias) ?? sql`NULL`;
  if (formula.kind === "ratio") {
    const [numerator, denominator] = formula.inputs.map(({ alias }) => valueOf(alias));
    return build.dialect.quotient(numerator ?? sql`NULL`, denominator ?? sql`NULL`);
  }
  const divides = formula.parts.some((part) => typeof part === "string" && part.includes("/"));
  return projectParts(
    formula.parts.map((part) =>
      typeof part === "string" ? part : build.dialect.operand(valueOf(part.alias), divides),
    ),
  );
}

function inputValue(
  build: GroupsBuild,
  groups: readonly AskedGroup[],
  sources: Sources,
  input: FormulaInput,
  use: MetricUse,
): Part {
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
  return sql`c.${build.dialect.identifier(sources.add(source))}`;
}

/** A formula as a source of its own. */
function formulaSource(build: GroupsBuild, groups: readonly AskedGroup[], use: MetricUse): GroupedSource {
  const { from, values } = metricValues(build, groups, [use]);
  const { identifier } = build.dialect;
  const list = [
    ...groups.map((_, i) => sql`c.${groupColumn(build, i)} AS ${groupColumn(build, i)}`),
    sql`${values[0] ?? EMPTY} AS ${identifier("a0")}`,
  ];
  return { select: sql`SELECT ${join(list, ", ")} FROM ${from}`, columns: ["a0"] };
}
