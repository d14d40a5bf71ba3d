import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { routewright } from "../commands/run.js";
import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { generateInto, KEYS, ownFolder, serveManifest, startFolder } from "../support/service.js";
import { compiled } from "./compile.js";
import { starterManifest, starterRepository } from "./starter.js";

const folder = starterRepository();
const api = await serveManifest(starterManifest());

const VALUES = `
import { createClient as createExact } from "./exact/endpoints.js";
import { createClient as createPlain } from "./plain/endpoints.js";

export async function run(baseUrl: string, apiKey: string) {
  const query = { start_date: "2026-06-29", limit: 500, sort_by: "block_time", sort_direction: "DESC" } as const;
  const exact = { amounts: [] as (string | null)[], decimals: [] as (string | null)[], times: [] as string[], settled: [] as (string | null)[], days: [] as string[] };
  for (const row of await createExact({ baseUrl, apiKey }).rows("/v1/bridges/transactions", query)) {
    exact.amounts.push(row.amount_raw);
    exact.decimals.push(row.amount);
    exact.times.push(row.block_time);
    exact.settled.push(row.settled_at);
    exact.days.push(row.date);
  }
  const client = createPlain({ baseUrl, apiKey });
  const first = await client.rows("/v1/bridges/transactions", query);
  // From the client's memory: what was made a Date stays one.
  const again = await client.rows("/v1/bridges/transactions", query);
  if (first.length !== again.length) throw new Error("another page");
  const plain = { amounts: [] as (number | null)[], decimals: [] as (number | null)[], times: [] as Date[], settled: [] as (Date | null)[], days: [] as string[] };
  for (const row of again) {
    plain.amounts.push(row.amount_raw);
    plain.decimals.push(row.amount);
    plain.times.push(row.block_time);
    plain.settled.push(row.settled_at);
    plain.days.push(row.date);
  }
  return { exact, plain };
}
`;

describe("routewright client", () => {
  it("gives numbers with all their digits and dates as text, or numbers and `Date` on request", async () => {
    expect(routewright(folder, ["client", "--out", "exact"]).exit).toBe(0);
    expect(
      routewright(folder, ["client", "--out", "plain", "--dates", "date", "--numbers", "number"]).exit,
    ).toBe(0);
    writeFileSync(join(folder, "values.ts"), VALUES);
    const run = await compiled<(url: string, key: string) => Promise<Record<string, unknown>>>(
      folder,
      "values.ts",
    );
    const { exact, plain } = await run(api, KEYS.tier3);
    const url = `${api}/v1/bridges/transactions?start_date=2026-06-29&limit=500&sort_by=block_time&sort_direction=DESC`;
    const text = await (await fetch(url, { headers: { "x-api-key": KEYS.tier3 } })).text();
    const served = (name: string) =>
      [...text.matchAll(new RegExp(`"${name}":"?([^",]+)"?`, "g"))].map(([, value = ""]) => value);
    const amounts = served("amount_raw");
    expect(
      amounts.some((amount) => !Number.isSafeInteger(Number(amount)) && amount !== String(Number(amount))),
    ).toBe(true);
    const times = served("block_time");
    const settled = served("settled_at").map((time) => (time === "null" ? null : time));
    expect(settled).toContain(null);
    expect(exact).toEqual({ amounts, decimals: served("amount"), times, settled, days: served("date") });
    expect(plain).toEqual({
      amounts: amounts.map(Number),
      decimals: served("amount").map(Number),
      times: times.map((time) => new Date(time)),
      settled: settled.map((time) => (time === null ? null : new Date(time))),
      days: served("date"),
    });
  });
});

const schema = await ownSchema(`
  CREATE TABLE @.extremes AS
  SELECT * FROM (VALUES
    (1, 9007199254740993::bigint, 18446744073709551615::numeric(20,0), 1.25::numeric(10,2), 12345678901234567890.123456789::numeric,
      '2026-06-01'::date, '2026-06-01T12:34:56.123456Z'::timestamptz, '2026-06-01T12:00Z'::timestamptz, true, ARRAY[0.5]::numeric[], '{"a": [1]}'::jsonb),
    (2, NULL, NULL, NULL, 2, NULL, NULL, '12024-01-01T00:00Z', NULL, NULL, NULL)
  ) AS rows (id, big, bigger, small, exact, day, at, late, flag, list, document)`);

/** One endpoint whose values reach beyond what floats, 64 bits and four-digit years hold. */
const extremes = manifestOf([
  {
    name: "extremes",
    schema,
    columns: {
      id: "integer",
      big: "bigint",
      bigger: "numeric(20,0)",
      small: "numeric(10,2)",
      exact: "numeric",
      day: "date",
      at: "timestamptz",
      late: "timestamptz",
      flag: "boolean",
      list: "numeric[]",
      document: "jsonb",
    },
    tags: ["production", "own", "api:extremes"],
    api: {
      allow_unfiltered: true,
      parameters: [{ name: "day", column: "day", operator: ">=", type: "date" }],
      sort: [{ column: "id", direction: "ASC" }],
    },
  },
]);

const PYTHON_VALUES = `
import json, sys
from own_api import Client as Own
from shop_api import Client as Shop

shop_url, own_url, key = sys.argv[1:]
with Own(own_url) as own:
    path = "/v1/own/extremes"
    rows, pandas, polars = own.rows(path), own.pandas(path), own.polars(path)
    empty = [own.pandas(path, {"day": "2030-01-01"}), own.polars(path, {"day": "2030-01-01"})]
with Shop(shop_url, key) as shop:
    daily = [shop.pandas("/v1/bridges/volume/daily"), shop.polars("/v1/bridges/volume/daily")]
    query = {"start_date": "2026-06-30", "limit": 100}
    moved = [shop.pandas("/v1/bridges/transactions", query), shop.polars("/v1/bridges/transactions", query)]
first = pandas.iloc[0]
print(json.dumps({
    "rows": [[repr(value) for value in row.values()] for row in rows],
    "pandas": {name: str(dtype) for name, dtype in pandas.dtypes.items()},
    "polars": {name: str(dtype) for name, dtype in polars.schema.items()},
    "first": [str(first["big"]), str(first["bigger"]), str(first["day"]), str(first["at"])],
    "polars first": [repr(value) for value in polars.row(0)],
    "empty": [[frame.shape[0], list(frame.columns) == list(pandas.columns)] for frame in empty],
    "starter": [str(daily[0]["date"].dtype)[:10], str(daily[1]["date"].dtype), str(moved[0]["block_time"].dt.tz), str(moved[1]["block_time"].dtype), sum(moved[0]["amount"]) > 0],
    "same": [str(daily[0]["date"].max().date()) == str(daily[1]["date"].max()), int(daily[0]["transfers"].sum()) == daily[1]["transfers"].sum(), [int(value) for value in moved[0]["amount_raw"]] == [int(value) for value in moved[1]["amount_raw"]], max(int(value) for value in moved[0]["amount_raw"]) > 2**53],
    "limited": [len(frame) for frame in moved],
}))
`;

const EXPECTED_VALUES = {
  rows: [
    [
      "1",
      "9007199254740993",
      "18446744073709551615",
      "Decimal('1.25')",
      "Decimal('12345678901234567890.123456789')",
      "'2026-06-01'",
      "'2026-06-01T12:34:56.123456Z'",
      "'2026-06-01T12:00:00Z'",
      "True",
      "[0.5]",
      "{'a': [1]}",
    ],
    [
      "2",
      "None",
      "None",
      "None",
      "Decimal('2')",
      "None",
      "None",
      "'+012024-01-01T00:00:00Z'",
      "None",
      "None",
      "None",
    ],
  ],
  pandas: {
    id: "Int64",
    big: "Int64",
    bigger: "object",
    small: "float64",
    exact: "float64",
    day: "datetime64[us]",
    at: "datetime64[us, UTC]",
    late: "object",
    flag: "boolean",
    list: "object",
    document: "object",
  },
  polars: {
    id: "Int64",
    big: "Int64",
    bigger: "String",
    small: "Decimal(precision=38, scale=2)",
    exact: "Decimal(precision=38, scale=9)",
    day: "Date",
    at: "Datetime(time_unit='us', time_zone='UTC')",
    late: "Datetime(time_unit='us', time_zone='UTC')",
    flag: "Boolean",
    list: "List(Float64)",
    document: "String",
  },
  first: [
    "9007199254740993",
    "18446744073709551615",
    "2026-06-01 00:00:00",
    "2026-06-01 12:34:56.123456+00:00",
  ],
  "polars first": [
    "1",
    "9007199254740993",
    "'18446744073709551615'",
    "Decimal('1.25')",
    "Decimal('12345678901234567890.123456789')",
    "datetime.date(2026, 6, 1)",
    expect.stringContaining("2026, 6, 1, 12, 34, 56, 123456"),
    expect.stringContaining("2026, 6, 1, 12, 0"),
    "True",
    "[0.5]",
    "'{\"a\": [1]}'",
  ],
  empty: [
    [0, true],
    [0, true],
  ],
  starter: ["datetime64", "Date", "UTC", "Datetime(time_unit='us', time_zone='UTC')", true],
  same: [true, true, true, true],
  limited: [100, 100],
};

describe.skipIf(!needs("mypy"))("routewright client --language python", () => {
  const run = promisify(execFile);

  it("refuses the forms of TypeScript", () => {
    expect(routewright(folder, ["client", "--language", "python", "--dates", "date"])).toMatchObject({
      exit: 2,
      err: expect.stringContaining("--numbers and --dates are for TypeScript"),
    });
  });

  it("gives exact numbers, and data frames with dates and times", async () => {
    const own = ownFolder();
    generateInto(join(own, "generated"), extremes);
    const { url } = await startFolder(join(own, "generated"));
    expect(routewright(own, ["client", "--language", "python", "--out", "own_api"]).exit).toBe(0);
    expect(routewright(folder, ["client", "--language", "python", "--out", "shop_api"]).exit).toBe(0);
    writeFileSync(join(own, "values.py"), PYTHON_VALUES);
    const options = { cwd: own, encoding: "utf8", env: { ...process.env, PYTHONPATH: folder } } as const;
    const { stdout } = await run("python3", ["values.py", api, url, KEYS.tier3], options);
    expect(JSON.parse(stdout)).toEqual(EXPECTED_VALUES);
  });
});
