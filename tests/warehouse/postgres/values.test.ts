import pg from "pg";
import { describe, expect, it } from "vitest";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";

const UINT256 = "115792089237316195423570985008687907853269984665640564039457584007913129639935";

/** Beyond `every-type.test.ts` and the random rows of `row-formats.test.ts`: a type, a value as SQL, and its JSON. */
const VALUES: readonly (readonly [what: string, type: string, value: string, json: string])[] = [
  ["the largest unsigned 64-bit integer", "numeric(20,0)", "18446744073709551615", "18446744073709551615"],
  ["the largest unsigned 256-bit integer", "numeric(78,0)", UINT256, UINT256],
  ["a decimal with the zeros of its scale", "numeric(18,4)", "1.5", "1.5000"],
  [
    "a decimal of 38 digits",
    "numeric(38,18)",
    "12345678901234567890.123456789012345678",
    "12345678901234567890.123456789012345678",
  ],
  ["a float with all its digits", "float8", "0.1::float8 + 0.2::float8", "0.30000000000000004"],
  ["a date", "date", "'2024-02-29'", '"2024-02-29"'],
  ["a date in 1 BC", "date", "'0001-12-31 BC'", '"0000-12-31"'],
  ["a date of a seven-digit year", "date", "'5874897-12-31'", '"+5874897-12-31"'],
  ["the last date of four digits", "date", "'9999-12-31'", '"9999-12-31"'],
  ["a list of lists of floats", "float8[]", "'{{1.5,NaN},{-Infinity,2}}'", "[[1.5,null],[null,2]]"],
  [
    "a list of lists of decimals",
    "numeric[]",
    "'{{1.50,NaN},{18446744073709551615,2}}'",
    "[[1.50,null],[18446744073709551615,2]]",
  ],
  ["a list of lists of dates", "date[]", "'{{2024-01-01,infinity}}'", '[["2024-01-01",null]]'],
  [
    "a list of lists of timestamps",
    "timestamp[]",
    "'{{2024-01-01 00:00:00.5,NULL},{-infinity,2024-01-02}}'",
    '[["2024-01-01T00:00:00.5Z",null],[null,"2024-01-02T00:00:00Z"]]',
  ],
  [
    "a list of lists of times with a zone",
    "timestamptz[]",
    "'{{2024-01-01 00:00+02}}'",
    '[["2023-12-31T22:00:00Z"]]',
  ],
  ["a list of dates in BC", "date[]", "'{0044-03-15 BC}'", '["-000043-03-15"]'],
  ["a composite that is null", "@.pair", "NULL", "null"],
  [
    "a list of composites",
    "@.pair[]",
    "ARRAY[ROW('NaN', 'a')::@.pair, NULL]",
    '[{"x":null,"label":"a"}, null]',
  ],
  ["a time with a zone, in UTC", "timestamptz", "'2024-01-02 03:04:05+05:30'", '"2024-01-01T21:34:05Z"'],
  [
    "a time with a zone and a fraction",
    "timestamptz",
    "'2024-07-01 00:00:00.000001-03'",
    '"2024-07-01T03:00:00.000001Z"',
  ],
  ["an empty list", "float8[]", "'{}'", "[]"],
  ["an empty list of texts", "text[]", "'{}'", "[]"],
  ["a list that is null", "float8[]", "NULL", "null"],
  [
    "a JSON document with big numbers",
    "jsonb",
    `'{"a": 18446744073709551615, "b": [1.10, null]}'`,
    '{"a": 18446744073709551615, "b": [1.10, null]}',
  ],
  ["bytes", "bytea", "'\\xDEADbeef'", '"\\\\xdeadbeef"'],
  ["an interval", "interval", "'1 day 02:03:04'", '"1 day 02:03:04"'],
  ["an enum", "@.mood", "'so ''so'''", `"so 'so'"`],
  ["a domain over text", "@.word", "'x'", '"x"'],
  ["a domain over a float", "@.ratio", "'NaN'", "null"],
  ["a domain over a domain", "@.share", "'Infinity'", "null"],
  ["a domain over a timestamp", "@.moment", "'2024-01-01 00:00'", '"2024-01-01T00:00:00Z"'],
  ["a domain over a list", "@.ratios", "ARRAY['NaN']::float8[]", "[null]"],
  ["text of all planes", "text", "U&'Zürich 日本 \\+01F600 \\2028'", '"Zürich 日本 😀 \u2028"'],
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
    VALUES.map(
      ([, type, value], i) => `CREATE TABLE @.v${String(i)} AS SELECT (${value})::${type} AS v;`,
    ).join(""),
);
const manifest = manifestOf(
  VALUES.map((_, i) => ({
    name: `v${String(i)}`,
    schema,
    tags: ["production", "values", `api:v${String(i)}`],
  })),
);

/** Settings that a database may have of its own, each of which changes how PostgreSQL prints something. */
const OTHER_SETTINGS = [
  "timezone=Asia/Kolkata",
  "datestyle=German",
  "intervalstyle=iso_8601",
  "bytea_output=escape",
  "extra_float_digits=0",
];

function withSettings(url: string): string {
  const address = new URL(url);
  address.searchParams.set("options", OTHER_SETTINGS.map((setting) => `-c ${setting}`).join(" "));
  return address.href.replaceAll("+", "%20");
}

const url = await serveManifest(manifest, { DATABASE_URL: withSettings(databaseUrl) });
const cases = VALUES.map(([what, type, , json], i) => ({
  what,
  type,
  json,
  path: `/v1/values/v${String(i)}`,
}));

describe("a value of a database with settings of its own", () => {
  it("would be printed differently by that database", async () => {
    const client = new pg.Client({ connectionString: withSettings(databaseUrl) });
    await client.connect();
    const { rows } = await client.query("SELECT '2024-01-02 03:04:05Z'::timestamptz::text AS at");
    await client.end();
    expect(rows).toEqual([{ at: "02.01.2024 08:34:05 IST" }]);
  });

  it.each(cases)("is exact: $what ($type)", async ({ path, json }) => {
    expect((await sendRequest(url, path, { key: KEYS.tier3 })).text).toBe(`[{"v":${json}}]`);
  });
});
