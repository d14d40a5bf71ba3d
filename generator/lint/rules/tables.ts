import { isEphemeral, isView } from "../../manifest/graph.js";
import type { Check } from "../finding.js";
import { ancestorsOf, type Node } from "../project.js";
import { chain, plain, sentence } from "../sentence.js";

/** Granularities whose tables do not grow with time: one value, or the rows of one fixed window. */
export const BOUNDED: ReadonlySet<string | null> = new Set([
  "latest",
  "last_7d",
  "last_30d",
  "in_ranges",
  "all_time",
]);

/**
 * A legacy endpoint that answers with its whole table. An author who leaves pagination out of `meta.api` has chosen so;
 * the author of a legacy model has chosen nothing.
 */
export const unlimitedResponse: Check = {
  find({ entry: { endpoint, granularity } }) {
    if (!endpoint.legacy || BOUNDED.has(granularity)) return [];
    return [
      {
        path: "$.config.meta",
        message: plain(
          "Every call gets the whole table: without `meta.api` there is no `limit` and no filter. The response grows with the table until clients time out.",
        ),
        hint: plain(
          "Add `meta.api` with `allow_unfiltered: true`, `pagination` and a `sort`. Callers then get pages: announce it.",
        ),
      },
    ];
  },
};

/**
 * A published view over a table that dbt replaces: dbt-postgres builds a new table, swaps the names and drops the old
 * table with all views on it.
 */
export const viewOnTable: Check = {
  find({ node }, { project }) {
    if (project.engine !== "postgres" || !isView(node) || isEphemeral(node)) return [];
    const throughViews = ancestorsOf(node, project, (child) => isView(child));
    const [table] = throughViews.filter((ancestor) => isReplaced(ancestor.node));
    if (table === undefined) return [];
    return [
      {
        path: "$.config.materialized",
        message: sentence`A view on the table ${table.node.name}: ${chain(table.way)}. dbt replaces that table and drops the view with the old one; requests fail until dbt builds the view again.`,
        hint: plain(
          "Materialize this model as `table` or `incremental`, or always build both: `dbt run --select <table>+`.",
        ),
      },
    ];
  },
};

function isReplaced({ kind, materialized }: Node): boolean {
  return kind === "model" && materialized === "table";
}
