import { framedRows, type QueryContext, type Rows } from "../../runtime/warehouse/warehouse.js";

/** The context of a query of a caller of the highest tier. */
export function queryContext(context: Partial<QueryContext> = {}): QueryContext {
  return { callerId: "key:test", tier: "tier3", version: null, isStillNeeded: () => true, ...context };
}

/** A result whose rows are text. */
export function asText(rows: Rows | "overloaded"): Rows | "overloaded" {
  return rows === "overloaded" || rows.kind === "stream"
    ? rows
    : { ...rows, text: framedRows(rows.text).toString() };
}
