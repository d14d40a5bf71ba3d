import type { ResolvedQuery } from "./warehouse.js";

/**
 * Tells questions apart: two with the same key have the same answer. No name or value holds the separator, which the
 * database knows no character for.
 */
export function queryKey({ relation: [schema, name], selection, format, timeoutMs }: ResolvedQuery): string {
  const { conditions, sort, page } = selection;
  let key = `${schema}\0${name}\0${format}\0${String(timeoutMs)}`;
  if (page !== null) key += `\0${String(page.limit)} ${String(page.offset)}${page.lookAhead ? " +" : ""}`;
  for (const { column, operator, value, ...filter } of conditions) {
    const letterCase = "case" in filter ? (filter.case ?? "") : "";
    // How many values there are keeps a list apart from what follows it.
    const values = typeof value === "string" ? value : `${String(value.length)}\0${value.join("\0")}`;
    key += `\0\0${column}\0${operator}\0${letterCase}\0${values}`;
  }
  for (const [column, direction] of sort) key += `\0\0\0${column}\0${direction}`;
  return key;
}
