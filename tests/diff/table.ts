import { ACCESS_CHANGES } from "./access-changes.js";
import { AGGREGATE_CHANGES } from "./aggregate-changes.js";
import { FACT_CHANGES } from "./fact-changes.js";
import { REQUEST_CHANGES } from "./request-changes.js";
import { ROW_CHANGES } from "./row-changes.js";
import { TYPE_CHANGES } from "./type-changes.js";

/** Every single change, with what `diff` reports forwards and backwards. The oracle serves the same table. */
export const TABLE = [
  ...ACCESS_CHANGES,
  ...REQUEST_CHANGES,
  ...TYPE_CHANGES,
  ...ROW_CHANGES,
  ...FACT_CHANGES,
  ...AGGREGATE_CHANGES,
];
