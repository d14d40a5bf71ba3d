import { mappedSchemas } from "../../catalogue/build.js";
import { isEphemeral, isView } from "../../manifest/graph.js";
import { chain, list, plain, sentence, type Sentence } from "../../manifest/strings.js";
import { type Check, type CheckId, type LintedEndpoint, violation } from "../checks.js";
import { ancestorsOf, type Node } from "../dbt-graph.js";

/** Rules about how an endpoint behaves in service. */
export const operationsRules = {
  /** A schema that the config file's mapping does not lead to; without one, another than that of most endpoints. */
  "unexpected-schema": ({ endpoint }, { schemas, relationSchemas }) => {
    const [schema] = endpoint.relation;
    const expected = mappedSchemas(schemas ?? {}) ?? usualSchema(relationSchemas);
    if (expected.length === 0 || expected.includes(schema)) return [];
    return violation(
      "$.schema",
      sentence`The relation is in the schema ${schema}, not in ${list(expected)}.`,
      "Parse with the production target, or map the schema with `schemas` in the config file. If it is meant, turn the rule off with that reason.",
    );
  },
  /**
   * A legacy endpoint that returns its whole table, or pages without a sensible limit. In a `meta.api`, leaving out
   * pagination is the author's choice; a legacy model has no `meta.api`.
   */
  "unlimited-response": ({ endpoint, apiPath }) => {
    const { legacy, pagination } = endpoint;
    if (pagination !== null && pagination.maxLimit > HUGE_PAGE) {
      const message = sentence`\`max_limit\` is ${String(pagination.maxLimit)}: one call can ask for the whole table.`;
      const hint = sentence`Write at most ${String(HUGE_PAGE)}; callers page through more.`;
      return [{ path: `${apiPath}.pagination.max_limit`, message, hint }];
    }
    if (!legacy || isBounded(endpoint)) return [];
    return violation(
      "$.config.meta",
      "Every call gets the whole table: without `meta.api` there is no `limit` and no filter. The response grows with the table until clients time out.",
      "Add `meta.api` with `allow_unfiltered: true`, `pagination` and a `sort`. Callers then get pages: announce it.",
    );
  },
  /**
   * A published view over a table that dbt replaces: dbt-postgres builds a new table, swaps the names and drops the old
   * table with all views on it.
   */
  "view-on-table": ({ node }, { project }) => {
    if (project.adapter !== "postgres" || !isView(node) || isEphemeral(node)) return [];
    const throughViews = ancestorsOf(node, project, (child) => isView(child));
    const [table] = throughViews.filter((ancestor) => isReplaced(ancestor.node));
    if (table === undefined) return [];
    return violation(
      "$.config.materialized",
      sentence`A view on the table ${table.node.name}: ${chain(table.lineage)}. dbt replaces that table and drops the view with the old one; requests fail until dbt builds the view again.`,
      "Materialize this model as `table` or `incremental`, or always build both: `dbt run --select <table>+`.",
    );
  },
  /** A paginated endpoint whose sort keys are not proven unique: the database may order tied rows differently for each page. */
  "unstable-pagination": ({ endpoint, model: { provenKeys }, apiPath }, { project }) => {
    // With cursors every sort ends with a proven key.
    if (endpoint.pagination === null || endpoint.cursor !== undefined) return [];
    const sorted = endpoint.sort.map(([column]) => column);
    if (provenKeys.some((key) => key.every((column) => sorted.includes(column)))) return [];
    const path = sorted.length === 0 ? `${apiPath}.pagination` : `${apiPath}.sort`;
    const columns = endpoint.columns.map(({ name }) => name);
    const known = provenKeys.find((key) => key.every((column) => columns.includes(column)));
    const hint = known
      ? sentence`End \`sort\` with the columns of a unique key: ${list(known)}.`
      : plain(project.adapter === "clickhouse" ? `${PROVE} In ClickHouse \`order_by\` sorts only.` : PROVE);
    return [{ path, message: messageFor(sorted), hint }];
  },
  /** An endpoint of rows without `cursor`, which proves the key of an entity set (runtime/docs/odata.md). */
  "no-row-key": ({ endpoint: { cursor, aggregate }, apiPath }) => {
    const isOfGroups = aggregate?.of === "metrics" || aggregate?.rows === false;
    if (cursor !== undefined || isOfGroups) return [];
    return violation(
      apiPath,
      "OData has the endpoint as a function: no columns are known to identify a row.",
      "Set `meta.routewright.cursor: true`, and prove the key with the tests `unique` and `not_null`.",
    );
  },
} satisfies Partial<Record<CheckId, Check>>;

/** Granularities and windows whose tables do not grow with time: one value, or the rows of one fixed window. */
const BOUNDED =
  /^(?:latest|current|today|yesterday|snapshot|total|in_ranges|all_time|(?:last|past)_.+|\d+(?:h|d|w|m|q|y))$/;

function isBounded({ granularity, window }: LintedEndpoint["endpoint"]): boolean {
  return [granularity, window].some((period) => period !== null && BOUNDED.test(period));
}

/** Rows on a page that no client needs and few hold. */
const HUGE_PAGE = 100_000;

/** Share of a catalogue's endpoints, from this number of endpoints, whose schema is the usual one. */
const USUAL = { share: 0.8, endpoints: 5 } as const;

function usualSchema(schemas: ReadonlyMap<string, number>): readonly string[] {
  const total = [...schemas.values()].reduce((sum, count) => sum + count, 0);
  const [usual] = [...schemas].filter(([, count]) => count >= total * USUAL.share);
  return usual === undefined || total < USUAL.endpoints ? [] : [usual[0]];
}

function isReplaced({ kind, materialized }: Node): boolean {
  return kind === "model" && materialized === "table";
}

const PROVE =
  "End `sort` with columns that identify a row, and prove them unique: `unique` and `not_null` tests, a `dbt_utils.unique_combination_of_columns` test, or the constraints of an enforced contract.";

function messageFor(sorted: readonly string[]): Sentence {
  if (sorted.length === 0)
    return sentence`Rows have no fixed order: it may differ between pages, so a caller that pages with \`offset\` can get some rows twice and miss others.`;
  return sentence`Rows are sorted by ${list(sorted)}, which nothing proves unique: the order of tied rows may differ between pages, so a caller that pages with \`offset\` can get some rows twice and miss others.`;
}
