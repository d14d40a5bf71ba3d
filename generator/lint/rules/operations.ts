import { type LetterCase, operatorsOf, type Parameter } from "@routewright/runtime/model";
import { mappedSchemas } from "../../catalogue/served-schema.js";
import { isEphemeral, isView } from "../../manifest/graph.js";
import { textOr } from "../../manifest/json.js";
import { chain, joined, list, plain, sentence, type Sentence } from "../../manifest/strings.js";
import { accessPathsOf, declaresStorage, type Lookup, serves, tablesOf } from "../access-path.js";
import type { Check, LintedEndpoint, Violation } from "../finding.js";
import { ancestorsOf, type Engine, type Node, type Project } from "../project.js";

/** Granularities and windows whose tables do not grow with time: one value, or the rows of one fixed window. */
const BOUNDED =
  /^(?:latest|current|today|yesterday|snapshot|total|in_ranges|all_time|(?:last|past)_.+|\d+(?:h|d|w|m|q|y))$/;

function isBounded({ granularity, window }: LintedEndpoint["entry"]): boolean {
  return [granularity, window].some((period) => period !== null && BOUNDED.test(period));
}

/** Granularities whose tables are too small for an index. */
const SMALL: ReadonlySet<string | null> = new Set(["latest", "last_7d", "last_30d", "in_ranges", "all_time"]);

/** Rows on a page that no client needs and few hold. */
const HUGE_PAGE = 100_000;

/** Share of a catalogue's endpoints, from this number of endpoints, whose schema is the usual one. */
const USUAL = { share: 0.8, endpoints: 5 } as const;

/** A schema that the config file's mapping does not lead to; without one, another than that of most endpoints. */
export const unexpectedSchema: Check = ({ entry, schemas }, context) => {
  const [schema] = entry.endpoint.relation;
  const expected = mappedSchemas(context.schemas ?? {}) ?? usualSchema(schemas);
  if (expected.length === 0 || expected.includes(schema)) return [];
  return [
    {
      path: "$.schema",
      message: sentence`The relation is in the schema ${schema}, not in ${list(expected)}.`,
      hint: plain(
        "Parse with the production target, or map the schema with `schemas` in the config file. If it is meant, turn the rule off with that reason.",
      ),
    },
  ];
};

function usualSchema(schemas: ReadonlyMap<string, number>): readonly string[] {
  const total = [...schemas.values()].reduce((sum, count) => sum + count, 0);
  const [usual] = [...schemas].filter(([, count]) => count >= total * USUAL.share);
  return usual === undefined || total < USUAL.endpoints ? [] : [usual[0]];
}

/**
 * A legacy endpoint that returns its whole table, or pages without a sensible limit. In a `meta.api`, leaving out
 * pagination is the author's choice; a legacy model has no `meta.api`.
 */
export const unlimitedResponse: Check = ({ entry, apiPath }) => {
  const { legacy, pagination } = entry.endpoint;
  if (pagination !== null && pagination.maxLimit > HUGE_PAGE) {
    const message = sentence`\`max_limit\` is ${String(pagination.maxLimit)}: one call can ask for the whole table.`;
    const hint = sentence`Write at most ${String(HUGE_PAGE)}; callers page through more.`;
    return [{ path: `${apiPath}.pagination.max_limit`, message, hint }];
  }
  if (!legacy || isBounded(entry)) return [];
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
};

/**
 * A published view over a table that dbt replaces: dbt-postgres builds a new table, swaps the names and drops the old
 * table with all views on it.
 */
export const viewOnTable: Check = ({ node }, { project }) => {
  if (project.engine !== "postgres" || !isView(node) || isEphemeral(node)) return [];
  const throughViews = ancestorsOf(node, project, (child) => isView(child));
  const [table] = throughViews.filter((ancestor) => isReplaced(ancestor.node));
  if (table === undefined) return [];
  return [
    {
      path: "$.config.materialized",
      message: sentence`A view on the table ${table.node.name}: ${chain(table.lineage)}. dbt replaces that table and drops the view with the old one; requests fail until dbt builds the view again.`,
      hint: plain(
        "Materialize this model as `table` or `incremental`, or always build both: `dbt run --select <table>+`.",
      ),
    },
  ];
};

function isReplaced({ kind, materialized }: Node): boolean {
  return kind === "model" && materialized === "table";
}

const DELETES_FIRST = /^(?:delete[+_]insert|microbatch)$/;

/** Rows that an incremental model replaces in two steps. PostgreSQL takes both in one transaction, ClickHouse has none. */
export const deleteInsert: Check = ({ node }, { project }) => {
  if (project.engine !== "clickhouse") return [];
  const throughViews = ancestorsOf(node, project, (child) => isView(child));
  const read = [{ node, lineage: [node.name] }, ...throughViews];
  return read
    .filter((each) => deletesFirst(each.node))
    .map(({ node: table, lineage }): Violation => ({
      path: table === node ? "$.config.incremental_strategy" : "$.depends_on",
      message: sentence`In ${chain(lineage)} dbt deletes rows before it inserts the new ones: a request in between gets the other rows only.`,
      hint: plain(
        "Set `incremental_strategy: insert_overwrite` with `partition_by`, or materialize the model as `table`: dbt exchanges both atomically.",
      ),
    }));
};

function deletesFirst({ materialized, config }: Node): boolean {
  return /incremental$/.test(materialized) && DELETES_FIRST.test(textOr(config["incremental_strategy"], ""));
}

/** A filter or sort key of `meta.api`, with the column that it uses. */
interface ColumnUse {
  readonly column: string;
  readonly lookup: Lookup;
  readonly letterCase: LetterCase | null;
  /** The query parameter, or `sort` for the fixed sort. */
  readonly name: string;
  readonly path: string;
}

/** A column to filter or sort by, for which the tables beneath declare no index or sorting key. */
export const unindexedColumn: Check = (linted, { project }) => {
  if (SMALL.has(linted.entry.granularity) || project.engine === null) return [];
  const uses = usesOf(linted);
  const columns = [...new Set(uses.map(({ column }) => column))];
  return columns.flatMap((column) =>
    violationsOf(
      linted,
      uses.filter((use) => use.column === column),
      project,
      column,
    ),
  );
};

/** Why filters and sorts cannot be checked in this project; null where they can. */
export function uncheckedIndexes({ engine, nodes }: Project): string | null {
  if (engine === null) return "indexes of this database are not known to Routewright";
  const isDeclared = engine === "postgres" || [...nodes.values()].some(declaresStorage);
  return isDeclared ? null : "no model declares an `order_by`, `engine` or index";
}

/** Of the fixed sort only the first key counts: the others order its ties. */
function usesOf({ entry: { endpoint }, apiPath }: LintedEndpoint): readonly ColumnUse[] {
  const { parameters, filters = [], sort, sortableFields } = endpoint;
  const inOrder = { lookup: "order", letterCase: null } as const;
  return [
    ...parameters.map((parameter, i) => ({
      ...filterUse(parameter),
      path: `${apiPath}.parameters[${String(i)}].column`,
    })),
    ...filters.map(({ column, type }, i) => ({
      column,
      lookup: operatorsOf(type).includes("gte") ? ("range" as const) : ("equal" as const),
      letterCase: null,
      name: `${column}[…]`,
      path: `$.meta.routewright.filters[${String(i)}]`,
    })),
    ...sort
      .slice(0, 1)
      .map(([column]) => ({ ...inOrder, column, name: "sort", path: `${apiPath}.sort[0].column` })),
    ...sortableFields.map((column, i) => {
      return { ...inOrder, column, name: "sort_by", path: `${apiPath}.sortable_fields[${String(i)}]` };
    }),
  ];
}

function filterUse(parameter: Parameter): Omit<ColumnUse, "path"> {
  const { name, column } = parameter;
  const letterCase = ("case" in parameter && parameter.case) || null;
  switch (parameter.operator) {
    case "=":
    case "IN":
      return { name, column, letterCase, lookup: "equal" };
    case ">=":
    case "<=":
      return { name, column, letterCase, lookup: "range" };
    case "ILIKE":
      return { name, column, letterCase, lookup: "pattern" };
  }
}

function violationsOf(
  linted: LintedEndpoint,
  uses: readonly ColumnUse[],
  project: Project,
  column: string,
): Violation[] {
  const { engine } = project;
  const tables = tablesOf(linted.node, column, project);
  if (tables === null || engine === null) return [];
  const paths = tables.map((table) => accessPathsOf(table, engine));
  if (paths.includes(null)) return [];
  const all = paths.flatMap((declared) => declared ?? []);
  const unserved = uses.filter(
    ({ lookup, letterCase }) => !all.some((path) => serves(path, column, lookup, letterCase)),
  );
  const [first] = unserved;
  if (first === undefined) return [];
  const names = list([...new Set(unserved.map(({ name }) => name))]);
  const isOwn = tables.length === 1 && tables[0] === linted.node;
  const owner = isOwn ? plain("the model") : sentence`${list(tables.map(({ name }) => name))}`;
  return [
    {
      path: first.path,
      message: joined(
        plain("No index of "),
        owner,
        sentence` serves the column ${column}. Each request that filters or sorts by it (${names}) reads the whole table.`,
      ),
      hint: hintFor(unserved, engine),
    },
  ];
}

function hintFor(uses: readonly ColumnUse[], engine: Engine): Sentence {
  const hints = new Set(uses.map((use) => adviceFor(use, engine)));
  return plain([...hints].join(" "));
}

function adviceFor({ lookup, letterCase }: ColumnUse, engine: Engine): string {
  switch (engine) {
    case "postgres":
      if (lookup === "pattern")
        return "A search within text needs a trigram index: `type: gin` with `gin_trgm_ops`.";
      if (letterCase === null)
        return "Add an entry to that model's `config.indexes` with the column in first place.";
      return `\`case: ${letterCase}\` compares \`${letterCase}(…)\` of the column: the index must be on that expression.`;
    case "clickhouse":
      if (lookup === "pattern")
        return "A search within text needs a data skipping index, in `config.indexes`.";
      if (lookup === "order")
        return "Put the column in first place of `order_by`, or add a projection in its order.";
      if (letterCase === null)
        return "Put the column in first place of `order_by`, or give it a data skipping index.";
      return `\`case: ${letterCase}\` compares \`${letterCase}(…)\` of the column: index that expression.`;
  }
}
