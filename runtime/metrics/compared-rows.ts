import type { AskedGroup, ComparedPeriod } from "../core/model/aggregate/aggregate.js";
import { changeName, previousName } from "../core/model/aggregate/group-options.js";
import { join, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { type GroupsBuild, valueColumn } from "./groups-build.js";
import { groupRows } from "./grouped-rows.js";
import {
  aggregate,
  type ColumnExpression,
  type ColumnValue,
  compute,
  groupName,
  joinRows,
  kept,
  type Named,
  type PlanStep,
  type ReadColumns,
} from "./plan.js";

/** The rows of a grouping; where it compares, with the results of the earlier period beside them. */
export function comparedRows(build: GroupsBuild): PlanStep {
  const { groups, measures, options } = build.grouping;
  const rows = groupRows(build);
  const { compare } = options ?? {};
  if (compare === undefined) return rows;
  const keys = groups.map(({ key }) => key);
  const earlier = compute(
    groupRows(earlierBuild(build, compare)),
    ...kept(keys),
    ...measures.map(({ name }) => [previousName(name), name] as const),
  );
  return compute(besideEarlier(build, rows, earlier, compare), ...kept(keys), ...comparedColumns(build));
}

function comparedColumns(build: GroupsBuild): Named<ColumnValue> {
  return build.grouping.measures.flatMap(({ name, metric }): Named<ColumnValue> => {
    const leaf = metric.kind === "leaf" ? metric : null;
    const column = leaf && valueColumn(build, leaf);
    const previous = previousName(name);
    const change: ColumnExpression = ({ value }) =>
      build.dialect.difference(value(name), value(previous), leaf, column) ?? sql`NULL`;
    return [
      [name, name],
      [previous, previous],
      [changeName(name), change],
    ];
  });
}

/** A row of the period that is asked, and the row of its groups in the earlier one. */
function besideEarlier(
  { dialect, grouping }: GroupsBuild,
  rows: PlanStep,
  earlier: PlanStep,
  compare: ComparedPeriod,
): PlanStep {
  const { groups, measures } = grouping;
  const names = measures.map(({ name }) => name);
  if (groups.length === 0)
    return {
      kind: "combine",
      sources: [
        { rows, columns: names },
        { rows: earlier, columns: names.map(previousName) },
      ],
      groups: [],
    };
  return joinRows(
    rows,
    earlier,
    (row, other) =>
      join(
        groups.map((group) =>
          dialect.isSame(earlierKey(dialect, group, group.key, compare)(row), other.value(group.key)),
        ),
        " AND ",
      ),
    "null",
  );
}

/** The same groups in the earlier period. */
function earlierBuild(build: GroupsBuild, compare: ComparedPeriod): GroupsBuild {
  const { among, dialect } = build;
  if (among === undefined) return { ...build, isEarlier: true };
  const { groups, rows } = among;
  const names = [...groups, ...build.grouping.groups].map(groupName);
  const keys = compute(
    rows,
    ...groups.map(
      (group) => [groupName(group), earlierKey(dialect, group, groupName(group), compare)] as const,
    ),
    ...kept(build.grouping.groups.map(groupName)),
  );
  // The last days of a month have one day of a shorter month before them.
  return { ...build, isEarlier: true, among: { groups, rows: aggregate(keys, names) } };
}

/** A group in the earlier period: of a time the period so much earlier. */
function earlierKey(
  { earlier }: Pick<GroupsBuild["dialect"], "earlier">,
  { name: group, grain = "day" }: AskedGroup,
  column: string,
  { shift, times }: ComparedPeriod,
): ColumnExpression {
  return ({ value }: ReadColumns): Part =>
    times.includes(group) ? earlier(value(column), shift, grain) : value(column);
}
