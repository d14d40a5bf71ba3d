import { byEngine, ownTables } from "./engines.js";
import { manifestOf, type TestModel } from "./manifest.js";

/** Names that every object of JavaScript has. */
export const PROTOTYPE_NAMES = [
  "constructor",
  "hasOwnProperty",
  "toString",
  "valueOf",
  "__proto__",
  "isPrototypeOf",
] as const;

/** The path of a model of rows with that name; categories and granularities are in lower case. */
export const rowsPath = (name: string): string => `/v1/${name.toLowerCase()}/${name}/${name.toLowerCase()}`;

const each = (value: (name: string) => unknown): Record<string, never> =>
  Object.fromEntries(PROTOTYPE_NAMES.map((name) => [name, value(name)])) as Record<string, never>;

const { text, number } = byEngine({
  postgres: { text: "text", number: "bigint" },
  clickhouse: { text: "String", number: "Int64" },
});

/** Two rows: the text of a column is `<its name> 1` or `<its name> 2`. */
async function tables(): Promise<string> {
  const of = (i: number): string =>
    PROTOTYPE_NAMES.map((name) => `'${name} ${String(i)}' AS "${name}"`).join(", ");
  const [one, two] = byEngine({
    postgres: ["1::bigint", "2::bigint"],
    clickhouse: ["toInt64(1)", "toInt64(2)"],
  });
  const rows = `SELECT ${of(1)}, ${one} AS n UNION ALL SELECT ${of(2)}, ${two} AS n`;
  return ownTables({
    postgres: PROTOTYPE_NAMES.map((name) => `CREATE TABLE @."${name}" AS SELECT * FROM (${rows}) AS r;`).join(
      "",
    ),
    clickhouse: PROTOTYPE_NAMES.map(
      (name) => `CREATE TABLE @."${name}" ENGINE = MergeTree ORDER BY n AS ${rows}`,
    ),
  });
}

function rowsModel(name: string, schema: string, columns: NonNullable<TestModel["columns"]>): TestModel {
  return {
    name,
    schema,
    columns,
    tags: ["production", name, `api:${name}`, `granularity:${name}`],
    description: `Rows of \`${name}\`.`,
    api: {
      methods: ["GET", "POST"],
      allow_unfiltered: true,
      parameters: PROTOTYPE_NAMES.map((column) => ({ name: column, column, operator: "=", type: "string" })),
      sort: [{ column: name, direction: "ASC" }],
      sortable_fields: [...PROTOTYPE_NAMES],
      pagination: { enabled: true, default_limit: 10, max_limit: 10 },
    },
    routewright: { filters: [...PROTOTYPE_NAMES], fields: true, synonyms: [...PROTOTYPE_NAMES] },
  };
}

interface Node {
  readonly config: { meta: object };
  meta?: object;
  readonly columns: Readonly<Record<string, { meta?: object; config?: object }>>;
}

/** Models with those names as model, category, resource, granularity, column, parameter, filter, group, measure and key of `meta`. */
export async function prototypeNames(): Promise<unknown> {
  const schema = await tables();
  const columns = { ...each(() => text), n: number };
  const manifest = manifestOf([
    ...PROTOTYPE_NAMES.map((name) => rowsModel(name, schema, columns)),
    {
      name: "groups",
      alias: "constructor",
      schema,
      columns,
      description: "Groups.",
      routewright: {
        filters: [...PROTOTYPE_NAMES],
        aggregate: { group_by: [...PROTOTYPE_NAMES], measures: { volume: { agg: "sum", column: "n" } } },
      },
    },
    {
      name: "measures",
      alias: "constructor",
      schema,
      columns,
      description: "Measures.",
      routewright: {
        aggregate: {
          group_by: ["n"],
          measures: each((name) => ({ agg: "sum", column: "n", label: name })),
          rows: false,
        },
      },
    },
  ]) as { nodes: Record<string, Node> };
  for (const node of Object.values(manifest.nodes)) {
    node.config.meta = { ...each((name) => ({ [name]: name })), ...node.config.meta };
    for (const column of Object.values(node.columns)) column.meta = each((name) => name);
  }
  return manifest;
}
