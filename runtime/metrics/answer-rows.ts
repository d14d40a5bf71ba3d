import { leavesOf } from "../core/model/aggregate/metric.js";
import {
  type AskedGroup,
  type AskedGrouping,
  groupKey,
  type TopGroups,
} from "../core/model/aggregate/aggregate.js";
import { changeName, previousName } from "../core/model/aggregate/group-options.js";
import { columnsOf, mapConditions, type Selection } from "../core/model/query.js";
import type { GroupedStatement } from "../core/warehouse/aggregate-dialect.js";
import { constant, join, sql } from "../core/warehouse/sql.js";
import type { ResultColumns } from "../core/warehouse/warehouse.js";
import { comparedRows } from "./compared-rows.js";
import { type GroupsBuild, withGroups, withoutNull } from "./groups-build.js";
import {
  type ColumnExpression,
  compute,
  filter,
  groupName,
  kept,
  type Named,
  type PlanStep,
  windows,
} from "./plan.js";
import { renderPlan } from "./render-plan.js";
import { conditionOn, resultConditions } from "./row-filters.js";
import { rowSet } from "./row-set.js";

/** The statement of a grouping. `results`: its columns, with which conditions on results compare. */
export function groupedRows(build: GroupsBuild, results: ResultColumns): GroupedStatement {
  return renderPlan(answerRows(build, results), build.dialect);
}

/** Refuses totals and the row of other groups where a group cannot be null in them. */
export function requireNulls(build: GroupsBuild): void {
  const { groups, measures, options = {} } = build.grouping;
  const option = options.totals === true ? "totals" : options.top?.others === true ? "other" : null;
  if (option === null) return;
  const wrong = groups.filter(({ name, grain }) =>
    measures
      .flatMap(({ metric }) => leavesOf(metric))
      .some(
        ({ fact, time }) =>
          grain === undefined &&
          rowSet(build, { fact, time, dimensions: [name], values: [] }).columns.some(
            (column) => !build.dialect.canBeNull(column),
          ),
      ),
  );
  if (wrong.length === 0) return;
  throw withoutNull(option, wrong.map(({ key }) => key).join(", "));
}

/** Names of the columns of an answer. */
export function answeredNames({ groups, measures, options = {} }: AskedGrouping): readonly string[] {
  return [
    ...groups.map(({ key }) => key),
    ...measuredNames({ measures, options }),
    ...(options.totals === true ? ["level"] : []),
    ...(options.top?.others === true ? ["other"] : []),
  ];
}

function measuredNames({
  measures,
  options,
}: Pick<AskedGrouping, "measures" | "options">): readonly string[] {
  const isCompared = options?.compare !== undefined;
  return measures.flatMap(({ name }) => (isCompared ? [name, previousName(name), changeName(name)] : [name]));
}

/** The column that a condition on the results of a measure names: no column of rows has the name. */
export const measureResultName = (measure: string): string => `\0${measure}`;

/** The results as conditions name them. */
export function resultColumns(results: ResultColumns): ResultColumns {
  return results.map((column) => ({ ...column, name: measureResultName(column.name) }));
}

/** The group of the rows that are in none of the first groups. */
const OTHER: AskedGroup = { key: groupKey("other", undefined), name: "other" };

/** The position of a group in the order of `top`; no group or measure has the name. */
const RANK = "rank of the group";

interface AnswerPart {
  readonly rows: PlanStep;
  /** The groups that its rows have. */
  readonly groups: readonly AskedGroup[];
  readonly isOther: boolean;
}

function answerRows(build: GroupsBuild, results: ResultColumns): PlanStep {
  const { groups, options: { top, totals } = {}, aggregate } = build.grouping;
  const found = foundRows(build, results);
  const rows = top === undefined ? found : firstRows(build, found, top);
  const shorter = totals === true ? groups.map((_, i) => groups.slice(0, i)).toReversed() : [];
  const parts: readonly AnswerPart[] = [
    { rows, groups, isOther: false },
    ...shorter.map((own) => ({
      rows: foundRows(withGroups(build, own), results),
      groups: own,
      isOther: false,
    })),
    ...(top?.others === true ? [{ rows: otherRows(build, found, top), groups: [], isOther: true }] : []),
  ];
  if (totals === true || top?.others === true) return unitedRows(build, parts);
  const { saved } = aggregate;
  if (saved?.limit === undefined) return rows;
  const order = [...saved.sort, ...groups.map(({ key }) => [key, "ASC"] as const)];
  return { kind: "limit", rows, order, limit: saved.limit };
}

function unitedRows({ grouping }: GroupsBuild, parts: readonly AnswerPart[]): PlanStep {
  const { groups, options } = grouping;
  const columns = ({ groups: own, isOther }: AnswerPart): Named<string | ColumnExpression> => [
    ...groups.map(({ key }) => [key, own.some((each) => each.key === key) ? key : NULL] as const),
    ...kept(measuredNames(grouping)),
    ...(options?.totals === true ? [["level", () => constant(own.length)] as const] : []),
    ...(options?.top?.others === true ? [["other", isOther ? TRUE : FALSE] as const] : []),
  ];
  return { kind: "union", parts: parts.map((part) => compute(part.rows, ...columns(part))) };
}

const NULL: ColumnExpression = () => sql`NULL`;
const TRUE: ColumnExpression = () => sql`TRUE`;
const FALSE: ColumnExpression = () => sql`FALSE`;

/** The groups for whose results all conditions hold. */
function foundRows(build: GroupsBuild, results: ResultColumns): PlanStep {
  const rows = comparedRows(build);
  const conditions = resultConditions(build).map(({ condition, position }) => {
    const [own = condition] = mapConditions([condition], (each) => ({
      ...each,
      column: each.column.slice(1),
    }));
    return { condition: own, position };
  });
  if (conditions.length === 0) return rows;
  return {
    kind: "filter",
    rows,
    conditions: conditions.map((placed) => conditionOn(build, results, placed)),
    compared: conditions.flatMap(({ condition }) => columnsOf(condition)),
  };
}

/** Rows in the order of `top`: a group without a value is the last. */
function rankedRows(
  { dialect, grouping }: GroupsBuild,
  rows: PlanStep,
  { by, direction }: TopGroups,
): PlanStep {
  const order = [[by, direction] as const, ...grouping.groups.map(({ key }) => [key, "ASC"] as const)];
  const rank: ColumnExpression = ({ value }) => {
    const keys = order.map(
      ([name, way]) => sql<Selection>`${value(name)} ${way === "ASC" ? sql`ASC` : sql`DESC`} NULLS LAST`,
    );
    return sql`${dialect.functionName("row_number")}() OVER (ORDER BY ${join(keys, ", ")})`;
  };
  return windows(rows, [RANK, rank]);
}

function firstRows(build: GroupsBuild, rows: PlanStep, top: TopGroups): PlanStep {
  const { dialect, grouping } = build;
  const isFirst: ColumnExpression = ({ value }) => dialect.infix(constant(top.count), ">=", value(RANK));
  const names = [...grouping.groups.map(({ key }) => key), ...measuredNames(grouping)];
  return compute(filter(rankedRows(build, rows, top), isFirst), ...kept(names));
}

/** The one row of the groups behind the first: of all their rows, as the sum of ratios is none. */
function otherRows(build: GroupsBuild, found: PlanStep, top: TopGroups): PlanStep {
  const { dialect, grouping } = build;
  const isBehind: ColumnExpression = ({ value }) => dialect.infix(value(RANK), ">", constant(top.count));
  const { groups } = grouping;
  const rows = compute(
    filter(rankedRows(build, found, top), isBehind),
    ...groups.map((group) => [groupName(group), group.key] as const),
    [groupName(OTHER), TRUE],
  );
  return comparedRows({ ...withGroups(build, [OTHER]), among: { groups, rows } });
}
