import { describe, expect, it } from "vitest";
import { ownRole } from "../support/database-roles.js";
import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { sendRequest } from "../support/http-client.js";

const schema = await ownSchema(`
  CREATE TABLE @.orders (id int PRIMARY KEY, at timestamptz, ratio float8, paid money, took interval, code bytea, day date);
  INSERT INTO @.orders VALUES
    (1, '2024-03-01 01:00+00', 0.1::float8 + 0.2::float8, 20.5, '-1 days +02:03:04', '\\x00ff', '2024-02-03'),
    (2, '2024-03-01 12:00+00', 1e20, 1000, '1 year 2 mons', '\\x41', '0044-03-15 BC'),
    (3, '2024-03-01 23:00+00', 'NaN', -0.05, '00:00:00.5', '', '12024-01-02');
  CREATE TYPE @.pair AS (at timestamptz, took interval);
  CREATE VIEW @.per_day AS SELECT at::date AS day, count(*) AS n FROM @.orders GROUP BY 1;
  CREATE VIEW @.since AS SELECT id FROM @.orders WHERE at >= timestamp '2024-03-01 00:00';
  CREATE VIEW @.texts AS SELECT id, at::text AS at, ratio::text AS ratio, took::text AS took, code::text AS code, day::text AS day FROM @.orders;
  CREATE VIEW @.shown AS SELECT *, ARRAY[ratio] AS ratios, ARRAY[at] AS ats, tstzrange(at, NULL) AS span, ROW(at, took)::@.pair AS pair FROM @.orders;`);

const role = await ownRole(schema, {
  timezone: "America/New_York",
  datestyle: "German",
  intervalstyle: "iso_8601",
  bytea_output: "escape",
  extra_float_digits: "0",
});

const columns = {
  id: "integer",
  at: "timestamptz",
  ratio: "double precision",
  paid: "money",
  took: "interval",
};
const model = (name: string, rest: object = {}) => ({
  name,
  schema,
  tags: ["production", "role", `api:${name}`],
  ...rest,
});
const api = {
  allow_unfiltered: true,
  sort: [{ column: "id", direction: "ASC" }],
  parameters: [
    { name: "from", column: "at", operator: ">=", type: "date" },
    { name: "to", column: "at", operator: "<=", type: "date" },
    { name: "at", column: "at", operator: "=", type: "string" },
  ],
};
const url = await serveManifest(
  manifestOf([
    model("per_day", {
      columns: { day: "date", n: "bigint" },
      api: { allow_unfiltered: true, sort: [{ column: "day", direction: "ASC" }] },
    }),
    model("since"),
    model("texts", {
      columns: { id: "integer", at: "text", ratio: "text", took: "text", code: "text", day: "text" },
      api,
    }),
    model("shown"),
    model("orders", { columns: { ...columns, code: "bytea", day: "date" }, api }),
  ]),
  { DATABASE_URL: role.url },
);

async function rows(path: string): Promise<unknown> {
  const { text } = await sendRequest(url, `/v1/role/${path}`, { key: KEYS.tier3 });
  return JSON.parse(text) as unknown;
}

describe("a view under a role with settings of its own", () => {
  it("counts by the days of the role's zone", async () => {
    expect(await rows("per_day")).toEqual([
      { day: "2024-02-29", n: 1 },
      { day: "2024-03-01", n: 2 },
    ]);
  });

  it("has the rows that the role sees", async () => {
    expect(await rows("since")).toEqual([{ id: 2 }, { id: 3 }]);
  });

  it("has the texts that the role sees", async () => {
    expect(await rows("texts")).toMatchObject([
      {
        at: "29.02.2024 20:00:00 EST",
        ratio: "0.3",
        took: "P-1DT2H3M4S",
        code: "\\000\\377",
        day: "03.02.2024",
      },
      { at: "01.03.2024 07:00:00 EST", ratio: "1e+20", took: "P1Y2M", code: "A", day: "15.03.0044 BC" },
      { at: "01.03.2024 18:00:00 EST", ratio: "NaN", took: "PT0.5S", code: "", day: "02.01.12024" },
    ]);
  });
});

describe("a value under a role with settings of its own", () => {
  it("is written as under any other", async () => {
    expect(await rows("shown")).toMatchObject([
      {
        at: "2024-03-01T01:00:00Z",
        ratio: 0.30000000000000004,
        paid: 20.5,
        took: "-1 days +02:03:04",
        code: "\\x00ff",
        ratios: [0.30000000000000004],
        ats: ["2024-03-01T01:00:00Z"],
        span: '["2024-03-01 01:00:00+00",)',
        pair: { at: "2024-03-01T01:00:00Z", took: "-1 days +02:03:04" },
      },
      { took: "1 year 2 mons", day: "-000043-03-15", paid: 1000 },
      { ratio: null, ratios: [null], code: "\\x", day: "+012024-01-02", paid: -0.05 },
    ]);
  });

  it("of type money is its decimal", async () => {
    const { text } = await sendRequest(url, "/v1/role/orders.csv?from=2024-03-01", { key: KEYS.tier3 });
    expect(text).toContain("20.50");
    expect(text).toContain("1000.00");
  });

  it.each([
    ["from=2024-03-01", [1, 2, 3]],
    ["to=2024-02-29", []],
    ["to=2024-03-01", [1, 2, 3]],
    ["at=2024-03-01T01:00:00", [1]],
    ["at=2024-03-01T01:00:00Z", [1]],
  ])("is found by a filter in UTC: %s", async (search, ids) => {
    expect(await rows(`orders?${search}`)).toMatchObject(ids.map((id) => ({ id })));
    const counted = await sendRequest(url, `/v1/role/orders?${search}`, {
      key: KEYS.tier3,
      headers: { Prefer: "count=exact" },
    });
    expect(JSON.parse(counted.text)).toHaveLength(ids.length);
  });
});

describe("a view that changes a setting of its session", async () => {
  const SETTINGS = { TimeZone: "Asia/Tokyo", DateStyle: "SQL", IntervalStyle: "sql_standard" };
  const changing = Object.entries({ ...SETTINGS, client_encoding: "LATIN1" }).map(
    ([name, value]) =>
      `CREATE VIEW @.set_${name.toLowerCase()} AS SELECT set_config('${name}', '${value}', false) AS value, 'é' AS letter`,
  );
  const own = await ownSchema(`${changing.join(";")};
    CREATE VIEW @.other AS SELECT (timestamptz '2024-03-01 01:00Z')::text AS at, (interval '-1 day')::text AS took, 'é€' AS letters`);
  const names = ["other", ...Object.keys(SETTINGS).map((name) => `set_${name.toLowerCase()}`)];
  const models = [...names, "set_client_encoding"].map((name) => ({ ...model(name), schema: own }));
  const at = await serveManifest(manifestOf(models), { DATABASE_POOL_SIZE: "1" });
  const get = (name: string) => sendRequest(at, `/v1/role/${name}`, { key: KEYS.tier3 });

  it.each([...Object.entries(SETTINGS), ["client_encoding", null]])(
    "changes nothing for other views: %s",
    async (name, value) => {
      const before = (await get("other")).text;
      expect(before).toContain("é€");
      // The second time it is prepared, and others run beside it.
      for (let i = 0; i < 3; i++) {
        const crowd = ["other", `set_${name.toLowerCase()}`, "other", "other"].map(get);
        const [, changed, ...others] = await Promise.all(crowd);
        if (value === null) expect(changed?.status).toBe(500);
        else expect(JSON.parse(changed?.text ?? "")).toMatchObject([{ letter: "é" }]);
        expect(others.map(({ text }) => text)).toEqual([before, before]);
        expect((await get("other")).text).toBe(before);
      }
    },
  );
});
