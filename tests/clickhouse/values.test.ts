import { describe, expect, it } from "vitest";
import { clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { post, sendRequest } from "../support/http-client.js";

const UINT256 = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
const INT128 = "-170141183460469231731687303715884105728";

/** A state of an aggregate function whose result is 2. */
const STATE = "arrayReduce('uniqState', [1::UInt64, 2, 2])";

/** One column a relation: its type, its value as SQL, its JSON, and its CSV where that is another text; null is empty. */
const VALUES: readonly (readonly [type: string, value: string, json: string, csv?: string])[] = [
  ["UInt64", "18446744073709551615", "18446744073709551615"],
  ["UInt256", `'${UINT256}'`, UINT256],
  ["Int128", `'${INT128}'`, INT128],
  ["Decimal(18, 4)", "'1.5'", "1.5000"],
  ["Decimal(76, 38)", "'1.5'", `1.5${"0".repeat(37)}`],
  ["Float64", "nan", "null"],
  ["Float32", "-inf", "null"],
  ["Float64", "-0.", "-0"],
  ["Float64", "0.1 + 0.2", "0.30000000000000004"],
  ["Float32", "0.1", "0.1"],
  ["Date", "'2024-02-29'", '"2024-02-29"'],
  ["Date32", "'1900-01-01'", '"1900-01-01"'],
  ["DateTime", "'2024-01-02 03:04:05'", '"2024-01-02T03:04:05Z"'],
  ["DateTime('Asia/Kolkata')", "'2024-01-02 03:04:05'", '"2024-01-01T21:34:05Z"'],
  ["DateTime64(6, 'America/Sao_Paulo')", "'2024-07-01 00:00:00.000001'", '"2024-07-01T03:00:00.000001Z"'],
  ["String", `'quo"te\\n\\\\ \\t / 😀'`, '"quo\\"te\\n\\\\ \\t / 😀"', '"quo""te\n\\ \t / 😀"'],
  ["AggregateFunction(uniq, UInt64)", "arrayReduce('uniqState', [1::UInt64, 2, 2])", "2"],
  ["AggregateFunction(quantile(0.5), Float64)", "arrayReduce('quantileState(0.5)', [1.::Float64, 2])", "1.5"],
  ["SimpleAggregateFunction(any, AggregateFunction(uniq, UInt64))", STATE, "2"],
  ["AggregateFunction(any, AggregateFunction(uniq, UInt64))", `arrayReduce('anyState', [${STATE}])`, "2"],
  [
    "AggregateFunction(groupArray, AggregateFunction(uniq, UInt64))",
    `arrayReduce('groupArrayState', [${STATE}])`,
    "[2]",
    '"[2]"',
  ],
  ["Array(AggregateFunction(uniq, UInt64))", `[${STATE}, ${STATE}]`, "[2,2]", '"[2,2]"'],
  ["Array(Array(AggregateFunction(uniq, UInt64)))", `[[${STATE}], []]`, "[[2],[]]", '"[[2],[]]"'],
  ["SimpleAggregateFunction(anyLast, Array(AggregateFunction(uniq, UInt64)))", `[${STATE}]`, "[2]", '"[2]"'],
  ["Tuple(AggregateFunction(uniq, UInt64), String)", `(${STATE}, 'x')`, '[2,"x"]', '"[2,""x""]"'],
  [
    "Tuple(`a, (b` AggregateFunction(sum, Decimal(10, 2)), c FixedString(3), d Nested(e AggregateFunction(uniq, UInt64)))",
    `(arrayReduce('sumState', [1.50::Decimal(10, 2)]), 'x', [tuple(${STATE})])`,
    '{"a, (b":1.50,"c":"x","d":[{"e":2}]}',
    '"{""a, (b"":1.50,""c"":""x"",""d"":[{""e"":2}]}"',
  ],
  [
    "Array(Tuple(a Array(Tuple(b AggregateFunction(argMax, String, DateTime64(3))))))",
    "[tuple([tuple(arrayReduce('argMaxState', ['x', 'y'], [toDateTime64(1, 3), toDateTime64(2, 3)]))])]",
    '[{"a":[{"b":"y"}]}]',
    '"[{""a"":[{""b"":""y""}]}]"',
  ],
  ["Map(String, AggregateFunction(uniq, UInt64))", `map('k', ${STATE})`, '{"k":2}', '"{""k"":2}"'],
  [
    "Map(String, Tuple(n AggregateFunction(uniq, UInt64)))",
    `map('k', tuple(${STATE}))`,
    '{"k":{"n":2}}',
    '"{""k"":{""n"":2}}"',
  ],
  ["Variant(AggregateFunction(uniq, UInt64), String)", "'text'", '"text"', '"""text"""'],
  ["Tuple(a Dynamic)", "tuple('text'::Dynamic)", '{"a":"text"}', '"{""a"":""text""}"'],
  ["Enum8('AggregateFunction(' = 1)", "'AggregateFunction('", '"AggregateFunction("'],
  ["Nullable(String)", "''", '""'],
  ["Nullable(String)", "NULL", "null"],
  ["Nullable(Decimal(10, 2))", "NULL", "null"],
  ["String", "unhex('ff41')", '"�A"', '"\ufffdA"'],
  ["String", "unhex('4aea78')", '"J\ufffdx"'],
  ["Array(String)", "[unhex('ff41')]", '["\ufffdA"]', '"[""\ufffdA""]"'],
  ["Array(FixedString(4))", "['ab']", '["ab"]', '"[""ab""]"'],
  ["Map(FixedString(2), Tuple(FixedString(3)))", "map('a', tuple('b'))", '{"a":["b"]}', '"{""a"":[""b""]}"'],
  ["Variant(Float64, String)", "nan", "null"],
  ["Variant(Float64, String)", "'text'", '"text"', '"""text"""'],
  ["FixedString(8)", "'abc'", '"abc"'],
  ["LowCardinality(Nullable(String))", "'x'", '"x"'],
  ["Enum8('so, ''so''' = 1)", "'so, ''so'''", `"so, 'so'"`],
  ["Bool", "true", "true"],
  ["UUID", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"'],
  ["IPv6", "'::1'", '"::1"'],
  ["Array(UInt64)", "[18446744073709551615, 1]", "[18446744073709551615,1]", '"[18446744073709551615,1]"'],
  ["Array(Float64)", "[1.5, nan]", "[1.5,null]", '"[1.5,null]"'],
  ["Array(Nullable(String))", "['a', NULL, 'b,\"']", '["a",null,"b,\\""]', '"[""a"",null,""b,\\""""]"'],
  ["Array(DateTime)", "['2024-01-02 03:04:05']", '["2024-01-02T03:04:05Z"]', '"[""2024-01-02T03:04:05Z""]"'],
  ["Array(String)", "[]", "[]", '"[]"'],
  [
    "Map(String, UInt64)",
    "map('a', 18446744073709551615)",
    '{"a":18446744073709551615}',
    '"{""a"":18446744073709551615}"',
  ],
  ["Tuple(a UInt8, b String)", "(1, 'x')", '{"a":1,"b":"x"}', '"{""a"":1,""b"":""x""}"'],
  ["Tuple(UInt8, String)", "(1, 'x')", '[1,"x"]', '"[1,""x""]"'],
  [
    "JSON",
    `'{"a": 18446744073709551615, "b": ["x", null]}'`,
    '{"a":18446744073709551615,"b":["x",null]}',
    '"{""a"":18446744073709551615,""b"":[""x"",null]}"',
  ],
];

const database = await ownDatabase(
  VALUES.map(
    ([type, value], i) => `CREATE TABLE @.v${String(i)} (v ${type}) ENGINE = Memory AS SELECT ${value}`,
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
const cases = VALUES.map(([type, value, json, csv = json === "null" ? '""' : json], i) => ({
  type,
  value,
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

describe.skipIf(!hasClickhouse)("a column of ClickHouse without a type of its own", async () => {
  if (!hasClickhouse) return;
  const nothing = await ownDatabase(["CREATE VIEW @.nothing AS SELECT NULL AS v, toUInt8(1) AS i"]);
  const at = await serveManifest(
    manifestOf([{ name: "nothing", schema: nothing, tags: ["production", "types", "api:nothing"] }], {
      adapter_type: "clickhouse",
    }),
    { DATABASE_URL: clickhouseUrl() },
  );

  it.each(["", ".csv", ".parquet", ".arrow"])("is null in every format: %s", async (suffix) => {
    const reply = await sendRequest(at, `/v1/types/nothing${suffix}`, { key: KEYS.tier3 });
    expect(reply.status).toBe(200);
    if (suffix === "") expect(JSON.parse(reply.text)).toEqual([{ v: null, i: 1 }]);
  });
});

describe.skipIf(!hasClickhouse)("a state of an aggregate function", async () => {
  if (!hasClickhouse) return;
  const states = await ownDatabase([
    `CREATE VIEW @.dynamic AS SELECT ${STATE}::Dynamic AS v`,
    `CREATE VIEW @.listed AS SELECT [${STATE}::Dynamic] AS v`,
    `CREATE VIEW @.variant AS SELECT ${STATE}::Variant(AggregateFunction(uniq, UInt64), String) AS v`,
    `CREATE VIEW @.nested AS SELECT [${STATE}] AS x1, map('k', ${STATE}) AS "a""b", [tuple(${STATE})]::Array(Tuple(n AggregateFunction(uniq, UInt64))) AS t`,
  ]);
  const names = ["dynamic", "listed", "variant", "nested"];
  const models = names.map((name) => ({
    name,
    schema: states,
    tags: ["production", "states", `api:${name}`],
  }));
  const at = await serveManifest(manifestOf(models, { adapter_type: "clickhouse" }), {
    DATABASE_URL: clickhouseUrl(),
  });

  it.each(["dynamic", "listed", "variant"])(
    "is refused where only its row says that it is one: %s",
    async (name) => {
      for (const suffix of ["", ".csv", ".parquet"]) {
        const reply = await sendRequest(at, `/v1/states/${name}${suffix}`, { key: KEYS.tier3 });
        expect(reply.status).toBe(500);
      }
    },
  );

  it("is its result in every format and under every name", async () => {
    const get = (suffix: string) => sendRequest(at, `/v1/states/nested${suffix}`, { key: KEYS.tier3 });
    expect(JSON.parse((await get("")).text)).toEqual([{ x1: [2], 'a"b': { k: 2 }, t: [{ n: 2 }] }]);
    expect((await get(".parquet")).bytes.includes('{"k":2}')).toBe(true);
    expect((await get(".arrow")).bytes.includes('[{"n":2}]')).toBe(true);
  });
});

describe.skipIf(!hasClickhouse)("a value of ClickHouse", () => {
  it.each(cases)("is exact in JSON and CSV: $type, $value", async ({ path, json, csv }) => {
    const textOf = async (suffix: string) =>
      (await sendRequest(url, path + suffix, { key: KEYS.tier3 })).text;
    expect([await textOf(""), await textOf(".csv")]).toEqual([`[{"v":${json}}]`, `v\r\n${csv}\r\n`]);
  });
});
