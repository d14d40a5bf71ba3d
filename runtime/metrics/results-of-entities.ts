import { type FixedFilter, type ResultOfEntity, resultsIn } from "../core/model/aggregate/metric.js";
import { groupColumn, type GroupsBuild } from "./groups-build.js";
import { joinRows, type PlanStep, type ReadColumns } from "./plan.js";
import type { RowSet } from "./row-set.js";

interface Filters {
  readonly filters: readonly FixedFilter[];
}

/** Each once, by what it is. */
const distinctResults = ({ filters }: Filters): ReadonlyMap<string, ResultOfEntity> =>
  new Map(resultsIn(filters).map((of) => [JSON.stringify(of), of]));

const nameAt = (position: number): string => `result ${String(position)} of an entity`;

/** The column of a result among rows that have those of these filters. */
export function entityResultName(all: Filters, of: ResultOfEntity): string {
  return nameAt([...distinctResults(all).keys()].indexOf(JSON.stringify(of)));
}

/** Rows beside the results of metrics that filters compare; null where the entity of a row has none. */
export function joinEntityResults(build: GroupsBuild, rows: RowSet, all: Filters): PlanStep {
  return [...distinctResults(all).values()].reduce(
    (joined: PlanStep, of, position) => besideResult(build, rows, joined, { of, name: nameAt(position) }),
    rows.rows,
  );
}

function besideResult(
  build: GroupsBuild,
  rows: RowSet,
  joined: PlanStep,
  { of, name }: { readonly of: ResultOfEntity; readonly name: string },
): PlanStep {
  const { name: own, column } = rows.dimension(of.on);
  const group = { key: `entity of ${name}`, name: of.by };
  const inner = resultBuild(build, of, { group, name });
  const columns = [column, groupColumn(inner, group)] as const;
  const on = (row: ReadColumns, other: ReadColumns) =>
    build.dialect.equals(row.value(own), other.value(group.key), columns);
  return joinRows(joined, build.rowsOf(inner), on, "null");
}

/** Only own rows hold for it, of all that a request asks. */
function resultBuild(
  { grouping, conditions, types, dialect, rowsOf }: GroupsBuild,
  { metric }: ResultOfEntity,
  { group, name }: { readonly group: { readonly key: string; readonly name: string }; readonly name: string },
): GroupsBuild {
  const { aggregate } = grouping;
  const measures = [{ name, groups: [], metric }];
  return {
    grouping: { aggregate, groups: [group], measures },
    conditions,
    types,
    dialect,
    rowsOf,
    isOfFilter: true,
  };
}
