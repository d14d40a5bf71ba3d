import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { sendRequest } from "../support/http-client.js";

/** The SQL of a value of the same meaning in both engines. */
type Same = readonly [postgres: string, clickhouse: string];
const text = (sql: string): Same => [`E${sql}`, sql];
const moment = (at: string): Same => [`timestamptz '${at}Z'`, `toDateTime64('${at}', 6, 'UTC')`];
const float = (digits: string): Same => [`float8 '${digits}'`, `toFloat64('${digits}')`];
const narrow = (digits: string): Same => [`float4 '${digits}'`, `toFloat32('${digits}')`];
const UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";

const VALUES: Readonly<Record<string, Same>> = {
  "a time": moment("2024-01-01 00:00:00"),
  "a time with a fraction": moment("2024-01-01 00:00:00.5"),
  "a microsecond": moment("2024-01-01 00:00:00.000001"),
  "a time before 1970": moment("1969-12-31 23:59:59.25"),
  "a time of seconds": ["timestamptz(0) '2024-01-01 00:00:00Z'", "toDateTime('2024-01-01 00:00:00', 'UTC')"],
  "a time of milliseconds": [
    "timestamptz(3) '2024-01-01 00:00:00.5Z'",
    "toDateTime64('2024-01-01 00:00:00.5', 3, 'UTC')",
  ],
  "a date": ["date '2024-02-29'", "toDate('2024-02-29')"],
  ...Object.fromEntries(
    ["1e-7", "1.5e-5", "0.0001", "1e15", "1.5e21", "1e22", "1.7976931348623157e308", "5e-324"].map(
      (digits) => [digits, float(digits)],
    ),
  ),
  ...Object.fromEntries(["123456789012345680", "-0", "5", "nan", "inf"].map((d) => [`float ${d}`, float(d)])),
  ...Object.fromEntries(["0.1", "1e-7", "3.4e38", "16777216", "1e7"].map((d) => [`narrow ${d}`, narrow(d)])),
  "a long integer": ["9007199254740993::bigint", "toInt64(9007199254740993)"],
  "a decimal": ["12.30::numeric(18, 4)", "toDecimal64('12.30', 4)"],
  "a small decimal": ["0.0000001::numeric(18, 8)", "toDecimal64('0.0000001', 8)"],
  "a boolean": ["true", "true"],
  "a UUID": [`uuid '${UUID}'`, `toUUID('${UUID}')`],
  "a text": text(`'a, "b" / é 😀'`),
  "the empty text": text("''"),
  "line breaks": text("'\\b\\f\\n\\r\\t'"),
  "a control character": text("'\\x1f'"),
  "a deletion": text("'\\x7f'"),
  "a backslash": text("'a\\\\b'"),
  "the separators U+2028 and U+2029": ["E'\\u2028\\u2029'", "'\\xE2\\x80\\xA8\\xE2\\x80\\xA9'"],
  "a list": ["array[1, 2, null]::int[]", "[1, 2, NULL]"],
  "a list of texts": ["array['a', 'b']", "['a', 'b']"],
  "times in a list": [
    "array[timestamptz '2024-01-01 00:00:00.5Z']",
    "[toDateTime64('2024-01-01 00:00:00.5', 6, 'UTC')]",
  ],
  "floats in a list": ["array[1e-7, 'nan']::float8[]", "[1e-7, nan]"],
  "UUIDs in a list": [`array[uuid '${UUID}']`, `[toUUID('${UUID}')]`],
  "a JSON document": [`jsonb '{"a": 1.50, "b": [true]}'`, `'{"a": 1.50, "b": [true]}'::JSON`],
  "an IPv4 address": ["inet '127.0.0.1'", "toIPv4('127.0.0.1')"],
  "an IPv6 address": ["inet '::1'", "toIPv6('::1')"],
  "a time of the day": ["time '12:30:00.5'", "CAST('12:30:00.5', 'Time64(6)')"],
  "an interval": ["interval '90 seconds'", "toIntervalSecond(90)"],
};

/** Values of a column, in turn; `null` is null. */
const COLUMNS: Readonly<Record<string, readonly [Same, readonly (string | null)[]]>> = {
  id: [["int", "UInt8"], []],
  uuid: [
    ["uuid", "UUID"],
    ["00000000-0000-0000-0000-000000000001", "10000000-0000-0000-0000-000000000000"].concat([
      ...[UUID, "00000000-0000-0001-0000-000000000000", "ffffffff-0000-0000-8000-000000000000"],
    ]),
  ],
  text: [
    ["text", "Nullable(String)"],
    [..."a B ä Z".split(" "), "", null, ..."İ i ß SS straße STRASSE Σ ς _ I ı ǅ 1".split(" ")],
  ],
  float: [
    ["float8", "Nullable(Float64)"],
    ["nan", "inf", "-inf", "0", "-0", null, "1e-7", "100", "1e21"],
  ],
  at: [
    ["timestamptz", "Nullable(DateTime64(6, 'UTC'))"],
    ["2024-01-01 00:00:00.000001", "2024-01-01 00:00:00", "2024-01-01 00:00:00.5", null],
  ],
  list: [
    ["int[]", "Array(Int32)"],
    ["0, 2", "1, 2", "2, 2"],
  ],
  mood: [
    ["mood", "Enum8('pear' = 1, 'apple' = 2)"],
    ["pear", "apple"],
  ],
  ip: [
    ["inet", "IPv4"],
    ["127.0.0.1", "10.0.0.1", "9.255.255.255"],
  ],
  flag: [
    ["bool", "Bool"],
    ["true", "false"],
  ],
  amount: [
    ["numeric(18, 4)", "Decimal(18, 4)"],
    ["-1.25", "0", "0.25", "100.5"],
  ],
  day: [
    ["date", "Date"],
    ["2024-01-01", "2024-01-09", "2024-02-29"],
  ],
  clock: [
    ["time", "Time"],
    ["00:00:00", "05:00:00", "23:59:59"],
  ],
};
const ROWS = 19;

/** The values that filters ask for. */
const ASKED: Readonly<Record<string, readonly string[]>> = {
  id: ["5", "05", "+5", "5.0", "1e1", "99999999999999999999"],
  uuid: [UUID, UUID.replaceAll("-", "").toUpperCase(), "x"],
  text: "a A ä Ä ß SS ss İ i I i̇ straße STRASSE σ _ % ı ǆ".split(" "),
  float: ["0", "-0", "1e-7", "1e-07", "0.0000001", "100", "1e2", "nan", "inf", "1e400", "1e-400", "1e21"],
  at: [
    ...["00.0000010Z", "00.0000011Z", "00.0000004Z", "00.5Z", "00.500Z"].map((s) => `2024-01-01T00:00:${s}`),
    ...[
      "2024-01-01 00:00:00",
      "2024-01-01T01:00:00+01:00",
      // The plus sign of a query string that is not encoded.
      "2024-01-01T01:00:00 01:00",
      "2024-01-01",
      "00:00:00.5",
      "9999-01-01T00:00:00Z",
    ],
  ],
  list: ["[1,2]", "{1,2}", "[1, 2]", "1"],
  mood: ["pear", "PEAR", "z"],
  ip: [
    "10.0.0.1",
    "10.0.0.1/32",
    "10.9.9.9/8",
    "0.0.0.0/0",
    "9",
    "10.0.0.256",
    "10.0.0.1/33",
    "::1",
    "::ffff:10.0.0.1",
  ],
  flag: ["true", "t", "1", "yes", "TRUE", "x"],
  amount: ["0", "0.25", "0.250", ".25", "2.5e-1", "1e5", "0.001", "-1.25"],
  day: ["2024-01-09", "2024-1-9", "2024-02-30", "9999-01-01", "-000001-01-01"],
  clock: ["05:00:00", "05:00", "5"],
};

/** What the page says of requests; `of` matches all requests that differ so, `ask` is the one on the page. */
const KNOWN: readonly { readonly what: string; readonly of: RegExp; readonly ask: string }[] = [
  { what: "the order of UUIDs", of: /^sort_by=uuid&/, ask: "sort_by=uuid&sort_direction=ASC&limit=1" },
  { what: "`case: upper` of ß", of: /^upper_text=/, ask: "upper_text=ß" },
  { what: "`case: lower` and `ILIKE` of İ", of: /^(lower|like)_text=(i|İ|i̇)$/i, ask: "like_text=İ" },
  { what: "`ILIKE` on a float", of: /^like_float=/, ask: "like_float=1e21" },
  { what: "`=` and `ILIKE` on a list", of: /^(eq|like)_list=/, ask: "eq_list=[1,2]" },
];

const valueNames = Object.keys(VALUES);
const columnNames = Object.keys(COLUMNS);

const engines = [
  { adapter: "postgres", of: 0, literal: (value: string, type: string) => `'${value}'::${type}` },
  { adapter: "clickhouse", of: 1, literal: (value: string, type: string) => `'${value}'::${type}` },
] as const;
type Engine = (typeof engines)[number];

function valuesOf({ of }: Engine): string {
  return `SELECT ${valueNames.map((name, i) => `${VALUES[name]?.[of] ?? ""} AS v${String(i)}`).join(", ")}`;
}

function rowOf({ of, literal }: Engine, id: number): string {
  const values = Object.entries(COLUMNS).map(([name, [types, values]]) => {
    const value = name === "id" ? String(id) : (values[id % values.length] ?? null);
    if (value === null) return `NULL::${types[of]} AS ${name}`;
    const zone = name === "at" && of === 0 ? "Z" : "";
    const list = of === 0 ? `{${value}}` : `[${value}]`;
    return `${literal(name === "list" ? list : value + zone, types[of])} AS ${name}`;
  });
  return `SELECT ${values.join(", ")}`;
}

const rowsOf = (engine: Engine): string =>
  Array.from({ length: ROWS }, (_, id) => rowOf(engine, id)).join(" UNION ALL ");

const schemas = [
  await ownSchema(`SET search_path TO @; CREATE TYPE mood AS ENUM ('pear', 'apple');
    CREATE VIEW @.vals AS ${valuesOf(engines[0])}; CREATE TABLE @.rows AS ${rowsOf(engines[0])}`),
  await ownDatabase([
    `CREATE VIEW @.vals AS ${valuesOf(engines[1])}`,
    `CREATE TABLE @.rows ORDER BY id AS ${rowsOf(engines[1])}`,
  ]),
];

const FILTERS = ["uuid", "text", "float", "at", "flag", "amount", "day"];
const isTime = (column: string): boolean => column === "at" || column === "day";

function parametersOf(column: string) {
  const parameter = (prefix: string, operator: string, type: string, more = {}) => ({
    ...{ name: `${prefix}_${column}`, column, operator, type, ...more },
  });
  return [
    ...[parameter("eq", "=", "string"), parameter("like", "ILIKE", "string")],
    parameter("in", "IN", "string_list"),
    ...(isTime(column) ? [parameter("from", ">=", "date"), parameter("to", "<=", "date")] : []),
    ...(column === "text"
      ? ["lower", "upper"].map((letters) => parameter(letters, "IN", "string_list", { case: letters }))
      : []),
  ];
}

async function serve({ adapter, of }: Engine): Promise<string> {
  const model = (name: string) => ({
    name,
    schema: schemas[of] ?? "",
    tags: ["production", "both", `api:${name}`],
  });
  const models = [
    {
      ...model("vals"),
      columns: Object.fromEntries(valueNames.map((_, i) => [`v${String(i)}`, null])),
      routewright: { fields: true },
    },
    {
      ...model("rows"),
      columns: Object.fromEntries(
        columnNames.map((name) => [name, FILTERS.includes(name) ? (COLUMNS[name]?.[0][of] ?? null) : null]),
      ),
      api: {
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: 100, max_limit: 100 },
        sort: [{ column: "id", direction: "ASC" }],
        sortable_fields: columnNames,
        parameters: columnNames.flatMap(parametersOf),
      },
      routewright: { fields: true, filters: FILTERS },
    },
  ];
  return serveManifest(manifestOf(models, { adapter_type: adapter }), {
    DATABASE_URL: adapter === "postgres" ? databaseUrl : clickhouseUrl(),
    RATE_LIMITS: "tier3=1000000",
  });
}

/** The rows of one table of the page, without its head. */
function tableOf(heading: string): readonly (readonly string[])[] {
  const page = readFileSync(new URL("../../runtime/docs/engines.md", import.meta.url), "utf8");
  const section = page.split(/^## /m).find((each) => each.startsWith(heading)) ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const code = (answer: string): string =>
  `\`${answer.replace("\u2028", "<U+2028>").replace("\u2029", "<U+2029>")}\``;
const key = KEYS.tier3;

it.skipIf(!hasClickhouse)("both engines answer alike, except as the page says", async () => {
  const urls = await Promise.all(engines.map(serve));
  const answersTo = (target: string): Promise<readonly string[]> =>
    Promise.all(
      urls.map(async (url) => {
        const { status, text } = await sendRequest(url, `/v1/both/${target}`, { key });
        // ClickHouse breaks the line between rows.
        return status === 200 ? text.replaceAll("},\n{", "},{") : String(status);
      }),
    );

  const different: { json: string[][]; csv: string[][] } = { json: [], csv: [] };
  for (const [i, name] of valueNames.entries()) {
    const column = `v${String(i)}`;
    const [json, csv] = [
      (await answersTo(`vals.json?fields=${column}`)).map((body) => body.slice(column.length + 5, -2)),
      (await answersTo(`vals.csv?fields=${column}`)).map((body) => body.slice(column.length + 2, -2)),
    ];
    expect([name, json]).not.toContain("");
    if (json[0] !== json[1]) different.json.push([name, ...json.map(code)]);
    else if (csv[0] !== csv[1] && /^a (time|date|UUID)$/.test(name))
      different.csv.push([name, ...csv.map(code)]);
    else if (csv[0] !== csv[1]) expect([name, csv[1]]).toEqual([name, `"${csv[0] ?? ""}"`]);
  }
  expect(different.json).toEqual(tableOf("Values in JSON"));
  expect(different.csv).toEqual(tableOf("Values in CSV"));

  const requests = [
    ...columnNames.flatMap((name) => ["ASC", "DESC"].map((by) => `sort_by=${name}&sort_direction=${by}`)),
    ...columnNames.flatMap((name) =>
      (ASKED[name] ?? []).flatMap((value) => [
        ...parametersOf(name).map((parameter) => `${parameter.name}=${value}`),
        ...(FILTERS.includes(name) ? ["eq", "ne", "gt", "gte", "lt", "lte", "in"] : []).map(
          (operator) => `${name}[${operator}]=${value}`,
        ),
      ]),
    ),
    ...FILTERS.flatMap((name) => [`${name}[null]=true`, `${name}[null]=false`]),
  ];
  const encoded = (request: string): string =>
    request.replace(/=([^&]*)/g, (_, value: string) => `=${encodeURIComponent(value)}`);
  const unknown: unknown[] = [];
  let equal = 0;
  for (const request of requests) {
    const [first, second] = await answersTo(`rows?fields=id&${encoded(request)}`);
    if (first === second) equal += first?.startsWith("[") ? 1 : 0;
    else if (!KNOWN.some(({ of }) => of.test(request))) unknown.push([request, first, second]);
  }
  expect(unknown).toEqual([]);
  expect(equal).toBeGreaterThan(400);

  const rows = await Promise.all(
    KNOWN.map(async ({ what, ask }) => {
      const column = /_(\w+?)(=|&)/.exec(ask.replace("sort_by=", "sort_"))?.[1] ?? "";
      const found = (await answersTo(`rows?fields=${column}&${encoded(ask)}`)).map((body) => {
        const values = body.startsWith("[") ? (JSON.parse(body) as Record<string, unknown>[]) : body;
        if (typeof values === "string") return values;
        const texts = [...new Set(values.map((row) => JSON.stringify(row[column]).replace(/^"|"$/g, "")))];
        return texts.length === 0 ? "none" : code(texts.join(", "));
      });
      return [what, code(ask), ...found];
    }),
  );
  expect(rows).toEqual(tableOf("Requests"));
});
