import { describe, expect, it } from "vitest";
import { clickhouse, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { serve } from "../support/command.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, ownInstallation } from "../support/service.js";
import { roleOf } from "./role.js";

const key = KEYS.tier3;
const CALLERS = 4;
/** Requests of each caller before the next change. */
const BETWEEN = 2;

const label = Array.from({ length: 9 }, (_, i) => `'${String(i + 1)}' = ${String(i + 1)}`).join(", ");

/** Types of a column whose values are 1 to 9: each answer is the same, whatever the type is. */
const TYPES = [
  "UInt8",
  "UInt32",
  "Int64",
  "Int256",
  "Nullable(Int32)",
  "Decimal(9, 2)",
  "Decimal(38, 10)",
  "Float64",
  "String",
  "LowCardinality(String)",
  "FixedString(1)",
  "Nullable(String)",
  `Enum8(${label})`,
  `Enum16(${label}, 'z' = 300)`,
];

const quoted = (type: string): string => type.replaceAll("'", "\\'");
/** `more`: columns that no request names. */
const select = (type: string, more = ""): string =>
  `SELECT toInt32(number + 1) AS id, CAST(toString(number + 1), '${quoted(type)}') AS v${more} FROM numbers(9)`;
const table = (name: string, type: string, more = ""): string =>
  `TABLE @.${name} ORDER BY id AS ${select(type, more)}`;

/** Begins what are new settings of the role instead of a statement. */
const ROLE = "role ";

/** What replaces or alters the relation `moved`, a table before each of them; `$` stands for a type. */
const CHANGES: Readonly<Record<string, (type: string) => readonly string[]>> = {
  exchange: (type) => [
    `CREATE ${table("next", type)}`,
    "EXCHANGE TABLES @.moved AND @.next",
    "DROP TABLE @.next SYNC",
  ],
  "rename away and here": (type) => [
    `CREATE ${table("next", type)}`,
    "RENAME TABLE @.moved TO @.old, @.next TO @.moved",
    "DROP TABLE @.old SYNC",
  ],
  "create or replace": (type) => [`CREATE OR REPLACE ${table("moved", type)}`],
  // Requests wait for a missing relation, but not longer than 2 s.
  "drop and create": (type) => [`DROP TABLE @.moved SYNC; CREATE ${table("moved", type)}`],
  "a view for a table": (type) => [
    `CREATE ${table("base", type)}`,
    "CREATE VIEW @.next AS SELECT * FROM @.base",
    "EXCHANGE TABLES @.moved AND @.next",
    "DROP TABLE @.next SYNC",
    // Then the view itself, the table under it, and a table again.
    `CREATE OR REPLACE VIEW @.moved AS ${select("Int16")}`,
    "CREATE OR REPLACE VIEW @.moved AS SELECT * FROM @.base",
    `CREATE OR REPLACE ${table("base", "UInt16")}`,
    `CREATE ${table("next", type)}`,
    "EXCHANGE TABLES @.moved AND @.next",
    "DROP TABLE @.next SYNC",
    "DROP TABLE @.base SYNC",
  ],
  "modify column": () => [
    `CREATE OR REPLACE ${table("moved", "UInt8")}`,
    ...["UInt16", "Int32", "Decimal(18, 4)", "Nullable(Float64)", "Nullable(String)"].map(
      (type) => `ALTER TABLE @.moved MODIFY COLUMN v ${type} SETTINGS mutations_sync = 2`,
    ),
  ],
  "modify an enum": () => [
    `CREATE OR REPLACE ${table("moved", `Enum8(${label})`)}`,
    `ALTER TABLE @.moved MODIFY COLUMN v Enum8(${label}, 'y' = 10)`,
    `ALTER TABLE @.moved MODIFY COLUMN v Enum16(${label}, 'y' = 10, 'z' = 300)`,
    "ALTER TABLE @.moved MODIFY COLUMN v String SETTINGS mutations_sync = 2",
  ],
  "other columns": (type) => [
    `CREATE OR REPLACE ${table("moved", type)}`,
    "ALTER TABLE @.moved ADD COLUMN w String DEFAULT 'w'",
    "ALTER TABLE @.moved MODIFY COLUMN w LowCardinality(String) SETTINGS mutations_sync = 2",
    "ALTER TABLE @.moved RENAME COLUMN w TO x",
    "ALTER TABLE @.moved COMMENT COLUMN v 'a value'",
    "ALTER TABLE @.moved DROP COLUMN x SETTINGS mutations_sync = 2",
    "ALTER TABLE @.moved ADD COLUMN a Int32 ALIAS id + 1 FIRST",
    "ALTER TABLE @.moved DROP COLUMN a",
    "ALTER TABLE @.moved MODIFY SETTING index_granularity = 8192",
  ],
  engine: (type) => [
    `CREATE TABLE @.next ENGINE = Memory AS ${select(type)}`,
    "EXCHANGE TABLES @.moved AND @.next",
    "DROP TABLE @.next SYNC",
    `CREATE TABLE @.next ENGINE = Log AS ${select(type)}`,
    "EXCHANGE TABLES @.moved AND @.next",
    "DROP TABLE @.next SYNC",
    `CREATE ${table("next", type)}`,
    "EXCHANGE TABLES @.moved AND @.next",
    "DROP TABLE @.next SYNC",
  ],
  partitions: (type) => [
    `CREATE TABLE @.next PARTITION BY id ORDER BY id AS ${select(type)}`,
    "EXCHANGE TABLES @.moved AND @.next",
    "ALTER TABLE @.moved DROP DETACHED PARTITION ALL SETTINGS allow_drop_detached = 1",
    "OPTIMIZE TABLE @.moved FINAL",
    `CREATE OR REPLACE TABLE @.next PARTITION BY id ORDER BY id AS ${select(type)}`,
    "ALTER TABLE @.moved REPLACE PARTITION 3 FROM @.next",
    `CREATE OR REPLACE ${table("next", type)}`,
    "EXCHANGE TABLES @.moved AND @.next",
    "DROP TABLE @.next SYNC",
  ],
  "detach and attach": () => ["DETACH TABLE @.moved SYNC; ATTACH TABLE @.moved"],
  "settings of the role": () => [
    ROLE + JSON.stringify({ session_timezone: "Asia/Kolkata", output_format_json_quote_64bit_integers: "1" }),
    ROLE + JSON.stringify({ output_format_json_quote_decimals: "1", date_time_output_format: "iso" }),
    ROLE +
      JSON.stringify({ join_use_nulls: "1", transform_null_in: "1", max_threads: "1", max_block_size: "2" }),
    ROLE + JSON.stringify({ cast_keep_nullable: "1", format_csv_delimiter: "|", extremes: "1" }),
    ROLE + JSON.stringify({}),
  ],
};

let profile: Readonly<Record<string, string>> = {};

async function run(statement: string): Promise<void> {
  if (!statement.startsWith(ROLE)) await clickhouse(statement);
  else profile = JSON.parse(statement.slice(ROLE.length)) as typeof profile;
}

/** What callers ask, and the ids of the answer. */
const ASKED: readonly (readonly [target: string, ids: string])[] = [
  ["?", "1 2 3 4 5 6 7 8 9"],
  ["?v[eq]=5", "5"],
  ["?fields=id&v[eq]=7", "7"],
  ["?fields=id&v[ne]=4", "1 2 3 5 6 7 8 9"],
  ["?sort_by=v&sort_direction=DESC&limit=3", "9 8 7"],
  ["?fields=id&sort_by=v&sort_direction=ASC&limit=2&offset=1", "2 3"],
  [".ndjson?id[gte]=6&v[eq]=8", "8"],
  [".csv?fields=id&v[eq]=3", "3"],
];

const database = await ownDatabase([`CREATE ${table("moved", "UInt8")}`]);
const installation = ownInstallation(
  manifestOf(
    [
      {
        name: "moved",
        schema: database,
        columns: { id: "Int32", v: "String" },
        api: {
          allow_unfiltered: true,
          pagination: { enabled: true, default_limit: 100, max_limit: 100 },
          sort: [{ column: "id", direction: "ASC" }],
          sortable_fields: ["id", "v"],
        },
        routewright: { fields: true, filters: ["id", "v"] },
      },
    ],
    { adapter_type: "clickhouse" },
  ),
);

function idsOf(target: string, text: string): string {
  const ids = target.startsWith(".csv") ? text.matchAll(/^(\d+)\r?$/gm) : text.matchAll(/"id":(\d+)/g);
  return [...ids].map(([, id]) => id).join(" ");
}

describe.skipIf(!hasClickhouse).each(["1", "2"])("with %s workers", (workers) => {
  it(
    "no change of a type, relation or view under traffic costs a request its rows",
    { timeout: 600_000 },
    async () => {
      const { url } = await serve(installation, ["--only", "data", "--workers", workers], {
        DATABASE_URL: await roleOf(() => profile),
        API_KEYS: JSON.stringify({ [key]: { tier: "tier3", user: "user", org: "test" } }),
        RATE_LIMITS: "tier3=100000000",
      });
      const wrong: unknown[] = [];
      let [changed, asked, isOver] = ["nothing", 0, false];
      const call = async (caller: number): Promise<void> => {
        for (let i = caller; !isOver; i++) {
          const [target, wanted] = ASKED[i % ASKED.length]!;
          const before = changed;
          const { status, text } = await sendRequest(url, `/v1/shop/moved${target}`, { key });
          asked++;
          if (status !== 200 || idsOf(target, text) !== wanted)
            wrong.push([before, changed, target, status, text.slice(0, 200)]);
        }
      };
      const callers = Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)));
      const change = async (): Promise<void> => {
        for (const [i, [name, statementsOf]] of Object.entries(CHANGES).entries())
          for (const [j, statement] of statementsOf(TYPES[(i * 5 + 6) % TYPES.length]!).entries()) {
            changed = `${name}: ${String(j)}`;
            for (const each of statement.replaceAll("@", database).split("; ")) await run(each);
            const until = asked + CALLERS * BETWEEN;
            await expect.poll(() => asked, { interval: 5 }).toBeGreaterThan(until);
          }
      };
      await change().finally(() => (isOver = true));
      await callers;
      console.info(
        `${String(asked)} requests under changes with ${workers} workers: ${String(wrong.length)} wrong`,
      );
      expect(wrong.slice(0, 5)).toEqual([]);
    },
  );
});
