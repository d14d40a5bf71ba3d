import { compareGrains, type Grain } from "../core/model/aggregate/grains.js";
import { type FixedFilter, type Leaf, leavesOf, withoutMetricTime } from "../core/model/aggregate/metric.js";
import type {
  AggregateDimension,
  AskedGroup,
  AskedGrouping,
  DerivedTime,
} from "../core/model/aggregate/aggregate.js";
import { type ColumnCondition, type Condition, isGroup } from "../core/model/query.js";
import { httpError } from "../core/model/errors.js";
import { ValueRefused } from "../core/warehouse/query-errors.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import type { AggregateDialect, Part } from "../core/warehouse/aggregate-dialect.js";
import { deferred } from "../core/warehouse/sql.js";
import { groupName, type PlanStep } from "./plan.js";

/** What a statement of groups is made from. */
export interface GroupsBuild {
  readonly grouping: AskedGrouping;
  readonly conditions: readonly Condition[];
  /** The values of each relation, by its name, with their types in the database. */
  readonly types: ReadonlyMap<string, ResultColumns>;
  readonly dialect: AggregateDialect;
  /** The rows of another grouping. */
  readonly rowsOf: (build: GroupsBuild) => PlanStep;
  /** A filter reads its result: what the request asks does not hold for its rows. */
  readonly isOfFilter?: true;
  /** Rows of the period with which that of the request is compared. */
  readonly isEarlier?: true;
  /** Only rows whose groups are among others: the one group is `OTHER`. */
  readonly among?: { readonly groups: readonly AskedGroup[]; readonly rows: PlanStep };
  /** Conditions on the time of a metric do not hold: its result is asked in other periods, which they restrict. */
  readonly ignoresTime?: true;
}

/** A leaf within its metric: with the filters of all metrics around it. */
export interface LeafUse {
  readonly leaf: Leaf;
  readonly filters: readonly FixedFilter[];
  /** Name of the measure whose own conditions restrict it. */
  readonly measure: string;
}

export function named<T extends { readonly name: string }>(list: readonly T[], name: string): T {
  const found = list.find((each) => each.name === name);
  if (found === undefined) throw new Error(`An aggregate names ${name}, which it does not have.`);
  return found;
}

/** The dimension that a name means for a fact whose `metric_time` is `time`. */
export function dimensionOf(
  { grouping }: GroupsBuild,
  name: string,
  time: string | undefined,
): AggregateDimension {
  return named(grouping.aggregate.dimensions, withoutMetricTime(name, time));
}

/** Whether a dimension is the time of a leaf, or made of it. */
export function isTimeOf({ time }: Leaf, name: string): boolean {
  const own = withoutMetricTime(name, time);
  return time !== undefined && (own === time || own.startsWith(`${time}__`));
}

/** The finest grain of a leaf's time. */
export function timeGrainOf(build: GroupsBuild, { time }: { readonly time?: string | undefined }): Grain {
  return (time === undefined ? undefined : dimensionOf(build, time, time).grain) ?? "day";
}

/** `derived`: what is shown of a period of this grain, the longest of which it can be. */
export interface TimeGroup extends AskedGroup {
  readonly grain: Grain;
  readonly derived?: DerivedTime | undefined;
}

/** The groups that are the time of a leaf, the finest first; those that are made of it are last. */
export function timeGroups(build: GroupsBuild, leaf: Leaf): readonly TimeGroup[] {
  const base = timeGrainOf(build, leaf);
  return build.grouping.groups
    .flatMap((group): TimeGroup[] => {
      if (!isTimeOf(leaf, group.name)) return [];
      const { derived } = dimensionOf(build, group.name, leaf.time);
      const grain = derived === undefined ? group.grain : derivedGrain(build, derived, base);
      return [{ ...group, grain: grain ?? base, derived }];
    })
    .toSorted(
      (a, b) =>
        Number(a.derived !== undefined) - Number(b.derived !== undefined) || compareGrains(a.grain, b.grain),
    );
}

function derivedGrain({ grouping }: GroupsBuild, derived: DerivedTime, base: Grain): Grain | undefined {
  if ("part" in derived) return compareGrains(base, "day") < 0 ? "day" : base;
  return grouping.aggregate.spines.find(({ relation }) => relation === derived.spine)?.grain;
}

/** The finest group that is a period of time; null where all are made of one. */
export function finestGrain(build: GroupsBuild, leaf: Leaf): Grain | null {
  const [finest] = timeGroups(build, leaf);
  return finest === undefined || finest.derived !== undefined ? null : finest.grain;
}

/** The groups that are not. */
export function otherGroups({ grouping }: GroupsBuild, leaf: Leaf): readonly AskedGroup[] {
  return grouping.groups.filter(({ name }) => !isTimeOf(leaf, name));
}

/** The same with other groups. */
export function withGroups(build: GroupsBuild, groups: readonly AskedGroup[]): GroupsBuild {
  return { ...build, grouping: { ...build.grouping, groups } };
}

export function valueColumn({ types }: GroupsBuild, { fact, value }: Leaf): ResultColumn | null {
  return value === undefined ? null : named(types.get(fact) ?? [], value);
}

/** The column of a group. Where facts have it in several types, one without operators of its own. */
export function groupColumn({ dialect, types, grouping }: GroupsBuild, group: AskedGroup): ResultColumn {
  const name = groupName(group);
  if (group.grain !== undefined) return { ...dialect.periodColumn(group.grain), name };
  const { dimensions, facts } = grouping.aggregate;
  const leaves = grouping.measures.flatMap(({ metric }) => leavesOf(metric));
  const names = new Set(leaves.map(({ time }) => withoutMetricTime(group.name, time)));
  const found = dimensions.filter((each) => names.has(each.name));
  if (found.some(({ derived }) => derived !== undefined && "part" in derived))
    return { ...dialect.datePartColumn, name };
  const places = found.flatMap((each) => each.places);
  const columns = places.flatMap(({ fact, join: position, value }) => {
    const joins = facts.find(({ relation }) => relation === fact)?.joins ?? [];
    const relation = position === undefined ? fact : (joins[position]?.to ?? "");
    return types.get(relation)?.filter((column) => column.name === value) ?? [];
  });
  const [first] = columns;
  const isShared = columns.every(
    ({ type, typeSchema }) => type === first?.type && typeSchema === first.typeSchema,
  );
  return isShared && first !== undefined ? { ...first, name } : { name, type: "text" };
}

/** The refusal of what would be null in rows of an answer and cannot. */
export const withoutNull = (option: string, names: string): ValueRefused =>
  new ValueRefused(httpError("notCombined", { option, names, reason: "whose type has no null" }));

/** A condition of the request with its position, by which its value is found. */
export interface Placed {
  readonly condition: Condition;
  readonly position: number;
}

/** A condition with the values that a selection has at its position: a statement serves all that have the same form. */
export function deferredCondition(
  { where }: Pick<AggregateDialect, "where">,
  { condition, position }: Placed,
  columns: ResultColumns,
): Part {
  return deferred(({ conditions }) =>
    where(withValues(condition, conditions[position] as Condition), position, columns),
  );
}

function withValues(form: Condition, values: Condition): Condition {
  if (!isGroup(form)) return { ...(values as ColumnCondition), column: form.column };
  const { of } = values as typeof form;
  return { ...form, of: form.of.map((each, i) => withValues(each, of[i] as Condition)) };
}
