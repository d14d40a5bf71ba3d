import { expect, it } from "vitest";
import { CLICKHOUSE_TYPES, POSTGRES_TYPES } from "../../../runtime/core/model/database-types.js";
import { queryAt } from "../../support/database.js";
import { byEngine, engine, ownerQuery, ownTables } from "../../support/engines.js";
import { post, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { hasOlderPostgres, startOlderPostgres } from "../../support/older-postgres.js";
import { KEYS, serveManifest } from "../../support/service.js";

/** By type: values at the ends of what it holds, and odd ones, as SQL's texts. */
const POSTGRES: Readonly<Record<string, readonly string[]>> = {
  int2: ["-32768", "32767", "0"],
  int4: ["-2147483648", "2147483647"],
  int8: ["-9223372036854775808", "9223372036854775807", "9007199254740993"],
  oid: ["0", "4294967295"],
  numeric: ["1e400", "-1e400", "1e-400", "1.50", "1.5", "0", "NaN", "Infinity", "-Infinity", "1e21", "-0.1"],
  float4: ["3.4e38", "1e-45", "-0", "0", "NaN", "Infinity", "-Infinity", "0.1", "16777216"],
  float8: [
    "1.7976931348623157e308",
    "5e-324",
    "-0",
    "0",
    "NaN",
    "Infinity",
    "-Infinity",
    "0.1",
    "1e21",
    "1e-7",
  ],
  money: ["-92233720368547758.08", "92233720368547758.07", "0.5", "-1"],
  bool: ["true", "false"],
  text: ["x", " padded ", "a,b", "ümlaut", "null", "a\\b", "'"],
  varchar: ["x", "a,b", "NaN"],
  bpchar: ["x", "a,b"],
  name: ["x", "a,b"],
  uuid: ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
  bytea: ["\\x00ff", "\\x", "\\x01"],
  date: [
    "2026-01-31",
    "infinity",
    "-infinity",
    "0044-03-15 BC",
    "4713-11-24 BC",
    "5874897-12-31",
    "12026-01-01",
  ],
  time: ["00:00:00", "24:00:00", "23:59:59.999999", "01:02:03.5"],
  timetz: ["00:00:00+15:59:59", "24:00:00-15:59:59", "01:02:03.000001+02", "12:00:00Z"],
  timestamp: [
    "2026-01-31 01:02:03.5",
    "infinity",
    "-infinity",
    "0044-03-15 12:00:00 BC",
    "294276-12-31 23:59:59.999999",
  ],
  timestamptz: [
    "2026-01-31 01:02:03.5+02",
    "infinity",
    "-infinity",
    "0044-03-15 12:00:00Z BC",
    "12026-01-31 00:00:00Z",
  ],
  interval: [
    ...["infinity", "-infinity", "1 day 02:00:00", "-3 mons", "00:00:00", "-1 year 2 days -00:00:00.000001"],
    ...["178956970 years 7 mons", "2147483647 days", "-1 mon +1 day", "1 year 2 mons 3 days 04:05:06.789"],
  ],
  inet: ["10.0.0.1", "10.0.0.0/8", "::1", "::ffff:1.2.3.4/96", "0.0.0.0/0"],
  cidr: ["10.0.0.0/8", "::/0", "1.2.3.4/32"],
  macaddr: ["08:00:2b:01:02:03", "00:00:00:00:00:00"],
  macaddr8: ["08:00:2b:01:02:03:04:05", "08:00:2b:ff:fe:02:03:04"],
  bit: ["101", "000"],
  varbit: ["1", "0101", ""],
  int4range: ["[1,3)", "empty", "(,)", "[-2147483648,2147483647)", "(,5)", "[5,)"],
  int8range: ["[1,3)", "empty", "(,)", "[-9223372036854775808,9223372036854775807)"],
  numrange: [
    "[1.10,2]",
    "(,5)",
    "empty",
    "[1e400,Infinity)",
    "[-Infinity,NaN]",
    "[Infinity,Infinity]",
    "(-Infinity,1e-400]",
  ],
  daterange: [
    ...[
      "[2026-01-01,2026-02-01)",
      "[0044-03-15 BC,infinity)",
      "[-infinity,infinity]",
      "(,infinity)",
      "empty",
    ],
    ...["(,)", "[-infinity,0001-01-01)", "[2026-01-01,infinity]", "[12026-01-01,)"],
  ],
  tsrange: [
    ...['["2026-01-01 00:00:00","2026-01-02 00:00:00")', "(,)", "[-infinity,infinity]", "empty"],
    ...['["0044-03-15 12:00:00 BC",infinity)', '("2026-01-01 00:00:00.000001",)'],
  ],
  tstzrange: [
    ...['["2026-01-01 00:00:00+00",)', "empty", "[-infinity,infinity]", "(,)"],
    ...['["0044-03-15 12:00:00+00 BC",infinity)', '["12026-01-01 00:00:00+02","12026-01-02 00:00:00+02"]'],
  ],
  int4multirange: ["{[1,3),[5,7)}", "{}", "{(,)}"],
  int8multirange: ["{[1,3),[5,7)}", "{}"],
  nummultirange: ["{[1.10,2],(3,Infinity)}", "{}", "{[-Infinity,1],[NaN,NaN]}"],
  datemultirange: [
    "{[2026-01-01,2026-02-01),[2026-03-01,)}",
    "{}",
    "{[-infinity,infinity]}",
    "{[0044-03-15 BC,infinity)}",
  ],
  tsmultirange: ['{["2026-01-01 00:00:00","2026-01-02 00:00:00")}', "{(,)}", "{[-infinity,infinity]}"],
  tstzmultirange: [
    '{["2026-01-01 00:00:00+00","2026-01-02 00:00:00+00")}',
    "{(,)}",
    "{[-infinity,infinity]}",
  ],

  tsvector: ["'a':1 'b'", "'a'"],
  tsquery: ["'a' & 'b'", "!'c'"],
};

const CLICKHOUSE: Readonly<Record<string, readonly string[]>> = {
  Int8: ["-128", "127"],
  Int16: ["-32768", "32767"],
  Int32: ["-2147483648", "2147483647"],
  Int64: ["-9223372036854775808", "9223372036854775807", "9007199254740993"],
  Int128: ["-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"],
  Int256: [String(-(2n ** 255n)), String(2n ** 255n - 1n)],
  UInt8: ["0", "255"],
  UInt16: ["0", "65535"],
  UInt32: ["0", "4294967295"],
  UInt64: ["0", "18446744073709551615"],
  UInt128: [String(2n ** 128n - 1n)],
  UInt256: [String(2n ** 256n - 1n)],
  Float32: ["3.4e38", "1e-45", "-0", "0", "nan", "inf", "-inf", "0.1"],
  Float64: ["1.7976931348623157e308", "5e-324", "-0", "0", "nan", "inf", "-inf", "0.1", "1e21", "1e-7"],
  "Decimal(76, 2)": ["12.30", "-0.05", `${"9".repeat(74)}.99`, "0"],
  "Decimal(9, 9)": ["0.000000001", "-0.999999999"],
  Bool: ["true", "false"],
  UUID: ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
  IPv4: ["0.0.0.0", "255.255.255.255"],
  IPv6: ["::", "::ffff:1.2.3.4", "2001:db8::1"],
  Date: ["1970-01-01", "2149-06-06"],
  Date32: ["1900-01-01", "2299-12-31"],
  DateTime: ["1970-01-01 00:00:00", "2106-02-07 06:28:15"],
  "DateTime64(3)": ["1900-01-01 00:00:00.000", "2299-12-31 23:59:59.999"],
  "DateTime64(9)": ["1900-01-01 00:00:00.000000001", "2262-04-11 23:47:16.854775807"],
  String: ["x", " padded ", "a,b", "ümlaut", "NULL", "a\\\\b"],
  "FixedString(3)": ["abc", "a,b"],
  "Enum8('a' = 1, 'b,c' = 2)": ["a", "b,c"],
  "Enum16('a' = 1, 'ü' = 300)": ["a", "ü"],
};

const VALUES = byEngine({ postgres: POSTGRES, clickhouse: CLICKHOUSE });
const quoted = (text: string): string =>
  `'${byEngine({ postgres: text.replaceAll("'", "''"), clickhouse: text })}'`;
const typeInSql = (type: string): string =>
  type === "bit" ? "bit(3)" : type === "bpchar" ? "char(5)" : type;
const entries = Object.entries(VALUES).map(([type, values], i) => ({ name: `t${String(i)}`, type, values }));

const rows = ({ type, values }: (typeof entries)[number]): string =>
  values
    .map(
      (value, id) =>
        `(${String(id)}, ${byEngine({ postgres: `${quoted(value)}::${typeInSql(type)}`, clickhouse: `CAST(${quoted(value)} AS ${type})` })})`,
    )
    .join(", ");
const schema = await ownTables({
  postgres: entries
    .map(
      (each) =>
        `CREATE TABLE @.${each.name} (id int, v ${typeInSql(each.type)}); INSERT INTO @.${each.name} VALUES ${rows(each)};`,
    )
    .join("\n"),
  clickhouse: entries.flatMap((each) => [
    `CREATE TABLE @.${each.name} (id Int32, v ${each.type}) ORDER BY id`,
    `INSERT INTO @.${each.name} VALUES ${rows(each)}`,
  ]),
});
const url = await serveManifest(
  manifestOf(
    entries.map(({ name, type }) => ({
      ...{
        name,
        schema,
        columns: { id: byEngine({ postgres: "int", clickhouse: "Int32" }), v: typeInSql(type) },
      },
      tags: ["production", "values", `api:${name}`],
      api: { allow_unfiltered: true, methods: ["GET", "POST"], sort: [{ column: "id", direction: "ASC" }] },
      routewright: { filters: ["v"] },
    })),
  ),
  { RATE_LIMITS: "tier3=1000000" },
);
const key = KEYS.tier3;

/** The rows, and the value of each as it is written in the JSON. */
async function served(name: string): Promise<readonly string[]> {
  const { status, text } = await sendRequest(url, `/v1/values/${name}.ndjson`, { key });
  expect([status, text.slice(0, 1)]).toEqual([200, "{"]);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => /^\{"id":\d+,"v":(.*)\}$/.exec(line)?.[1] ?? line);
}

/** The ids that SQL finds for the value of a row. */
async function equal(name: string, id: number): Promise<readonly number[]> {
  const relation = `"${schema}".${name}`;
  const sql = `SELECT id FROM ${relation} WHERE v = (SELECT v FROM ${relation} WHERE id = ${String(id)}) ORDER BY id`;
  const found = await ownerQuery(sql);
  return typeof found === "string"
    ? found.split("\n").filter(Boolean).map(Number)
    : (found as { id: number }[]).map((row) => row.id);
}

function ids({ status, text }: { readonly status: number; readonly text: string }): unknown {
  return status === 200
    ? (JSON.parse(text.replaceAll(/"v":(?:-?[\d.e+-]+)/g, '"v":0')) as { id: number }[]).map(({ id }) => id)
    : `${String(status)} ${text}`;
}

it.each(entries)("$type: each value that is served is found by its own filter", async ({ name, type }) => {
  const wrong: unknown[] = [];
  for (const [id, json] of (await served(name)).entries()) {
    const path = `/v1/values/${name}`;
    if (json === "null") {
      const found = ids(await sendRequest(url, `${path}?v[null]=true`, { key }));
      if (!(Array.isArray(found) && found.includes(id))) wrong.push({ json, found });
      continue;
    }
    const text = json.startsWith('"') ? (JSON.parse(json) as string) : json;
    // Values are trimmed, and an empty one counts as absent (requests.md).
    if (text.trim() === "" || (text !== text.trim() && type !== "bpchar")) continue;
    const expected = await equal(name, id);
    const target = `${path}?${new URLSearchParams({ "v[eq]": text }).toString()}`;
    const asked = {
      query: await sendRequest(url, target, { key }),
      body: await post(url, path, `{"v":{"eq":${json}}}`, { key }),
      list: await post(url, path, `{"v":{"in":[${json}]}}`, { key }),
    };
    for (const [form, reply] of Object.entries(asked)) {
      const found = ids(reply);
      if (JSON.stringify(found) !== JSON.stringify(expected))
        wrong.push({ form, json: json.slice(0, 60), found, expected });
    }
  }
  expect(wrong).toEqual([]);
});

it("a number in a body has the value that it is written with, whatever a double holds", async () => {
  if (!("numeric" in VALUES)) return;
  const name = entries.find(({ type }) => type === "numeric")!.name;
  for (const [number, id] of [
    ["1e400", 0],
    ["-1E+400", 1],
    ["1e-400", 2],
  ] as const)
    expect(ids(await post(url, `/v1/values/${name}`, `{"v":{"eq":${number}}}`, { key }))).toEqual([id]);
});

it.skipIf(engine === "clickhouse" || !hasOlderPostgres)(
  "an older server without infinite intervals refuses them",
  async () => {
    const older = await startOlderPostgres();
    await queryAt(older, "CREATE TABLE spans AS SELECT 1 AS id, interval '1 day' AS v");
    const columns = { id: "int", v: "interval" };
    const api = { allow_unfiltered: true };
    const manifest = manifestOf([
      { name: "spans", schema: "public", columns, api, routewright: { filters: ["v"] } },
    ]);
    const own = await serveManifest(manifest, { DATABASE_URL: older });
    const ask = async (query: string) => {
      const { status, text } = await sendRequest(own, `/v1/shop/spans?${query}`, { key });
      return [status, text];
    };
    const detail = "Parameter 'v[eq]' must be a duration such as P1DT2H or 1 day 02:00:00.";
    expect(await ask("v[eq]=infinity")).toEqual([400, JSON.stringify({ detail })]);
    expect(await ask("v[lt]=infinity")).toEqual([200, '[{"id":1,"v":"1 day"}]']);
  },
);

it("every type that a filter compares stands here", () => {
  const types = byEngine({ postgres: POSTGRES_TYPES, clickhouse: CLICKHOUSE_TYPES });
  const here = new Set(Object.keys(VALUES).map((type) => type.replace(/\(.*/, "")));
  const left = Object.entries(types).flatMap(([type, { value }]) =>
    here.has(type) || value === "other" ? [] : [type],
  );
  // Types of extensions stand in `every-filter.test.ts`, which has the extensions; the others are settings of ClickHouse.
  expect(left).toEqual(
    byEngine({ postgres: ["citext", "ltree"], clickhouse: ["BFloat16", "Time", "Time64"] }),
  );
});
