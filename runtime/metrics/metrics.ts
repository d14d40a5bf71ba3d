/** What the rest of the runtime uses of groups and measures; it loads this file when they are used (`loadMetrics`). */
export { AggregateEngine, filteredColumn } from "./aggregate-engine.js";
export { measureConditions } from "./group-filters.js";
export { readGroups } from "./resolve-grouping.js";
export { readValuesQuestion, valuesOfGroup, valuesOfRows } from "./resolve-listed-values.js";
export { pointsOf, readChartQuestion } from "./resolve-chart.js";

/** What says which requests a roll-up answers. */
export const loadRolledUp = async () => (await import("./roll-up.js")).rolledUp;
