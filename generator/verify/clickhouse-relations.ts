import type { ClickhouseAddress } from "@routewright/runtime/model";
import type { LiveColumn, LiveRelation, ReadRelations } from "./relations.js";

const TIMEOUT_MS = 30_000;

/** ClickHouse shows what the role may read. */
const COLUMNS = `SELECT c.database, c.table, any(t.engine) LIKE '%View' AS view, groupArray((c.name, c.type)) AS columns
  FROM (SELECT * FROM system.columns WHERE database IN {databases:Array(String)} ORDER BY position) AS c
  LEFT JOIN system.tables AS t ON t.database = c.database AND t.name = c.table
  GROUP BY c.database, c.table FORMAT JSONCompactEachRow`;

type Row = readonly [database: string, table: string, view: 0 | 1, columns: readonly [string, string][]];

/** Reads relations from ClickHouse's system tables. A column is nullable where its type says so. */
export function clickhouseRelations(address: ClickhouseAddress): ReadRelations {
  return async (relations) => {
    const databases = [...new Set(relations.map(([database]) => database))];
    const text = await queryColumns(address, databases);
    const rows = text.split("\n").filter((line) => line !== "");
    return rows.map((line) => liveRelation(JSON.parse(line) as Row));
  };
}

function liveRelation([schema, name, view, columns]: Row): LiveRelation {
  const read = columns.map(([column, type]): LiveColumn => ({
    name: column,
    type,
    notNull: !type.includes("Nullable("),
    readable: true,
  }));
  return { schema, name, kind: view === 1 ? "v" : "r", readable: true, columns: read };
}

async function queryColumns(
  { hosts: [{ hostname, port }], isTls, user, password }: ClickhouseAddress,
  databases: readonly string[],
): Promise<string> {
  const names = databases.map((name) => `'${name.replace(/[\\']/g, "\\$&")}'`).join(",");
  const query = new URLSearchParams({ param_databases: `[${names}]` });
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  const response = await fetch(`${isTls ? "https" : "http"}://${host}:${String(port)}/?${query.toString()}`, {
    method: "POST",
    body: COLUMNS,
    headers: { "X-ClickHouse-User": user, "X-ClickHouse-Key": password },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text.slice(0, 500).trim());
  return text;
}
