import { describe, expect, it } from "vitest";
import { clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { post, sendRequest } from "../support/http-client.js";

const UINT256 = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
const INT128 = "-170141183460469231731687303715884105728";

/** One column a relation: its type, its value as SQL, its JSON, and its CSV. */
const VALUES: readonly (readonly [what: string, type: string, value: string, json: string, csv: string])[] = [
  [
    "the largest 64-bit integer",
    "UInt64",
    "18446744073709551615",
    "18446744073709551615",
    "18446744073709551615",
  ],
  ["the largest 256-bit integer", "UInt256", `'${UINT256}'`, UINT256, UINT256],
  ["the smallest 128-bit integer", "Int128", `'${INT128}'`, INT128, INT128],
  ["a decimal with the zeros of its scale", "Decimal(18, 4)", "'1.5'", "1.5000", "1.5000"],
  ["a decimal of 76 digits", "Decimal(76, 38)", "'1.5'", `1.5${"0".repeat(37)}`, `1.5${"0".repeat(37)}`],
  ["a float that is not a number", "Float64", "nan", "null", ""],
  ["an infinite float", "Float32", "-inf", "null", ""],
  ["a negative zero", "Float64", "-0.", "-0", "-0"],
  ["a float with all its digits", "Float64", "0.1 + 0.2", "0.30000000000000004", "0.30000000000000004"],
  ["a float of single width", "Float32", "0.1", "0.1", "0.1"],
  ["a date", "Date", "'2024-02-29'", '"2024-02-29"', '"2024-02-29"'],
  ["a date before 1970", "Date32", "'1900-01-01'", '"1900-01-01"', '"1900-01-01"'],
  ["a time", "DateTime", "'2024-01-02 03:04:05'", '"2024-01-02T03:04:05Z"', '"2024-01-02T03:04:05Z"'],
  [
    "a time of another zone",
    "DateTime('Asia/Kolkata')",
    "'2024-01-02 03:04:05'",
    '"2024-01-01T21:34:05Z"',
    '"2024-01-01T21:34:05Z"',
  ],
  [
    "a time with a fraction",
    "DateTime64(6, 'America/Sao_Paulo')",
    "'2024-07-01 00:00:00.000001'",
    '"2024-07-01T03:00:00.000001Z"',
    '"2024-07-01T03:00:00.000001Z"',
  ],
  ["a text", "String", `'quo"te\\n\\\\ \\t / 😀'`, '"quo\\"te\\n\\\\ \\t / 😀"', '"quo""te\n\\ \t / 😀"'],
  ["an empty text", "Nullable(String)", "''", '""', '""'],
  ["a null", "Nullable(String)", "NULL", "null", ""],
  ["a null number", "Nullable(Decimal(10, 2))", "NULL", "null", ""],
  ["bytes that are no text", "String", "unhex('ff41')", '"�A"', '"\ufffdA"'],
  ["an incomplete character before the end", "String", "unhex('4aea78')", '"J\ufffdx"', '"J\ufffdx"'],
  ["bytes that are no text in a list", "Array(String)", "[unhex('ff41')]", '["\ufffdA"]', '"[""\ufffdA""]"'],
  ["texts of fixed length in a list", "Array(FixedString(4))", "['ab']", '["ab"]', '"[""ab""]"'],
  [
    "texts of fixed length in a map",
    "Map(FixedString(2), Tuple(FixedString(3)))",
    "map('a', tuple('b'))",
    '{"a":["b"]}',
    '"{""a"":[""b""]}"',
  ],
  ["a float of a variant that is not a number", "Variant(Float64, String)", "nan", "null", ""],
  ["a text of a variant", "Variant(Float64, String)", "'text'", '"text"', '"""text"""'],
  ["a text of fixed length", "FixedString(8)", "'abc'", '"abc"', '"abc"'],
  ["a text with few values", "LowCardinality(Nullable(String))", "'x'", '"x"', '"x"'],
  ["an enum", "Enum8('so, ''so''' = 1)", "'so, ''so'''", `"so, 'so'"`, `"so, 'so'"`],
  ["a boolean", "Bool", "true", "true", "true"],
  [
    "a UUID",
    "UUID",
    "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",
    '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"',
    '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"',
  ],
  ["an address", "IPv6", "'::1'", '"::1"', '"::1"'],
  [
    "a list of wide integers",
    "Array(UInt64)",
    "[18446744073709551615, 1]",
    "[18446744073709551615,1]",
    '"[18446744073709551615,1]"',
  ],
  ["a list of floats", "Array(Float64)", "[1.5, nan]", "[1.5,null]", '"[1.5,null]"'],
  [
    "a list of texts",
    "Array(Nullable(String))",
    "['a', NULL, 'b,\"']",
    '["a",null,"b,\\""]',
    '"[""a"",null,""b,\\""""]"',
  ],
  [
    "a list of times",
    "Array(DateTime)",
    "['2024-01-02 03:04:05']",
    '["2024-01-02T03:04:05Z"]',
    '"[""2024-01-02T03:04:05Z""]"',
  ],
  ["an empty list", "Array(String)", "[]", "[]", '"[]"'],
  [
    "a map",
    "Map(String, UInt64)",
    "map('a', 18446744073709551615)",
    '{"a":18446744073709551615}',
    '"{""a"":18446744073709551615}"',
  ],
  ["an object", "Tuple(a UInt8, b String)", "(1, 'x')", '{"a":1,"b":"x"}', '"{""a"":1,""b"":""x""}"'],
  ["a tuple", "Tuple(UInt8, String)", "(1, 'x')", '[1,"x"]', '"[1,""x""]"'],
  [
    "a document",
    "JSON",
    `'{"a": 18446744073709551615, "b": ["x", null]}'`,
    '{"a":18446744073709551615,"b":["x",null]}',
    '"{""a"":18446744073709551615,""b"":[""x"",null]}"',
  ],
];

const database = await ownDatabase(
  VALUES.map(
    ([, type, value], i) => `CREATE TABLE @.v${String(i)} (v ${type}) ENGINE = Memory AS SELECT ${value}`,
  ),
);
const manifest = manifestOf(
  VALUES.map((_, i) => ({
    name: `v${String(i)}`,
    schema: database,
    tags: ["production", "values", `api:v${String(i)}`],
  })),
  { adapter_type: "clickhouse" },
);
const url = hasClickhouse ? await serveManifest(manifest, { DATABASE_URL: clickhouseUrl() }) : "";
const cases = VALUES.map(([what, type, , json, csv], i) => ({
  what,
  type,
  json,
  csv,
  path: `/v1/values/v${String(i)}`,
}));

/** A text of 450 kB in UTF-8, whose characters have one to four bytes or are escaped. */
const LONG_TEXT = "a'\\\té日😀".repeat(30_000);

describe.skipIf(!hasClickhouse)(
  "a value of a request that is longer than a parameter of ClickHouse",
  async () => {
    if (!hasClickhouse) return;
    const texts = await ownDatabase([
      "CREATE TABLE @.texts (id UInt8, t String) ORDER BY id",
      "INSERT INTO @.texts VALUES (1, repeat('a\\'\\\\\\té日😀', 30000)), (2, repeat('A\\'\\\\\\tÉ日😀', 30000)), (3, 'short')",
    ]);
    const parameter = (name: string, operator: string, type: string, letterCase?: string) => ({
      ...{ name, column: "t", operator, type, max_length: 1_000_000 },
      ...(letterCase && { case: letterCase }),
    });
    const api = {
      methods: ["GET", "POST"],
      allow_unfiltered: true,
      parameters: [
        parameter("is", "=", "string"),
        parameter("any", "IN", "string_list"),
        parameter("folded", "IN", "string_list", "lower"),
        parameter("like", "ILIKE", "string"),
      ],
    };
    const at = await serveManifest(
      manifestOf(
        [
          {
            name: "texts",
            schema: texts,
            tags: ["production", "long", "api:texts"],
            columns: { id: "UInt8", t: "String" },
            api,
          },
        ],
        { adapter_type: "clickhouse" },
      ),
      { DATABASE_URL: clickhouseUrl() },
    );
    it.each([
      ["is", LONG_TEXT, [1]],
      ["any", [LONG_TEXT, "short", LONG_TEXT], [1, 3]],
      ["folded", ["SHORT", LONG_TEXT], [1, 2, 3]],
      ["like", `${LONG_TEXT.slice(0, 200_000)}%`, [1, 2]],
    ] as const)("is found: %s", async (name, value, ids) => {
      const reply = await post(at, "/v1/long/texts", { [name]: value }, { key: KEYS.tier3 });
      expect(reply.status).toBe(200);
      expect((JSON.parse(reply.text) as { id: number }[]).map(({ id }) => id)).toEqual(ids);
    });
  },
);

describe.skipIf(!hasClickhouse)("a value of ClickHouse", () => {
  it.each(cases)("is exact in JSON: $what ($type)", async ({ path, json }) => {
    expect((await sendRequest(url, path, { key: KEYS.tier3 })).text).toBe(`[{"v":${json}}]`);
  });

  it.each(cases)("is exact in CSV: $what ($type)", async ({ path, csv }) => {
    expect((await sendRequest(url, `${path}.csv`, { key: KEYS.tier3 })).text).toBe(`v\r\n${csv}\r\n`);
  });
});
