import { groupKey } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue.js";

/** Names of groups, also with their grains, whose values are marked private. */
export function privateGroups({
  aggregate,
  columns,
  private: isPrivate,
}: Pick<CatalogueEntry, "aggregate" | "columns" | "private">): ReadonlySet<string> {
  if (aggregate === undefined) return new Set();
  const measures = new Set(aggregate.measures.map(({ name }) => name));
  const marked = aggregate.columns.filter((column) => "private" in column && column.private === true);
  const ofModel =
    aggregate.of === "metrics" ? [] : columns.filter((column) => isPrivate || column.private === true);
  const names = new Set([...marked, ...ofModel].map(({ name }) => name));
  const groups = aggregate.measures.flatMap((measure) => measure.groups);
  for (const { name, grains = [] } of groups)
    if (names.has(name)) for (const grain of grains) names.add(groupKey(name, grain));
  for (const name of measures) names.delete(name);
  return names;
}

/** Names of the metrics of an endpoint that are marked private themselves. A model's own measures have no marks, but `diff` may. */
export function privateMetrics({ aggregate }: Pick<CatalogueEntry, "aggregate">): ReadonlySet<string> {
  if (aggregate === undefined) return new Set();
  const marked = aggregate.columns.filter((column) => "private" in column && column.private === true);
  const measures = new Set(aggregate.measures.map(({ name }) => name));
  return new Set(marked.map(({ name }) => name).filter((name) => measures.has(name)));
}
