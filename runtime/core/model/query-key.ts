import type { AskedGrouping } from "./aggregate/aggregate.js";
import { type ColumnCondition, type Condition, isGroup, ownMark, type ResolvedQuery } from "./query.js";

/** U+0000 separates the parts: no name or value of a query can contain it. */
export function queryKey({
  relation: [schema, name],
  selection,
  format,
  timeoutMs,
  maxRowsRead = 0,
}: ResolvedQuery): string {
  const { conditions, sort, page, keyset, grouping } = selection;
  let key = `${schema}\0${name}\0${format}\0${String(timeoutMs)} ${String(maxRowsRead)}\0${selection.columns?.digest ?? ""}`;
  if (page !== null)
    key += `\0${String(page.limit)} ${String(page.offset)}${page.envelope === true ? " +" : ""}`;
  if (grouping !== undefined) key += `\0${groupingKey(grouping)}`;
  for (const condition of conditions) key += conditionForm(condition, valuesOf);
  for (const [column, direction] of sort) key += `\0\0\0${column}\0${direction}`;
  if (keyset !== undefined) key += `\0\0\0\0${keyset.scope}\0${JSON.stringify(keyset.after)}`;
  return key;
}

/** The number of values delimits the list. */
const valuesOf = ({ value }: ColumnCondition): string =>
  typeof value === "string" ? value : `${String(value.length)}\0${value.join("\0")}`;

/** A condition without its values, and for each column what `partOf` says of it. The number of members delimits a group. */
export function conditionForm(condition: Condition, partOf: (each: ColumnCondition) => string): string {
  if (isGroup(condition))
    return `\0\0\0${condition.operator}\0${String(condition.of.length)}${condition.of.map((each) => conditionForm(each, partOf)).join("")}`;
  const { column, operator, timezone = "", measure = "", on = "" } = condition;
  const letterCase = "case" in condition ? (condition.case ?? "") : "";
  return `\0\0${ownMark(condition)}${column}\0${operator}\0${letterCase}\0${timezone}\0${measure}\0${on}\0${partOf(condition)}`;
}

/** What a grouping selects, as a text: two with the same text have the same columns. */
export function groupingKey({ aggregate, groups, measures, options }: AskedGrouping): string {
  if (!Object.hasOwn(aggregate, "digest")) throw new Error("A changed aggregate needs a digest of its own.");
  const keys = groups.map(({ key, name, grain = "" }) => `${key}\0${name}\0${grain}`);
  return JSON.stringify([aggregate.digest, keys, measures.map(({ name }) => name), options]);
}
