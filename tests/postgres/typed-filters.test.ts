import { describe, expect, it } from "vitest";
import { selectRows } from "../../runtime/postgres/select.js";
import type { ResultColumns } from "../../runtime/core/warehouse/warehouse.js";
import { ownSchema, query } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { sendRequest, post, refusal, statusAndBody } from "../support/http-client.js";

/** A column of each type, with an index on it. */
const TYPES = {
  i2: "smallint",
  i4: "integer",
  i8: "bigint",
  num: "numeric(20,2)",
  f4: "real",
  f8: "double precision",
  flag: "boolean",
  uid: "uuid",
  day: "date",
  at: "timestamptz",
  local: "timestamp",
  name: "text",
} as const;

const UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
const schema = await ownSchema(`
  CREATE TABLE @.typed (n int, ${Object.entries(TYPES)
    .map((column) => column.join(" "))
    .join(", ")});
  INSERT INTO @.typed VALUES
    (1, 1, 1, 9223372036854775807, 12.30, 0.1, 0.1, true, '${UUID}', '2024-02-29', '2024-01-01 08:00Z', '2024-01-01 08:00:00.5', 'Straße'),
    (2, -5, 2, -9223372036854775808, 18446744073709551.15, 1e30, 1e300, false, NULL, '0044-03-15 BC', '12024-01-01 00:00Z', '0044-03-15 00:00 BC', 'ΣΑΣ'),
    (3, 3, 3, 0, 0, 0, 0, NULL, gen_random_uuid(), '9999-12-31', '2024-07-01 00:00Z', NULL, 'ﬁne');
  CREATE TABLE @.large AS SELECT g AS n, g::smallint % 1000 AS i2, g AS i4, g::bigint AS i8, g::numeric(20,2) AS num,
    g::real AS f4, g::float8 AS f8, md5(g::text)::uuid AS uid, date '2000-01-01' + g AS day,
    timestamptz '2000-01-01 00:00Z' + g * interval '1 minute' AS at, timestamp '2000-01-01' + g * interval '1 minute' AS local, md5(g::text) AS name
    FROM generate_series(1, 20000) g;
  ${Object.keys(TYPES)
    .filter((name) => name !== "flag")
    .map((name) => `CREATE INDEX ON @.large (${name});`)
    .join("\n")}
  ANALYZE @.large;`);

const parameters = Object.keys(TYPES).flatMap((column) => [
  { name: column, column, operator: "=", type: "string" },
  { name: `${column}_in`, column, operator: "IN", type: "string_list" },
  { name: `${column}_lower`, column, operator: "=", type: "string", case: "lower" },
  { name: `${column}_upper_in`, column, operator: "IN", type: "string_list", case: "upper" },
]);
const api = {
  methods: ["GET", "POST"],
  allow_unfiltered: true,
  parameters,
  sort: [{ column: "n", direction: "ASC" }],
};
const tags = (resource: string) => ["production", "shop", `api:${resource}`];
const columns = { n: "integer", ...TYPES };
const undeclared = Object.fromEntries(Object.keys(columns).map((name) => [name, null]));
const models = [
  { name: "typed", schema, tags: tags("typed"), columns, api },
  { name: "typed_undeclared", schema, tags: tags("undeclared"), columns: undeclared, api },
  {
    ...{ name: "typed_tokyo", schema, tags: tags("tokyo"), columns, api: { ...api, parameters: [] } },
    routewright: { timezone: "Asia/Tokyo", filters: ["local"] },
  },
];
const url = await serveManifest(manifestOf(models.map((model) => ({ ...model, alias: "typed" }))));

async function rowsOf(parameter: string, value: string): Promise<unknown> {
  const target = `/v1/shop/typed?${new URLSearchParams({ [parameter]: value }).toString()}`;
  const { status, text } = await sendRequest(url, target, { key: KEYS.tier3 });
  if (status !== 200) return text;
  return (JSON.parse(text) as { n: number }[]).map(({ n }) => n);
}

const REFUSED: readonly (readonly [parameter: string, value: string, detail: string])[] = [
  ["i4", "1.5", "an integer"],
  ["i8_in", "1,x", "an integer"],
  ["num", "12,3", "a number"],
  ["num", "NaN", "a number"],
  ["f8", "0x10", "a number"],
  ["flag", "maybe", "a boolean"],
  ["uid", "a0eebc99", "a UUID"],
  ["at", "2024-01-01", "a date-time"],
  ["at", "2024-02-30T00:00:00Z", "a date-time"],
  ["at", "2024-01-01T25:00:00Z", "a date-time"],
  ["local", "yesterday", "a date-time"],
  ["day", "2023-02-29", "a date in YYYY-MM-DD format"],
];

describe("a filter compares in the type of its column", () => {
  it.each(REFUSED)("%s=%s is refused", async (name, value, expected) => {
    const detail = `Parameter '${name}' must be ${expected}.`;
    const query = new URLSearchParams({ [name]: value }).toString();
    for (const resource of ["typed", "undeclared"])
      expect(
        statusAndBody(await sendRequest(url, `/v1/shop/${resource}?${query}`, { key: KEYS.tier3 })),
      ).toEqual(refusal(400, detail));
  });

  it("finds each value as the API printed it", async () => {
    const { text } = await sendRequest(url, "/v1/shop/typed.csv", { key: KEYS.tier3 });
    const [names = [], ...rows] = text
      .trim()
      .split("\r\n")
      .map((line) => line.replaceAll('"', "").split(","));
    for (const row of rows)
      for (const [i, column] of names.entries()) {
        const value = row[i] ?? "";
        if (column === "n" || value === "") continue;
        expect([column, await rowsOf(column, value)]).toEqual([
          column,
          expect.arrayContaining([Number(row[0])]),
        ]);
      }
  });

  it("takes a time that lies beyond PostgreSQL's range in the column's zone", async () => {
    const found = async (operator: string, day: string): Promise<unknown> => {
      const time = encodeURIComponent(`${day}T23:59:59Z`);
      const { status, text } = await sendRequest(url, `/v1/shop/tokyo?local[${operator}]=${time}`, {
        key: KEYS.tier3,
      });
      return status === 200 ? (JSON.parse(text) as { n: number }[]).map(({ n }) => n) : text;
    };
    for (const day of ["+294276-12-31", "+294276-12-29"])
      for (const operator of ["eq", "in", "ne", "gt", "gte", "lt", "lte"])
        expect([day, operator, await found(operator, day)]).toEqual([
          day,
          operator,
          /ne|lt/.test(operator) ? [1, 2] : [],
        ]);
  });

  it("takes the digits of a JSON number as they are sent", async () => {
    const body = '{"i8": 9223372036854775807}';
    const { text } = await post(url, "/v1/shop/typed", body, { key: KEYS.tier3 });
    expect(JSON.parse(text)).toMatchObject([{ n: 1 }]);
  });
});

describe("an index serves the filter on", () => {
  const shape: ResultColumns = [
    ...Object.entries({ i4: "int4", i8: "int8", num: "numeric", uid: "uuid", day: "date", name: "text" }),
    ...Object.entries({ at: "timestamptz", local: "timestamp", f8: "float8", i2: "int2", f4: "float4" }),
  ].map(([name, type]) => ({ name, type }));
  const value = async (column: string): Promise<string> => {
    const [row] = await query(`SET timezone = 'UTC'`).then(() =>
      query(`SELECT to_json(${column}) #>> '{}' AS v FROM "${schema}".large WHERE n = 500`),
    );
    return String(row?.["v"]);
  };

  it.each(shape.map(({ name }) => name))("%s", async (column) => {
    const selected = await value(column);
    for (const condition of [
      { name: "p", column, operator: "=", type: "string", value: selected },
      { name: "p", column, operator: "IN", type: "string_list", value: [selected] },
    ] as const) {
      const selection = { conditions: [condition], sort: [], page: null };
      const { text, values } = selectRows({ relation: [schema, "large"] }, shape, selection);
      const plan = await query(`EXPLAIN ${text}`, values);
      expect(JSON.stringify(plan)).toMatch(new RegExp(`large_${column}_idx`));
      expect((await query(text, values)).length).toBeGreaterThan(0);
    }
  });
});

it("a value's length is limited to 1,000 characters and a list to 1,000 values", async () => {
  const long = `/v1/shop/typed?name=${"x".repeat(1001)}`;
  expect(statusAndBody(await sendRequest(url, long, { key: KEYS.tier3 }))).toEqual(
    refusal(400, "Parameter 'name' allows at most 1000 characters."),
  );
  expect(
    (await sendRequest(url, `/v1/shop/typed?name=${"x".repeat(1000)}`, { key: KEYS.tier3 })).status,
  ).toBe(200);
  // JSON Schema counts characters, JavaScript counts two for this one.
  const astral = (length: number) =>
    post(url, "/v1/shop/typed", { name: "𝄞".repeat(length) }, { key: KEYS.tier3 });
  expect((await Promise.all([1000, 1001].map(astral))).map(({ status }) => status)).toEqual([200, 400]);
  const body = { name_in: Array.from({ length: 1001 }, (_, i) => String(i)) };
  expect(statusAndBody(await post(url, "/v1/shop/typed", body, { key: KEYS.tier3 }))).toEqual(
    refusal(400, "Parameter 'name_in' allows at most 1000 values."),
  );
});
