import { type ClickhouseAddress, messageOf } from "@routewright/runtime/model";
import type { LiveColumn, LiveRelation, ReadRelations, RunQuery } from "./relations.js";

const TIMEOUT_MS = 30_000;

/** ClickHouse shows what the role may read. */
const COLUMNS = `SELECT c.database, c.table, any(t.engine) LIKE '%View' AS view, groupArray((c.name, c.type, c.comment)) AS columns
  FROM (SELECT * FROM system.columns WHERE database IN {databases:Array(String)} ORDER BY position) AS c
  LEFT JOIN system.tables AS t ON t.database = c.database AND t.name = c.table
  GROUP BY c.database, c.table FORMAT JSONCompactEachRow`;

/** A view with parameters has no columns. */
const PARAMETERIZED = `SELECT database, name FROM system.tables
  WHERE database IN {databases:Array(String)} AND engine = 'View' AND match(as_select, '[{]\\\\w+:')
  AND (database, name) NOT IN (SELECT database, table FROM system.columns) FORMAT JSONCompactEachRow`;

type SystemColumn = readonly [
  database: string,
  table: string,
  view: 0 | 1,
  columns: readonly [string, string, string][],
];

/** Explained at a time. */
const CONCURRENT = 4;

/** ACCESS_DENIED */
const DENIED = /^Code: 497\./;

/**
 * Reads relations from ClickHouse's system tables. A column is nullable where its type says so. Whether the role may read what a
 * view reads is known from its plan only.
 */
export function clickhouseRelations(address: ClickhouseAddress): ReadRelations {
  return async (relations) => {
    const names = [...new Set(relations.map(([database]) => database))].map(quoted);
    const databases = { param_databases: `[${names.join(",")}]` };
    const lines = linesOf(await run(address, COLUMNS, databases));
    const parameterized = linesOf(await run(address, PARAMETERIZED, databases));
    const wanted = new Set(relations.map((relation) => relation.join("\0")));
    const found = lines
      .map((line) => liveRelation(JSON.parse(line) as SystemColumn))
      .filter(({ schema, name }) => wanted.has(`${schema}\0${name}`));
    const left = [...found];
    const denied = new Set<LiveRelation>();
    const explainNext = async (): Promise<void> => {
      for (let each; (each = left.pop()) !== undefined;)
        if (!(await isReadable(address, each))) denied.add(each);
    };
    await Promise.all(Array.from({ length: CONCURRENT }, explainNext));
    return [
      ...found.map((relation) => (denied.has(relation) ? unreadable(relation, address.user) : relation)),
      ...parameterized.map((line) => parameterizedView(JSON.parse(line) as readonly [string, string])),
    ];
  };
}

const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

const parameterizedView = ([schema, name]: readonly [string, string]): LiveRelation => ({
  ...{ schema, name, kind: "v", readable: null, columns: null },
  isParameterized: true,
});

function unreadable(relation: LiveRelation, role: string): LiveRelation {
  const name = [relation.schema, relation.name].map(clickhouseIdentifier).join(".");
  const columns = relation.columns?.map((column) => ({ ...column, readable: false })) ?? null;
  const grant = `GRANT SELECT ON ${name} TO ${clickhouseIdentifier(role)};`;
  return { ...relation, readable: false, columns, role, grant };
}

/** A view may fail for another reason, which a request reports. */
async function isReadable(address: ClickhouseAddress, { schema, name }: LiveRelation): Promise<boolean> {
  const relation = [schema, name].map(clickhouseIdentifier).join(".");
  return run(address, `EXPLAIN SELECT * FROM ${relation}`).then(
    () => true,
    (error: unknown) => !DENIED.test(messageOf(error)),
  );
}

function liveRelation([schema, name, view, columns]: SystemColumn): LiveRelation {
  const read = columns.map(([column, type, comment]): LiveColumn => ({
    name: column,
    type,
    notNull: !type.includes("Nullable("),
    readable: true,
    comment,
  }));
  return { schema, name, kind: view === 1 ? "v" : "r", readable: true, columns: read };
}

export function clickhouseIdentifier(name: string): string {
  return `"${name.replace(/[\\"]/g, "\\$&")}"`;
}

/** Runs a statement with the role's own settings. */
export function clickhouseQuery(address: ClickhouseAddress): RunQuery {
  return async (statement) => {
    return linesOf(await run(address, `${statement} FORMAT JSONEachRow`));
  };
}

function quoted(name: string): string {
  return `'${name.replace(/[\\']/g, "\\$&")}'`;
}

async function run(
  { hostname, port, isTls, user, password }: ClickhouseAddress,
  statement: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<string> {
  const query = new URLSearchParams({ readonly: "2", ...parameters });
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  const response = await fetch(`${isTls ? "https" : "http"}://${host}:${String(port)}/?${query.toString()}`, {
    method: "POST",
    body: statement,
    headers: { "X-ClickHouse-User": user, "X-ClickHouse-Key": password },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text.slice(0, 500).trim());
  return text;
}
