import { describe, expect, it } from "vitest";
import { databaseUrl, ownSchema, query, withSettings } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { serveManifest } from "../support/service.js";
import { refusal, sendRequest, statusAndBody } from "../support/http-client.js";

/** Two values of each type: an array that takes one for the other shows it. */
const TYPES: Readonly<Record<string, readonly [string, string]>> = {
  int2: ["1", "-2"],
  int4: ["1", "-2"],
  int8: ["9223372036854775807", "-2"],
  numeric: ["123456789012345678901234567890.10", "NaN"],
  float4: ["0.5", "Infinity"],
  float8: ["0.1", "-Infinity"],
  money: ["1.50", "2"],
  bool: ["true", "false"],
  text: ['quo"te, {x}', "line\nbreak"],
  varchar: ["a", ""],
  bpchar: ["a", "b"],
  name: ["a", "b"],
  '"char"': ["a", "b"],
  bytea: ["\\x00ff", "\\x01"],
  date: ["2026-01-31", "infinity"],
  time: ["01:02:03.5", "23:59:59"],
  timetz: ["01:02:03+02", "00:00:00-05"],
  timestamp: ["2026-01-31 01:02:03.5", "0044-03-15 12:00:00 BC"],
  timestamptz: ["2026-01-31 01:02:03.5+02", "12026-01-31 00:00:00Z"],
  interval: ["1 day 02:00:00", "-3 mons"],
  uuid: ["0b0e0f6e-1f0a-4f0e-8f00-000000000001", "0b0e0f6e-1f0a-4f0e-8f00-000000000002"],
  json: ['{"a":\n[1, 2]}', '"x"'],
  jsonb: ['{"b": 1.10}', "[null]"],
  xml: ["<a>1</a>", "<b/>"],
  inet: ["10.0.0.1", "10.0.0.0/8"],
  cidr: ["10.0.0.0/8", "::/0"],
  macaddr: ["08:00:2b:01:02:03", "08:00:2b:01:02:04"],
  macaddr8: ["08:00:2b:01:02:03:04:05", "08:00:2b:01:02:03:04:06"],
  "bit(3)": ["101", "010"],
  varbit: ["1", "0101"],
  point: ["(1,2)", "(3,4)"],
  line: ["{1,2,3}", "{4,5,6}"],
  box: ["(3,4),(1,2)", "(7,8),(5,6)"],
  path: ["((1,2),(3,4))", "[(1,2)]"],
  circle: ["<(1,2),3>", "<(4,5),6>"],
  tsvector: ["'a':1", "'b'"],
  tsquery: ["'a' & 'b'", "'c'"],
  int4range: ["[1,3)", "empty"],
  lseg: ["[(1,2),(3,4.5)]", "[(0,0),(1e+20,-1)]"],
  polygon: ["((1,2),(3,4),(5,6))", "((0.1,0))"],
  tstzrange: ['["2026-01-01 00:00:00+00",)', "empty"],
  tsrange: ['["2026-01-01 00:00:00","2026-01-02 00:00:00")', "(,)"],
  daterange: ["[2026-01-01,2026-02-01)", "[0044-03-15 BC,infinity)"],
  numrange: ["[1.10,2]", "(,5)"],
  datemultirange: ["{[2026-01-01,2026-02-01),[2026-03-01,)}", "{}"],
  tstzmultirange: ['{["2026-01-01 00:00:00+00","2026-01-02 00:00:00+00")}', "{(,)}"],
  oid: ["1", "2"],
  regclass: ["pg_class", "pg_type"],
  pg_lsn: ["16/B374D848", "0/1"],
};
const entries = Object.entries(TYPES).map(([type, values], i) => [`t${String(i)}`, type, values] as const);

const quote = (text: string): string =>
  `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;

/** Composite types nested in arrays of composite types; their fields have the names that statements use themselves. */
const setup = entries.map(([name, type, [a, b]]) => {
  const [one, two] = [`${quote(a)}::${type}`, `${quote(b)}::${type}`];
  const leaf = (x: string, y: string): string => `ROW(${x}, ARRAY[${x}, ${y}]::${type}[])::@.${name}_1`;
  const [l1, l2] = [leaf(one, two), leaf(two, one)];
  const middle = (x: string, y: string): string => `ROW(${x}, ARRAY[${x}, ${y}], 7)::@.${name}_2`;
  const [m1, m2] = [middle(l1, l2), middle(l2, l1)];
  return `CREATE TYPE @.${name}_1 AS (v ${type}, i ${type}[]);
    CREATE TYPE @.${name}_2 AS (c @.${name}_1, i @.${name}_1[], i0 int);
    CREATE TABLE @.${name} AS SELECT ${one} AS one, ${two} AS two, ARRAY[${one}, ${two}] AS flat,
      ${m1} AS nested, ARRAY[${m1}, ${m2}] AS many;`;
});

/** More than all combinations of two values and null in six places, of which there are 729. `TYPE_ROWS=5200` for 200,000 rows of all types. */
const ROWS = Number(process.env["TYPE_ROWS"] ?? 800);

/** Which of the three stands in a place of row `n`. */
const pick = (n: number, place: number): number => Math.floor(n / 3 ** place) % 3;

const combinations = entries.map(([name, type, [a, b]]) => {
  const value = (place: number): string =>
    `(ARRAY[${quote(a)}, ${quote(b)}, NULL]::${type}[])[1 + n / ${String(3 ** place)} % 3]`;
  const list = (...places: readonly number[]): string => `ARRAY[${places.map(value).join(", ")}]::${type}[]`;
  return `CREATE TABLE @.${name}_all AS SELECT n AS id, ${value(0)} AS one,
    ROW(ROW(${value(1)}, ${list(2, 3)})::@.${name}_1, ARRAY[ROW(${value(4)}, ${list(5)})::@.${name}_1, NULL], n)::@.${name}_2 AS nested
    FROM generate_series(0, ${String(ROWS - 1)}) n;`;
});
const schema = await ownSchema(`${setup.join("\n")}${combinations.join("\n")}
  CREATE TYPE @.d1 AS (at timestamptz, f float8); CREATE TYPE @.d2 AS (c @.d1); CREATE TYPE @.d3 AS (c @.d2);
  CREATE TYPE @.d4 AS (c @.d3); CREATE TYPE @.d5 AS (c @.d4);
  CREATE TABLE @.deep AS SELECT ROW(ROW(ROW(ROW(ROW('2026-01-01'::timestamptz, 'NaN'::float8)::@.d1)::@.d2)::@.d3)::@.d4)::@.d5 AS deep;
  CREATE TABLE @.bare (); INSERT INTO @.bare DEFAULT VALUES; INSERT INTO @.bare DEFAULT VALUES;
  CREATE TABLE @.hosts AS SELECT * FROM (VALUES (1, '10.0.0.1'::inet), (2, '10.0.0.0/8'), (3, '::1')) AS v(id, host);
  CREATE TABLE @.edges AS SELECT * FROM (VALUES
    (1, '294276-12-31 23:59:59'::timestamp), (2, '2026-07-01 12:00:00'), (3, 'infinity'), (4, '4714-11-24 00:00:00 BC')) AS v(id, at);
  CREATE TABLE @.instants AS SELECT 1 AS id, '294276-12-31 23:59:59+00'::timestamptz AS at;`);

const filter = (column: string) => ({
  allow_unfiltered: true,
  parameters: [
    { name: column, column, operator: "=", type: "string" },
    { name: "some", column, operator: "IN", type: "string_list" },
    { name: "like", column, operator: "ILIKE", type: "string" },
  ],
  sort: [{ column: "id", direction: "ASC" }],
});
const model = (name: string, columns: Readonly<Record<string, string | null>>, api?: unknown) => ({
  name,
  schema,
  columns,
  tags: ["production", "types", `api:${name}`],
  ...(api !== undefined && { api }),
});
const manifest = manifestOf([
  ...entries.flatMap(([name, type], i) => [
    i % 2 === 0
      ? model(name, {})
      : model(name, { one: type, two: type, flat: `${type}[]`, nested: `${name}_2`, many: `${name}_2[]` }),
    model(`${name}_all`, {}),
  ]),
  model("deep", {}),
  model("bare", {}),
  model("hosts", { id: "int", host: "inet" }, filter("host")),
  model("edges", { id: "int", at: "timestamp" }, filter("at")),
  model("instants", { id: "int", at: "timestamptz" }, filter("at")),
]) as { nodes: Record<string, { config: { meta: object } }> };
Object.assign(manifest.nodes["model.test.edges"]!.config.meta, {
  routewright: { timezone: "America/New_York" },
});
const url = await serveManifest(manifest, { RATE_LIMITS: "100000", DATABASE_URL: withSettings(databaseUrl) });

/** The JSON of a value outside of arrays and composites: PostgreSQL's own, except for what JSON or RFC 3339 has not. */
async function scalar(name: string, type: string, column: "one" | "two"): Promise<string> {
  const value = type === "money" ? `${column}::numeric` : column;
  const [row] = await query(
    `SELECT to_json(${value})::text AS json, ${column}::text AS text FROM "${schema}".${name}`,
  );
  const [json, text] = [String(row?.["json"]), String(row?.["text"])];
  if (/^"(NaN|-?[Ii]nfinity)"$/.test(json)) return "null";
  if (type === "timestamp")
    return text.endsWith("BC") ? '"-000043-03-15T12:00:00Z"' : `"${text.replace(" ", "T")}Z"`;
  if (type === "timestamptz") {
    const [utc] = await query(`SELECT (${column} AT TIME ZONE 'UTC')::text AS text FROM "${schema}".${name}`);
    const time = `${String(utc?.["text"]).replace(" ", "T")}Z`;
    return `"${time.length > 24 || time.startsWith("1202") ? `+0${time}` : time}"`;
  }
  return json;
}

/** JSON without white space between its tokens. */
const compact = (json: string): string => JSON.stringify(JSON.parse(json));

/** As `compact`, with all digits of long numbers. */
const exact = (json: string): string => compact(json.replace(/\d{17,}(\.\d+)?/g, '"$&"'));

describe("each of PostgreSQL's types", () => {
  it.each(entries)("%s is the same alone, in arrays and in composites three deep: %s", async (name, type) => {
    const [a, b] = [await scalar(name, type, "one"), await scalar(name, type, "two")];
    const leaf = (x: string, y: string): string => `{"v":${x},"i":[${x},${y}]}`;
    const [l1, l2] = [leaf(a, b), leaf(b, a)];
    const middle = (x: string, y: string): string => `{"c":${x},"i":[${x},${y}],"i0":7}`;
    const [m1, m2] = [middle(l1, l2), middle(l2, l1)];
    const fields = { one: a, two: b, flat: `[${a},${b}]`, nested: m1, many: `[${m1},${m2}]` };
    const expected = `{${Object.entries(fields)
      .map(([field, json]) => `"${field}":${json}`)
      .join(",")}}`;
    const json = await sendRequest(url, `/v1/types/${name}`);
    expect([json.status, exact(json.text)]).toEqual([200, exact(`[${expected}]`)]);
    const ndjson = await sendRequest(url, `/v1/types/${name}.ndjson`);
    expect(ndjson.text.trimEnd()).not.toContain("\n");
    expect(exact(ndjson.text)).toBe(exact(expected));
    const csv = await sendRequest(url, `/v1/types/${name}.csv`);
    const cells = csv.text.slice(csv.text.indexOf("\n") + 1).trimEnd();
    const cell = (value: string): string => value.replaceAll('"', '""');
    expect(cells.replaceAll(/\s/g, "")).toContain(`"${cell(m1)}"`.replaceAll(/\s/g, ""));
  });

  it.each(entries)("%s has the same text in all combinations with null: %s", async (name, type) => {
    const texts = [await scalar(name, type, "one"), await scalar(name, type, "two"), "null"];
    const expected = Array.from({ length: ROWS }, (_, n) => {
      const [one, v, i0, i1, v1, i2] = [0, 1, 2, 3, 4, 5].map((place) => String(texts[pick(n, place)]));
      const leaf = `{"v":${String(v1)},"i":[${String(i2)}]}`;
      return `{"id":${String(n)},"one":${String(one)},"nested":{"c":{"v":${String(v)},"i":[${String(i0)},${String(i1)}]},"i":[${leaf},null],"i0":${String(n)}}}`;
    });
    const [json, ndjson] = await Promise.all(
      ["", ".ndjson"].map((suffix) => sendRequest(url, `/v1/types/${name}_all${suffix}`)),
    );
    expect(exact(String(json?.text)) === exact(`[${expected.join(",")}]`)).toBe(true);
    const lines = String(ndjson?.text).trimEnd().split("\n");
    expect(lines.findIndex((line, n) => exact(line) !== exact(String(expected[n])))).toBe(-1);
    expect(lines).toHaveLength(ROWS);
  });

  it("has composites five deep", async () => {
    expect(statusAndBody(await sendRequest(url, "/v1/types/deep"))).toEqual([
      200,
      [{ deep: { c: { c: { c: { c: { at: "2026-01-01T00:00:00Z", f: null } } } } } }],
    ]);
  });

  it("are never none: a table without columns is refused", async () => {
    for (const format of ["", ".csv", ".ndjson"])
      expect(statusAndBody(await sendRequest(url, `/v1/types/bare${format}`))).toEqual(
        refusal(500, "Database query failed."),
      );
  });
});

describe("a filter", () => {
  const ids = async (path: string): Promise<unknown> => {
    const [status, body] = statusAndBody(await sendRequest(url, `/v1/types/${path}`));
    return status === 200 ? (body as { id: number }[]).map(({ id }) => id) : [status, body];
  };

  it("of an inet column finds hosts and networks", async () => {
    expect(await ids("hosts?host=10.0.0.1")).toEqual([1]);
    expect(await ids("hosts?host=10.0.0.1/32")).toEqual([1]);
    expect(await ids("hosts?host=10.0.0.0/8")).toEqual([2]);
    expect(await ids("hosts?some=::1,10.0.0.1")).toEqual([1, 3]);
    expect(await ids("hosts?like=10.0.0.1")).toEqual([1]);
    for (const host of ["10.0.0", "10.0.0.1/33", "fe80::1%25eth0"])
      expect(await ids(`hosts?host=${host}`)).toEqual(
        refusal(400, "Parameter 'host' must be an IP address."),
      );
  });

  it("takes every time that RFC 3339 can write, and none is an error of the server", async () => {
    expect(await ids("instants?at=%2B294276-12-31T23:59:59Z")).toEqual([1]);
    expect(await ids("instants?at=%2B294276-12-31T09:59:59-14:00")).toEqual([1]);
    for (const time of ["23:59:59-14:00", "23:59:59.9999999Z", "23:59:00-00:01"])
      expect(await ids(`instants?at=%2B294276-12-31T${time}`)).toEqual([]);
  });
});

it("a time that has no instant in UTC is null, and the others of its column are there", async () => {
  expect(statusAndBody(await sendRequest(url, "/v1/types/edges"))).toEqual([
    200,
    [
      { id: 1, at: null },
      { id: 2, at: "2026-07-01T16:00:00Z" },
      { id: 3, at: null },
      { id: 4, at: null },
    ],
  ]);
});
