import { sentence } from "../../report/sentence.js";
import type { Check } from "./check.js";

/** Granularities of data-api.md §4.1 whose tables do not grow with time: a value, or rows of one fixed window. */
export const BOUNDED: ReadonlySet<string | null> = new Set([
  "latest",
  "last_7d",
  "last_30d",
  "in_ranges",
  "all_time",
]);

/**
 * A legacy endpoint that answers with its whole table. Where `meta.api` leaves pagination out, its author has chosen
 * so; a legacy model's has chosen nothing.
 */
export const unlimitedResponse: Check = {
  find({ entry: { endpoint, granularity } }) {
    if (!endpoint.legacy || BOUNDED.has(granularity)) return [];
    return [
      {
        path: "$.config.meta",
        message: sentence`Every call gets the whole table: without \`meta.api\` there is no \`limit\` and no filter. The response grows with the table until clients time out.`,
        hint: sentence`Add \`meta.api\` with \`allow_unfiltered: true\`, \`pagination\` and a \`sort\`. Callers then get pages: announce it.`,
      },
    ];
  },
};
