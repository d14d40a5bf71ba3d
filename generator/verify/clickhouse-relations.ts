import { type ClickhouseAddress, messageOf } from "@routewright/runtime/model";
import type { LiveColumn, LiveRelation, ReadRelations, RunQuery, SqlNames } from "./relations.js";

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

/** `… necessary to have the grant SELECT(id, label) ON shop.orders`: names that are no words are quoted. */
const NEEDED = /the grant SELECT(?:\(.*?\))? ON ((?:`(?:[^`\\]|\\.)+`|\w+)\.(?:`(?:[^`\\]|\\.)+`|\w+))/s;

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
    /** By relation, what the role may not read. */
    const denied = new Map<LiveRelation, string>();
    const explainNext = async (): Promise<void> => {
      for (let each; (each = left.pop()) !== undefined;) {
        const refused = await refusedRelation(address, each);
        if (refused !== null) denied.set(each, refused);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT }, explainNext));
    return [
      ...found.map((relation) => {
        const refused = denied.get(relation);
        return refused === undefined ? relation : unreadable(relation, refused, address.user);
      }),
      ...parameterized.map((line) => parameterizedView(JSON.parse(line) as readonly [string, string])),
    ];
  };
}

const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

const parameterizedView = ([schema, name]: readonly [string, string]): LiveRelation => ({
  ...{ schema, name, kind: "v", readable: null, columns: null },
  isParameterized: true,
});

function unreadable(relation: LiveRelation, refused: string, role: string): LiveRelation {
  const columns = relation.columns?.map((column) => ({ ...column, readable: false })) ?? null;
  const grant = `GRANT SELECT ON ${refused} TO ${clickhouseIdentifier(role)};`;
  return { ...relation, readable: false, columns, role, grant };
}

/**
 * What the role may not read where it reads a relation: the relation itself, or what a view reads, as ClickHouse names it. Null
 * where it may; a view may fail for another reason, which a request reports.
 */
async function refusedRelation(
  address: ClickhouseAddress,
  { schema, name }: LiveRelation,
): Promise<string | null> {
  const relation = [schema, name].map(clickhouseIdentifier).join(".");
  try {
    await run(address, `EXPLAIN SELECT * FROM ${relation}`);
    return null;
  } catch (error) {
    const message = messageOf(error);
    return DENIED.test(message) ? (NEEDED.exec(message)?.[1] ?? relation) : null;
  }
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

export const CLICKHOUSE_NAMES: SqlNames = { quote: clickhouseIdentifier, own: "", above: ">" };

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
