import { operatorsOf } from "../../runtime/core/model/column-operators.js";
import { postgresType } from "../../runtime/core/model/database-types.js";
import { manifestOf } from "../support/manifest.js";

/** By column: its type, and values that a request can send. */
const COLUMNS: Readonly<Record<string, readonly [type: string, value: string, ...more: string[]]>> = {
  label: ["text", "b", "a"],
  short: ["varchar(10)", "b", "a"],
  padded: ["char(4)", "b"],
  folded: ["ext.citext", "B", "a"],
  small: ["int2", "2", "1"],
  number: ["int4", "2", "1"],
  wide: ["int8", "2", "1"],
  amount: ["numeric(10,2)", "2.00", "1"],
  ratio: ["float8", "0.5", "1.5"],
  price: ["money", "2.00", "1.00"],
  flag: ["boolean", "true", "false"],
  code: ["uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
  day: ["date", "2026-01-02", "2026-01-01"],
  at: ["timestamptz", "2026-01-02T00:00:00Z", "2026-01-01T12:00:00+02:00"],
  local: ["timestamp", "2026-01-02T00:00:00Z", "2026-01-01T12:00:00+02:00"],
  clock: ["time", "12:30:00"],
  zoned: ["timetz", "12:30:00+00"],
  lasting: ["interval", "1 day 02:00:00", "1 mon"],
  raw: ["bytea", "\\x0102"],
  host: ["inet", "10.0.0.1"],
  net: ["cidr", "10.0.0.0/24"],
  mac: ["macaddr", "08:00:2b:01:02:03"],
  bits: ["bit(4)", "0101"],
  span: ["int4range", "[1,5)"],
  spans: ["int4multirange", "{[1,5)}"],
  during: ["tstzrange", '["2026-01-01 00:00:00+00","2026-01-02 00:00:00+00")'],
  mood: ["app.mood", "ok", "sad", "none"],
  feeling: ["app.feeling", "ok", "sad"],
  branch: ["ext.ltree", "top.b"],
  doc: ["jsonb", '{"a": 1}'],
  list: ["int4[]", "{1,2}"],
  times: ["timestamptz[]", "{}"],
  pair: ["app.pair", "(1,x)"],
  shape: ["point", "(1,2)"],
};

const names = Object.keys(COLUMNS);
const valueOf = (name: string, at: number): string => {
  const [type = "text", ...values] = COLUMNS[name] ?? [];
  return `'${values[at % values.length] === "none" ? "sad" : (values[at % values.length] ?? "")}'::${type}`;
};
const row = (id: number): string =>
  `(${[String(id), "'acme'", ...names.map((name) => (id % 5 === 4 ? "NULL" : valueOf(name, id)))].join(", ")})`;

export const SETUP = `
  CREATE SCHEMA ext; CREATE EXTENSION citext SCHEMA ext; CREATE EXTENSION ltree SCHEMA ext; CREATE SCHEMA app;
  CREATE TYPE app.mood AS ENUM ('sad', 'ok', 'unused'); CREATE DOMAIN app.feeling AS app.mood;
  CREATE TYPE app.pair AS (n int, at text);
  CREATE TABLE app.rows (id int PRIMARY KEY, org_id text, ${names.map((name) => `${name} ${COLUMNS[name]?.[0] ?? ""}`).join(", ")});
  INSERT INTO app.rows VALUES ${Array.from({ length: 12 }, (_, id) => row(id)).join(", ")};
  INSERT INTO app.rows (id, org_id, label) VALUES (100, 'globex', 'secret'), (101, NULL, 'secret');
  CREATE INDEX ON app.rows (label); ANALYZE;`;

const kindOf = (name: string): string => {
  const [type = ""] = COLUMNS[name] ?? [];
  return type
    .replace(/^(ext|app)\./, "")
    .replace(/\(.*/, "")
    .replace("char", "bpchar")
    .replace("varbpchar", "varchar");
};
const declaredOf = (name: string): string => (COLUMNS[name]?.[0] ?? "text").replace(/^(ext|app)\./, "");
const filtered = names.filter(
  (name) => postgresType(kindOf(name)).text !== "none" && !/\[\]$|pair|point/.test(declaredOf(name)),
);
const OPERATORLESS = new Set(["mood", "feeling", "doc"]);
const patterned = filtered.filter((name) => !["doc", "mood", "feeling"].includes(name));
const days = ["day", "at", "local", "label"];

const parameters = [
  ...filtered.flatMap((name) => [
    { name: `is_${name}`, column: name, operator: "=", type: "string" },
    { name: `any_${name}`, column: name, operator: "IN", type: "string_list" },
  ]),
  ...patterned.flatMap((name) => [
    { name: `like_${name}`, column: name, operator: "ILIKE", type: "string" },
    { name: `upper_${name}`, column: name, operator: "=", type: "string", case: "upper" },
    { name: `lower_${name}`, column: name, operator: "IN", type: "string_list", case: "lower" },
  ]),
  ...days.flatMap((name) => [
    { name: `from_${name}`, column: name, operator: ">=", type: "date" },
    { name: `to_${name}`, column: name, operator: "<=", type: "date" },
  ]),
];

const sortable = names.filter((name) => !/^(doc|list|times|pair|shape)$/.test(name));
const model = (name: string, more: object = {}) => ({
  ...{ name, alias: "rows", schema: "app", key: "id" },
  columns: {
    id: "int",
    org_id: "text",
    ...Object.fromEntries(names.map((each) => [each, declaredOf(each)])),
  },
  api: {
    allow_unfiltered: true,
    methods: ["GET", "POST"],
    pagination: { enabled: true, default_limit: 3, max_limit: 100, response: "envelope" },
    sort: [{ column: "id", direction: "ASC" }],
    sortable_fields: sortable,
    parameters,
  },
  routewright: {
    cursor: true,
    fields: true,
    filters: filtered.filter((each) => !OPERATORLESS.has(each)),
    rows: { column: "org_id", equals: "org" },
    ...more,
  },
});

export const MODELS = manifestOf([model("rows"), model("zoned", { timezone: "Europe/Vienna" })]);

const encoded = (value: string): string => encodeURIComponent(value);
const filters = filtered.flatMap((name) => {
  const [, ...values] = COLUMNS[name] ?? [];
  const [first = ""] = values;
  const operators = operatorsOf(postgresType(kindOf(name)).value).filter(
    (each) => each !== "null" && each !== "in",
  );
  const ofParameters = [
    `is_${name}=${encoded(first)}`,
    // A list in a query string is cut at its commas.
    ...values.filter((value) => !value.includes(",")).map((value) => `any_${name}=${encoded(value)}`),
  ];
  if (OPERATORLESS.has(name)) return ofParameters;
  return [
    ...ofParameters,
    `${name}[null]=true`,
    `${name}[null]=false`,
    ...operators.map((operator) => `${name}[${operator}]=${encoded(first)}`),
  ];
});
const patterns = patterned.flatMap((name) => {
  const first = COLUMNS[name]?.[1] ?? "";
  const folding = first.includes(",") ? [] : [`lower_${name}`];
  return [`like_${name}`, `upper_${name}`, ...folding].map((parameter) => `${parameter}=${encoded(first)}`);
});
const ranges = days.flatMap((name) => [`from_${name}=2026-01-01`, `to_${name}=2026-01-01`]);
const queries = [...filters, ...patterns, ...ranges];

/** Requests whose answers must not depend on the path. */
export const ROWS: readonly string[] = [
  "/v1/shop/rows?limit=100",
  "/v1/shop/rows.csv?limit=100",
  "/v1/shop/rows.ndjson?limit=100",
  "/v1/shop/rows.arrows?limit=100",
  "/v1/shop/rows.parquet?limit=100",
  ...queries.map((query) => `/v1/shop/rows?fields=id&${query}`),
  ...[...filters, ...ranges]
    .filter((query) => query.includes("local"))
    .map((query) => `/v1/shop/zoned?fields=id,local&${query}`),
  ...sortable.flatMap((name) =>
    ["ASC", "DESC"].map(
      (direction) => `/v1/shop/rows?fields=id&sort_by=${name}&sort_direction=${direction}&cursor=`,
    ),
  ),
];
