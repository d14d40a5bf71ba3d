import type { QueryContext } from "../../runtime/warehouse/warehouse.js";

/** The context of a query of a caller of the highest tier. */
export function queryContext(context: Partial<QueryContext> = {}): QueryContext {
  return { callerId: "key:test", tier: "tier3", version: null, isStillNeeded: () => true, ...context };
}
