import type { Grain, Leaf } from "../core/model/aggregate.js";
import { mapConditions } from "../core/model/query.js";
import { constant, join, projectParts, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { type GroupsBuild, otherGroups } from "./groups-build.js";
import { groupName, type PlanStep } from "./plan.js";
import { filtered, filtersOf, splitByTime } from "./row-filters.js";
import { isOnlyOn, rowSet } from "./row-set.js";

/** Results with a row for every period, also for those without any. `on`: columns that say which period is whose. */
export function onSpine(
  build: GroupsBuild,
  leaf: Leaf,
  results: PlanStep,
  { periods, on }: { readonly periods: PlanStep; readonly on: readonly string[] },
): PlanStep {
  const { dialect } = build;
  const rows: PlanStep = {
    kind: "join",
    rows: periods,
    others: [
      {
        rows: results,
        unmatched: "null",
        on: (period, result) =>
          join(
            on.map((name) => dialect.infix(period.value(name), "=", result.value(name))),
            " AND ",
          ),
      },
    ],
  };
  return reapplied(build, leaf, rows);
}

/** Filters of the request on nothing but what is grouped by, for rows that the spine has added: other groups are null there. */
function reapplied(build: GroupsBuild, leaf: Leaf, rows: PlanStep): PlanStep {
  const { dialect } = build;
  const { others } = splitByTime(leaf, filtersOf(build, { leaf, filters: [] }));
  const { fact, time } = leaf;
  const groups = otherGroups(build, leaf);
  const { dimension } = rowSet(build, {
    fact,
    time,
    dimensions: groups.map(({ name }) => name),
    values: [],
  });
  const grouped = (name: string, grain?: Grain): string | null => {
    const found = groups.find(
      (group) => group.name === name && group.grain === (grain ?? dimension(name).grain),
    );
    return found === undefined ? null : groupName(found);
  };
  const columns = groups.map((group) => ({
    ...(group.grain === undefined ? dimension(group.name).column : dialect.periodColumn(group.grain)),
    name: groupName(group),
  }));
  const conditions = others.conditions.flatMap(({ condition, position }) =>
    isOnlyOn(condition, (name) => grouped(name) !== null)
      ? mapConditions([condition], (each) => ({ ...each, column: grouped(each.column) ?? "" })).map(
          (own) => ({ condition: own, position }),
        )
      : [],
  );
  const filters = others.filters.filter((filter) =>
    filter.every((part) => typeof part === "string" || grouped(part.dimension, part.grain) !== null),
  );
  return filtered(
    build,
    rows,
    { filters, conditions },
    {
      columns,
      resolve: ({ value }, name, asked) => {
        const { column, grain = asked } = dimension(name);
        const shown = value(grouped(name, asked) ?? "");
        const compared = asked ?? grain;
        return compared === undefined ? shown : dialect.comparedTime(shown, compared, column);
      },
    },
  );
}

/** A value of a leaf, or what stands for null. */
export function filledValue({ fill }: Leaf, value: Part): Part {
  if (fill === undefined) return value;
  const number = Number.isInteger(fill) ? constant(fill) : projectParts([String(fill)]);
  return sql`coalesce(${value}, ${number})`;
}
