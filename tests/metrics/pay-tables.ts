import { readFileSync } from "node:fs";
import { ownDatabase as ownClickhouseDatabase } from "../support/clickhouse.js";
import { ownDatabase, query, queryAt } from "../support/database.js";

/** A file of the project pay. */
export const inPay = (file: string): string => readFileSync(new URL(`pay/${file}`, import.meta.url), "utf8");

/**
 * The project's manifest, in which of its metrics and saved queries only these have paths. Writing and loading all 77 takes
 * seconds of a processor; the others stay, as parts of these.
 */
export function payServing(text: string, names: readonly string[]): unknown {
  const manifest = JSON.parse(text) as Pay;
  const metrics = Object.entries(manifest.metrics).map(([id, metric]) =>
    names.includes(metric.name)
      ? [id, metric]
      : [id, { ...metric, tags: [], config: { ...metric.config, tags: [] } }],
  );
  const queries = Object.entries(manifest.saved_queries).filter(([, { name }]) => names.includes(name));
  const known = new Set(namedIn(manifest).map(({ name }) => name));
  const missing = names.filter((name) => !known.has(name));
  if (missing.length > 0) throw new Error(`The project has no metric ${missing.join(", ")}.`);
  return {
    ...manifest,
    metrics: Object.fromEntries(metrics) as object,
    saved_queries: Object.fromEntries(queries) as object,
  };
}

/** Names of the metrics and saved queries that have these paths. */
export function payNames(text: string, paths: readonly string[]): readonly string[] {
  const tags = new Set(paths.map((path) => `api:${path.replace(/.*\//, "")}`));
  return namedIn(JSON.parse(text) as Pay)
    .filter(({ config }) => config.tags.some((tag) => tags.has(tag)))
    .map(({ name }) => name);
}

const namedIn = ({ metrics, saved_queries: queries }: Pay): readonly Named[] => [
  ...Object.values(metrics),
  ...Object.values(queries),
];

interface Pay {
  readonly metrics: Readonly<Record<string, Named>>;
  readonly saved_queries: Readonly<Record<string, Named>>;
}

interface Named {
  readonly name: string;
  readonly config: { readonly tags: readonly string[] };
}

/** The tables of pay in a database of its own, whose sessions have a time zone. */
export async function payDatabase(zone: string): Promise<string> {
  const database = await ownDatabase();
  await queryAt(database, inPay("setup.sql"));
  await query(`ALTER DATABASE ${new URL(database).pathname.slice(1)} SET timezone TO '${zone}'`);
  return database;
}

const TYPES: readonly (readonly [RegExp, string])[] = [
  [/^timestamp with.*/, "Nullable(DateTime64(6, 'UTC'))"],
  [/^timestamp.*/, "Nullable(DateTime64(6, 'UTC'))"],
  [/^date$/, "Nullable(Date32)"],
  [/^bigint$/, "Nullable(Int64)"],
  [/^integer$/, "Nullable(Int32)"],
  [/^double precision$/, "Nullable(Float64)"],
  [/^boolean$/, "Nullable(Bool)"],
  [/^numeric\((.*)\)$/, "Nullable(Decimal($1))"],
  [/^character varying.*/, "LowCardinality(Nullable(String))"],
  [/^numeric$/, "Nullable(Decimal(38, 10))"],
  [/^text$/, "Nullable(String)"],
];

/** The type of ClickHouse that holds what a column of PostgreSQL holds. */
export function clickhouseType(type: string): string {
  const [pattern, name] = TYPES.find(([each]) => each.test(type)) ?? [];
  if (pattern === undefined || name === undefined) throw new Error(`No type of ClickHouse for ${type}.`);
  return type.replace(pattern, name);
}

/** The same tables in a database of ClickHouse. */
export function payClickhouse(): Promise<string> {
  const statements = inPay("setup.sql")
    .replace(/^--.*$/gm, "")
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => /^(CREATE TABLE|INSERT)/.test(statement));
  return ownClickhouseDatabase(statements.map(clickhouseStatement));
}

function clickhouseStatement(statement: string): string {
  const named = statement.replaceAll(/\banalytics\./g, "@.");
  if (statement.startsWith("INSERT")) return named.replaceAll(/(\d\d:\d\d:\d\d(?:\.\d+)?)\+00'/g, "$1'");
  const columns = named.replaceAll(
    /^ {2}"(\w+)" ([^\n]*?)(,?)$/gm,
    (_, name: string, type: string, comma: string) => `  "${name}" ${clickhouseType(type)}${comma}`,
  );
  return `${columns} ENGINE = MergeTree ORDER BY tuple()`;
}
