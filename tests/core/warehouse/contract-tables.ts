import type { OpenEngine } from "../../../runtime/core/warehouse/base-engine.js";
import { openClickhouse } from "../../../runtime/clickhouse/engine.js";
import { openPostgres } from "../../../runtime/postgres/engine.js";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../../support/clickhouse.js";
import { databaseUrl, ownSchema, query, queryAt } from "../../support/database.js";
import { hasOlderPostgres, startOlderPostgres } from "../../support/older-postgres.js";
import { type MemoryTable, type MemoryTables, openMemory } from "../../support/memory-engine.js";

/** Rows of the table `small`. */
const SMALL: readonly { i: number; label: string | null; day: string | null }[] = [
  { i: 1, label: "plum", day: "2024-01-01" },
  { i: 2, label: 'quo"te', day: "2024-01-02" },
  { i: 3, label: null, day: null },
  { i: 4, label: "Plum, ripe", day: "2024-02-29" },
  { i: 5, label: "zebra", day: "2024-01-02" },
];

/** Rows of the table `many`, of about 400 bytes each: more than is held in memory before it is streamed. */
export const MANY = 10_000;
const LATE = 8_000;
const LABEL = 400;

const values = SMALL.map(
  ({ i, label, day }) => `(${[i, ...[label, day].map((v) => (v === null ? "NULL" : `'${v}'`))].join(", ")})`,
).join(", ");
export const numbers = (count: number) => Array.from({ length: count }, (_, i) => ({ i: i + 1 }));
const integers = { i: "integer" } as const;
const labelled = { i: "integer", label: "text" } as const;
const labels = numbers(MANY).map(({ i }) => ({ i, label: "x".repeat(LABEL) }));

/** Names of the columns of the table `wide`. */
export const wideColumns = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `column_${"x".repeat(45)}_${String(i)}`);

/** What an engine cannot have: each has the contract with these numbers. */
const CANNOT = {
  /** Columns of a table: PostgreSQL has 1,600 at most. */
  columns: { postgres: 1600, others: 2500 },
} as const;

const wideValues = (count: number): string =>
  wideColumns(count)
    .map((name, i) => `${String(i)} AS ${name}`)
    .join(", ");

interface Engine {
  readonly open: OpenEngine;
  readonly url: string;
  readonly schema: string;
  /** Puts another table in the place of `replaced`, whose column is `j`. */
  readonly replace: () => Promise<unknown>;
  /** Columns of the table `wide`. */
  readonly columns: number;
}

const memory = {
  "s.small": { columns: { i: "integer", label: "text", day: "date" }, rows: SMALL },
  "s.empty": { columns: integers, rows: [] },
  "s.thousand": { columns: integers, rows: numbers(1000) },
  "s.many": { columns: labelled, rows: labels },
  "s.late": { columns: labelled, rows: labels, failsAt: LATE },
  "s.slow": { columns: integers, rows: numbers(1), milliseconds: 60_000 },
  "s.cased": {
    columns: { I: "integer", Label: "text", LABEL: "text" },
    rows: [{ I: 1, Label: "a" }, { I: 2 }],
  },
  "s.failing": { columns: integers, rows: numbers(1), failsAt: 0 },
  "s.wide": {
    columns: Object.fromEntries(wideColumns(CANNOT.columns.others).map((name) => [name, "integer" as const])),
    rows: [Object.fromEntries(wideColumns(CANNOT.columns.others).map((name, i) => [name, i]))],
  },
  "s.replaced": { columns: integers, rows: numbers(1) } as MemoryTable,
} satisfies MemoryTables;

const POSTGRES_TABLES = `
  CREATE TABLE @.small (i bigint, label text, day date); INSERT INTO @.small VALUES ${values};
  CREATE TABLE @.empty (i bigint);
  CREATE TABLE @.thousand AS SELECT i FROM generate_series(1::bigint, 1000) i;
  CREATE TABLE @.many AS SELECT i, repeat('x', ${String(LABEL)}) AS label FROM generate_series(1::bigint, ${String(MANY)}) i;
  CREATE VIEW @.late AS SELECT i + 0 / (i - ${String(LATE)}) AS i, label FROM @.many;
  CREATE VIEW @.slow AS SELECT 1::bigint AS i FROM pg_sleep(60);
  CREATE TABLE @.cased ("I" bigint, "Label" text, "LABEL" text); INSERT INTO @.cased VALUES (1, 'a'), (2, NULL);
  CREATE VIEW @.failing AS SELECT label::bigint AS i FROM @.small;
  CREATE TABLE @.replaced AS SELECT 1::bigint AS i;
  CREATE TABLE @.wide AS SELECT ${wideValues(CANNOT.columns.postgres)}`;
const postgres = await ownSchema(POSTGRES_TABLES);
const olderUrl = hasOlderPostgres ? await startOlderPostgres() : "";
if (hasOlderPostgres) await queryAt(olderUrl, `CREATE SCHEMA s; ${POSTGRES_TABLES.replaceAll("@", "s")}`);
const replacing = (schema: string): string =>
  `BEGIN; DROP TABLE "${schema}".replaced; CREATE TABLE "${schema}".replaced AS SELECT 'one' AS j; COMMIT`;

const clickhouseTables = hasClickhouse
  ? await ownDatabase([
      "CREATE TABLE @.small (i Int64, label Nullable(String), day Nullable(Date)) ENGINE = MergeTree ORDER BY i",
      `INSERT INTO @.small VALUES ${values}`,
      "CREATE TABLE @.empty (i Int64) ENGINE = MergeTree ORDER BY i",
      "CREATE TABLE @.thousand ENGINE = MergeTree ORDER BY i AS SELECT toInt64(number + 1) AS i FROM numbers(1000)",
      `CREATE TABLE @.many ENGINE = MergeTree ORDER BY i AS SELECT toInt64(number + 1) AS i, repeat('x', ${String(LABEL)}) AS label FROM numbers(${String(MANY)})`,
      `CREATE VIEW @.late AS SELECT i + throwIf(i = ${String(LATE)}) AS i, label FROM @.many`,
      "CREATE VIEW @.slow AS SELECT toInt64(sleepEachRow(1)) AS i FROM numbers(60) SETTINGS max_block_size = 1",
      "CREATE TABLE @.cased (I Int64, Label Nullable(String), LABEL Nullable(String)) ENGINE = MergeTree ORDER BY I",
      "INSERT INTO @.cased VALUES (1, 'a', NULL), (2, NULL, NULL)",
      "CREATE VIEW @.failing AS SELECT CAST(label AS Int64) AS i FROM @.small",
      "CREATE TABLE @.replaced ENGINE = MergeTree ORDER BY i AS SELECT toInt64(1) AS i",
      `CREATE TABLE @.wide ENGINE = MergeTree ORDER BY tuple() SETTINGS min_bytes_for_wide_part = 1000000000 AS SELECT ${wideValues(CANNOT.columns.others)} SETTINGS max_query_size = 1000000`,
      "CREATE TABLE @.next ENGINE = MergeTree ORDER BY j AS SELECT 'one' AS j",
    ])
  : "";

/** The engines that the contract holds for. */
export const engines: Readonly<Record<string, Engine>> = {
  PostgreSQL: {
    open: openPostgres,
    url: databaseUrl,
    schema: postgres,
    columns: CANNOT.columns.postgres,
    replace: () => query(replacing(postgres)),
  },
  ...(hasOlderPostgres && {
    "PostgreSQL 15": {
      open: openPostgres,
      url: olderUrl,
      schema: "s",
      columns: CANNOT.columns.postgres,
      replace: () => queryAt(olderUrl, replacing("s")),
    },
  }),
  ...(hasClickhouse && {
    ClickHouse: {
      open: openClickhouse,
      url: clickhouseUrl(),
      schema: clickhouseTables,
      columns: CANNOT.columns.others,
      replace: () => clickhouse(`EXCHANGE TABLES ${clickhouseTables}.replaced AND ${clickhouseTables}.next`),
    },
  }),
  "a table in memory": {
    open: openMemory(memory),
    url: "memory://",
    schema: "s",
    columns: CANNOT.columns.others,
    replace: () => {
      memory["s.replaced"] = { columns: { j: "text" }, rows: [{ j: "one" }] };
      return Promise.resolve();
    },
  },
};
