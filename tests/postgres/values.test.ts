import pg from "pg";
import { describe, expect, it } from "vitest";
import { databaseUrl, ownSchema, withSettings } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { sendRequest } from "../support/http-client.js";

const UINT256 = "115792089237316195423570985008687907853269984665640564039457584007913129639935";

/** Beyond `every-type.test.ts` and the random rows of `row-formats.test.ts`: a type, a value as SQL and its JSON. */
const VALUES: readonly (readonly [type: string, value: string, json: string])[] = [
  ["numeric(20,0)", "18446744073709551615", "18446744073709551615"],
  ["numeric(78,0)", UINT256, UINT256],
  ["numeric(18,4)", "1.5", "1.5000"],
  ["numeric(38,18)", "12345678901234567890.123456789012345678", "12345678901234567890.123456789012345678"],
  ["float8", "0.1::float8 + 0.2::float8", "0.30000000000000004"],
  ["date", "'2024-02-29'", '"2024-02-29"'],
  ["date", "'0001-12-31 BC'", '"0000-12-31"'],
  ["date", "'5874897-12-31'", '"+5874897-12-31"'],
  ["date", "'9999-12-31'", '"9999-12-31"'],
  ["float8[]", "'{{1.5,NaN},{-Infinity,2}}'", "[[1.5,null],[null,2]]"],
  ["numeric[]", "'{{1.50,NaN},{18446744073709551615,2}}'", "[[1.50,null],[18446744073709551615,2]]"],
  ["date[]", "'{{2024-01-01,infinity}}'", '[["2024-01-01",null]]'],
  [
    "timestamp[]",
    "'{{2024-01-01 00:00:00.5,NULL},{-infinity,2024-01-02}}'",
    '[["2024-01-01T00:00:00.5Z",null],[null,"2024-01-02T00:00:00Z"]]',
  ],
  ["timestamptz[]", "'{{2024-01-01 00:00+02}}'", '[["2023-12-31T22:00:00Z"]]'],
  ["date[]", "'{0044-03-15 BC}'", '["-000043-03-15"]'],
  ["@.pair", "NULL", "null"],
  ["@.pair[]", "ARRAY[ROW('NaN', 'a')::@.pair, NULL]", '[{"x":null,"label":"a"}, null]'],
  ["timestamptz", "'2024-01-02 03:04:05+05:30'", '"2024-01-01T21:34:05Z"'],
  ["timestamptz", "'2024-07-01 00:00:00.000001-03'", '"2024-07-01T03:00:00.000001Z"'],
  ["float8[]", "'{}'", "[]"],
  ["text[]", "'{}'", "[]"],
  ["float8[]", "NULL", "null"],
  [
    "jsonb",
    `'{"a": 18446744073709551615, "b": [1.10, null]}'`,
    '{"a": 18446744073709551615, "b": [1.10, null]}',
  ],
  ["bytea", "'\\xDEADbeef'", '"\\\\xdeadbeef"'],
  ["interval", "'1 day 02:03:04'", '"1 day 02:03:04"'],
  ["@.mood", "'so ''so'''", `"so 'so'"`],
  ["@.word", "'x'", '"x"'],
  ["@.ratio", "'NaN'", "null"],
  ["@.share", "'Infinity'", "null"],
  ["@.moment", "'2024-01-01 00:00'", '"2024-01-01T00:00:00Z"'],
  ["@.ratios", "ARRAY['NaN']::float8[]", "[null]"],
  ["text", "U&'Zürich 日本 \\+01F600 \\2028'", '"Zürich 日本 😀 \u2028"'],
];

const TYPES = `
  CREATE TYPE @.mood AS ENUM ('so ''so''', 'fine');
  CREATE DOMAIN @.word AS text CHECK (value <> '');
  CREATE DOMAIN @.ratio AS float8;
  CREATE DOMAIN @.share AS @.ratio;
  CREATE DOMAIN @.moment AS timestamp;
  CREATE DOMAIN @.ratios AS float8[];
  CREATE TYPE @.pair AS (x float8, label text);`;

const schema = await ownSchema(
  TYPES +
    VALUES.map(([type, value], i) => `CREATE TABLE @.v${String(i)} AS SELECT (${value})::${type} AS v;`).join(
      "",
    ),
);
const manifest = manifestOf(
  VALUES.map((_, i) => ({
    name: `v${String(i)}`,
    schema,
    tags: ["production", "values", `api:v${String(i)}`],
  })),
);

const url = await serveManifest(manifest, { DATABASE_URL: withSettings(databaseUrl) });

describe("a value of a database with settings of its own", () => {
  it("would be printed differently by that database", async () => {
    const client = new pg.Client({ connectionString: withSettings(databaseUrl) });
    await client.connect();
    const { rows } = await client.query("SELECT '2024-01-02 03:04:05Z'::timestamptz::text AS at");
    await client.end();
    expect(rows).toEqual([{ at: "02.01.2024 08:34:05 IST" }]);
  });

  it.each(VALUES.map((row, i) => [...row, i] as const))(
    "is exact: %s, %s",
    async (_type, _value, json, i) => {
      expect((await sendRequest(url, `/v1/values/v${String(i)}`, { key: KEYS.tier3 })).text).toBe(
        `[{"v":${json}}]`,
      );
    },
  );
});
