import { describe, expect, it } from "vitest";
import {
  clickhouse,
  clickhouseUrl,
  hasClickhouse,
  ownClickhouse,
  ownDatabase,
} from "../support/clickhouse.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

/** As the role's own client has it; the settings with which rows are written make it `1970-01-01T00:00:00Z`. */
const EPOCH = '["1970-01-01 00:00:00"]';
const EXPRESSION = "toJSONString(tuple(toDateTime(0, 'UTC')))";

/** Tables whose reading evaluates an expression, and a condition on one that reads the text of a time. */
const EVALUATED = {
  aliased: [
    "CREATE TABLE @.aliased (id UInt64, text String ALIAS @e) ORDER BY id",
    "INSERT INTO @.aliased VALUES (1)",
  ],
  added: [
    "CREATE TABLE @.added (id UInt64) ORDER BY id",
    "INSERT INTO @.added VALUES (1)",
    "ALTER TABLE @.added ADD COLUMN text String DEFAULT @e",
  ],
  viewed: ["CREATE VIEW @.viewed AS SELECT toUInt64(1) AS id, @e AS text"],
} as const;

const database = await ownDatabase([
  ...Object.values(EVALUATED).flatMap((statements) =>
    statements.map((each) => each.replace("@e", EXPRESSION)),
  ),
  "CREATE TABLE @.plain (id UInt64, at DateTime('UTC'), day Date, text String) PARTITION BY toYYYYMM(day) ORDER BY (day, id)",
  "INSERT INTO @.plain SELECT 1, '2024-01-01 02:03:04', '2024-01-01', 'a'",
  "CREATE TABLE @.grouped (id UInt64, at DateTime('UTC'), day Date, text String) ORDER BY id",
  "INSERT INTO @.grouped SELECT number, number, '2024-01-01', concat('t', toString(number % 2)) FROM numbers(5)",
  "CREATE TABLE @.keyed (id UInt64, at DateTime('UTC')) PARTITION BY length(toString(at)) ORDER BY id",
  "INSERT INTO @.keyed SELECT 1, '2024-01-01 02:03:04'",
]);

const COLUMNS = { at: "DateTime('UTC')", day: "Date", id: "UInt64", text: "String" } as const;

function modelOf(schema: string, name: string, columns: readonly (keyof typeof COLUMNS)[]) {
  const parameters = columns.map((column) =>
    column === "at"
      ? { name: column, column, operator: "ILIKE" as const, type: "string" as const }
      : { name: column, column, operator: "=" as const, type: "string" as const },
  );
  return {
    name,
    schema,
    tags: ["production", "stored", `api:${name}`],
    columns: Object.fromEntries(columns.map((column) => [column, COLUMNS[column]])),
    api: { allow_unfiltered: true, parameters },
  };
}

const manifest = manifestOf(
  [
    ...Object.keys(EVALUATED).map((name) => modelOf(database, name, ["id", "text"])),
    modelOf(database, "plain", ["id", "at", "day", "text"]),
    modelOf(database, "keyed", ["id", "at"]),
    {
      ...modelOf(database, "grouped", ["id", "at", "day", "text"]),
      routewright: {
        aggregate: {
          group_by: ["text", { column: "day", grains: ["month"] }],
          // Named like a column of the table that no statement reads.
          measures: { at: { agg: "sum", column: "id" }, rows: { agg: "count" } },
        },
      },
    },
  ],
  { adapter_type: "clickhouse" },
);

describe.skipIf(!hasClickhouse)("the rows of a relation", () => {
  const rowsOf = async (url: string, path: string): Promise<unknown> =>
    JSON.parse((await sendRequest(url, `/v1/stored/${path}`, { key: KEYS.tier3 })).text);
  const statementsOn = async (name: string): Promise<string> => {
    await clickhouse("SYSTEM FLUSH LOGS");
    return clickhouse(`SELECT DISTINCT replaceAll(query, '"', '') AS text FROM system.query_log
      WHERE type = 'QueryFinish' AND user = 'api' AND text LIKE '%FROM ${database}.${name} WHERE%' FORMAT TSVRaw`);
  };

  it.each(Object.keys(EVALUATED))(
    "are those of the role's own client where %s columns are computed",
    async (name) => {
      const url = await serveManifest(manifest, { DATABASE_URL: clickhouseUrl() });
      expect(await rowsOf(url, `${name}?id=1`)).toEqual([{ id: 1, text: EPOCH }]);
      expect(await statementsOn(name)).toContain(" SETTINGS ");
    },
  );

  it("come without a subquery where the table has stored them as they are", async () => {
    const url = await serveManifest(manifest, { DATABASE_URL: clickhouseUrl() });
    const row = { id: 1, at: "2024-01-01T02:03:04Z", day: "2024-01-01", text: "a" };
    expect(await rowsOf(url, "plain?id=1")).toEqual([row]);
    expect(await statementsOn("plain")).toMatch(
      /^SELECT id, at, day, text FROM test_\w+\.plain WHERE id = \S+ 'UInt64'\) WINDOW types AS \(.*\) FORMAT JSONEachRow$/m,
    );
  });

  it("are grouped and sorted without a subquery", async () => {
    const url = await serveManifest(manifest, { DATABASE_URL: clickhouseUrl() });
    const [even, odd] = [
      { text: "t0", at: 6, rows: 3 },
      { text: "t1", at: 4, rows: 2 },
    ];
    const path = "grouped?group_by=text,day__month&measures=at,rows&day=2024-01-01";
    const months = (...rows: readonly object[]) => rows.map((row) => ({ ...row, day__month: "2024-01-01" }));
    expect(await rowsOf(url, path)).toEqual(months(even, odd));
    expect(await rowsOf(url, `${path}&sort_by=at`)).toEqual(months(odd, even));
    expect(await rowsOf(url, `${path}&sort_by=rows&sort_direction=DESC`)).toEqual(months(even, odd));
    expect(await rowsOf(url, `${path}&limit=1&offset=1&sort_by=at`)).toEqual(months(even));
    const statements = await statementsOn("grouped AS s");
    expect(statements).toContain(" ORDER BY s.text ASC, toDate32(");
    expect(statements).not.toContain("FROM (SELECT");
  });

  it("are found by the text of a time that the response shows", async () => {
    const url = await serveManifest(manifest, { DATABASE_URL: clickhouseUrl() });
    expect(await rowsOf(url, "plain?at=2024-01-01T02%25")).toHaveLength(1);
  });

  it("are all found where a partition is named by a text that a setting changes", async () => {
    const url = await serveManifest(manifest, { DATABASE_URL: clickhouseUrl() });
    expect(await rowsOf(url, "keyed?id=1")).toHaveLength(1);
    expect(await statementsOn("keyed")).toContain(" SETTINGS ");
  });

  it("are those that a row policy lets the role see", async () => {
    const server = await ownClickhouse();
    for (const statement of [
      "CREATE DATABASE policed",
      "CREATE TABLE policed.times (id UInt64, at DateTime('UTC')) ORDER BY id",
      "INSERT INTO policed.times SELECT number, number FROM numbers(4)",
    ])
      await server.query(statement);
    const policed = manifestOf([modelOf("policed", "times", ["id", "at"])], { adapter_type: "clickhouse" });
    // Its policy: `toString(at) < '1970-01-01 00:00:02'`, which a time in RFC 3339 never is.
    const url = await serveManifest(policed, { DATABASE_URL: server.url("default", "policed:secret") });
    expect(await rowsOf(url, "times")).toMatchObject([{ id: 0 }, { id: 1 }]);
  });
});
