import { describe, expect, it } from "vitest";
import { byEngine, ownerQuery, ownTables } from "../../support/engines.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

const schema = await ownTables({
  postgres: `CREATE TABLE @.orders AS SELECT g AS id, (ARRAY['DE', 'AT', 'FR', NULL])[g % 4 + 1] AS country,
    CASE WHEN g % 2 = 0 THEN 'acme' ELSE 'globex' END AS org, 'mail' || g AS email, g % 3 = 0 AS paid,
    CASE WHEN g % 5 = 0 THEN NULL ELSE (g % 97)::numeric(20, 2) / 4 END AS amount, 9007199254740993 AS huge, (g % 7)::float8 AS ratio,
    date '2024-01-01' + g % 700 AS day, timestamptz '2026-01-01Z' + g * interval '37 minutes' AS at, ARRAY['a'] AS tags,
    g AS salary FROM generate_series(1, 24000) g`,
  clickhouse: [
    `CREATE TABLE @.orders (id Int64, country Nullable(String), org String, email String, paid Bool, amount Nullable(Decimal(20, 2)),
      huge Int64, ratio Float64, day Date, at DateTime('UTC'), tags Array(String), salary Int64) ORDER BY id`,
    `INSERT INTO @.orders SELECT number + 1 AS g, ['DE', 'AT', 'FR', NULL][g % 4 + 1], if(g % 2 = 0, 'acme', 'globex'),
      concat('mail', toString(g)), g % 3 = 0, if(g % 5 = 0, NULL, toDecimal64(g % 97, 2) / 4), 9007199254740993, g % 7,
      toDate('2024-01-01') + g % 700, toDateTime('2026-01-01 00:00:00', 'UTC') + g * 37 * 60, ['a'], g FROM numbers(24000)`,
  ],
});

const columns = byEngine({
  postgres: {
    ...{
      id: "bigint",
      country: "text",
      org: "text",
      email: "text",
      paid: "boolean",
      amount: "numeric(20,2)",
    },
    ...{ huge: "bigint", ratio: "double precision", day: "date", at: "timestamptz", tags: "text[]" },
    salary: "bigint",
  },
  clickhouse: {
    ...{ id: "Int64", country: "Nullable(String)", org: "String", email: "String", paid: "Bool" },
    ...{
      amount: "Nullable(Decimal(20, 2))",
      huge: "Int64",
      ratio: "Float64",
      day: "Date",
      at: "DateTime('UTC')",
    },
    ...{ tags: "Array(String)", salary: "Int64" },
  },
});
const model = (name: string, routewright: object = {}, api: object = {}) => ({
  name,
  schema,
  alias: "orders",
  columns,
  api: { allow_unfiltered: true, ...api },
  routewright: { filters: ["country", "org", "day", "id"], ...routewright },
});
const manifest = manifestOf([
  model("orders"),
  model("own", { rows: { column: "org", equals: "org" } }),
  model("filtered", {}, { allow_unfiltered: false }),
  { ...model("locked"), tags: ["production", "shop", "tier1", "api:locked"] },
  model("grouped", {
    aggregate: { group_by: ["country"], measures: { orders: { agg: "count" } }, rows: false },
  }),
  model("measured", { aggregate: { group_by: ["country"], measures: { orders: { agg: "count" } } } }),
]) as { nodes: Record<string, { columns: Record<string, object> }> };
for (const node of Object.values(manifest.nodes))
  node.columns["salary"] = { ...node.columns["salary"], config: { meta: { pii: true } } };

const owner = (tier: string, org: string, more = {}) => ({ tier, user: org, org, ...more });
const API_KEYS = JSON.stringify({
  sk_live_acme: owner("tier0", "acme"),
  /** For one request after the other of a window that begins with the first. */
  sk_live_counted: owner("tier0", "acme"),
  sk_live_globex: owner("tier0", "globex"),
  sk_live_all: owner("tier3", "*"),
  sk_live_listed: owner("tier3", "acme", { allowed: ["/v1/shop/own"] }),
});
const url = await serveManifest(manifest, { API_KEYS, RATE_LIMITS: "100000" });

const ask = (query: string, key?: string): Promise<Reply> =>
  sendRequest(url, `/v1/system/chart?${query}`, key === undefined ? {} : { key: `sk_live_${key}` });

interface Points {
  readonly points: readonly { x: unknown; by: unknown[]; sum: unknown[]; count: unknown[] }[];
  readonly more: boolean;
}

/** The points as texts in the order of their texts; a refusal as a text. */
async function points(query: string, key?: string): Promise<unknown> {
  const { status, text } = await ask(query, key);
  if (status !== 200) return `${String(status)} ${text}`;
  const { points: found, more } = JSON.parse(text) as Points;
  expect(more).toBe(false);
  return found.map(({ x, by, sum, count }) => [x, ...by, ...sum, ...count].map(plain).join("|")).sort();
}

/** A value as a text. Engines write `12.50` and `12.5`; times are compared to the second. */
function plain(value: unknown): string {
  if (value === null || value === "\\N") return "null";
  const text = value instanceof Date ? value.toISOString() : String(value);
  const time = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)/.exec(text);
  if (time !== null) return `${time[1] ?? ""} ${time[2] ?? ""}`;
  return /^-?\d+(\.\d+)?$/.test(text) && text.length < 15 ? String(Number(text)) : text;
}

/** The same from the database. */
async function sql(select: string): Promise<readonly string[]> {
  const found = await ownerQuery(select.replaceAll("@", schema));
  const rows =
    typeof found === "string"
      ? found
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => line.split("\t"))
      : (found as Record<string, unknown>[]).map((row) => Object.values(row));
  return rows.map((row) => row.map(plain).join("|")).sort();
}

const of = (path: string, query: string): string => `path=/v1/shop/${path}&${query}`;
const day = byEngine({ postgres: "day::text", clickhouse: "toString(day)" });
const truth = byEngine({ postgres: "paid::text", clickhouse: "toString(paid)" });

describe("the points of a chart", () => {
  it("are the sums and the numbers of values of all rows", async () => {
    expect(await points(of("orders", "x=country&y=amount"))).toEqual(
      await sql("SELECT country, sum(amount), count(amount) FROM @.orders GROUP BY country"),
    );
    expect(await points(of("orders", "x=day&y=amount,ratio&by=country,paid"))).toEqual(
      await sql(
        `SELECT ${day} AS d, country, ${truth} AS p, sum(amount) AS a, sum(ratio) AS b, count(amount) AS c, count(ratio) AS e FROM @.orders GROUP BY 1, 2, 3`,
      ),
    );
  });

  it("keep all digits", async () => {
    const { text } = await ask(of("orders", "x=org&y=huge&id[lte]=3"));
    expect((JSON.parse(text) as Points).points.map(({ sum }) => sum)).toEqual([
      ["18014398509481986"],
      ["9007199254740993"],
    ]);
  });

  it("are of periods in UTC", async () => {
    for (const grain of ["hour", "day", "week", "month", "year"]) {
      const start = byEngine({
        postgres: `date_trunc('${grain}', at AT TIME ZONE 'UTC')`,
        clickhouse: `toDateTime64(dateTrunc('${grain}', at, 'UTC'), 0, 'UTC')`,
      });
      const text = byEngine({
        postgres: `to_char(${start}, 'YYYY-MM-DD HH24:MI:SS')`,
        clickhouse: `formatDateTime(${start}, '%Y-%m-%d %H:%i:%S')`,
      });
      const expected = await sql(
        `SELECT ${text} AS t, sum(id), count(id) FROM @.orders WHERE id <= 9000 GROUP BY 1`,
      );
      const found = (await points(
        of("orders", `x=at&grain=${grain}&y=id&id[lte]=9000`),
      )) as readonly string[];
      expect(found.map((each) => each.replace(/^(\d{4}-\d\d-\d\d)\|/, "$1 00:00:00|"))).toEqual(expected);
    }
  });

  it("come in the order of time, or the largest first, and say where there are more", async () => {
    const read = async (query: string) => JSON.parse((await ask(of("orders", query))).text) as Points;
    const days = (await read("x=day&y=amount")).points.map(({ x }) => String(x));
    expect(days).toEqual(days.toSorted());
    const ids = await read("x=id&y=id");
    expect(ids.more).toBe(true);
    expect(ids.points.slice(0, 2).map(({ x }) => x)).toEqual([24000, 23999]);
    expect(ids.points).toHaveLength(10_000);
  });

  it("are of the rows that the endpoint's filters select, where it requires one too", async () => {
    expect(await points(of("orders", "x=country&y=id&country[in]=AT,FR&id[lte]=100"))).toEqual(
      await sql(
        "SELECT country, sum(id), count(id) FROM @.orders WHERE country IN ('AT', 'FR') AND id <= 100 GROUP BY country",
      ),
    );
    expect(await points(of("filtered", "x=country&y=id"))).toBe(
      `400 {"detail":"At least one business filter is required for this endpoint."}`,
    );
    for (const name of ["fields", "sort_by", "offset", "limit", "cursor", "column", "group_by"])
      expect(await points(of("orders", `x=country&y=id&${name}=id`))).toBe(
        `400 {"detail":"Unsupported query parameters: ${name}"}`,
      );
  });

  it("of an endpoint with measures are of its rows; one without rows has none", async () => {
    expect(await points(of("measured", "x=paid&y=id"))).toEqual(
      await sql(`SELECT ${truth} AS p, sum(id), count(id) FROM @.orders GROUP BY 1`),
    );
    expect(await points(of("grouped", "x=country&y=orders"))).toBe(
      `400 {"detail":"'x' must be among: none."}`,
    );
  });

  it("are refused for columns that are none of them", async () => {
    const refused = async (query: string) => {
      const { status, text } = await ask(of("orders", query));
      return `${String(status)} ${(JSON.parse(text) as { detail: string }).detail}`;
    };
    const names = Object.keys(columns).filter((name) => name !== "salary");
    for (const name of ["salary", "nothing", "__proto__"]) {
      const listed = names.join(", ");
      expect(await refused(`x=${name}&y=id`)).toBe(`400 'x' must be among: ${listed}.`);
      expect(await refused(`x=id&y=id,${name}`)).toBe(`400 'y' must be among: ${listed}.`);
      expect(await refused(`x=id&y=id&by=${name}`)).toBe(`400 'by' must be among: ${listed}.`);
    }
    expect(await refused("x=country")).toBe("400 Parameter 'y' is required.");
    expect(await refused("y=id")).toBe("400 Parameter 'x' is required.");
    const compared = "cannot be used: values of its column cannot be compared like this.";
    expect(await refused("x=tags&y=id")).toBe(`400 Parameter 'x' ${compared}`);
    expect(await refused("x=id&y=id&by=tags")).toBe(`400 Parameter 'by' ${compared}`);
    for (const name of ["country", "day", "paid"])
      expect(await refused(`x=id&y=${name}`)).toBe(
        `400 Parameter 'y' cannot be used: the values of its column '${name}' are no numbers.`,
      );
    expect(await refused("x=country&y=id&grain=day")).toBe(
      "400 'grain' needs a column of dates or times as 'x'.",
    );
    expect(await refused("x=day&y=id&grain=decade")).toContain("400 Parameter 'grain' must be one of: ");
    expect(await refused("x=day&x=id&y=id")).toContain("400 ");
    expect(await refused("x=id&y=id&by=id,country,org,email,paid,amount,huge,ratio,day")).toContain("400 ");
  });
});

describe("nobody gets points that are not theirs", () => {
  it("of another organization, also from those that are kept", async () => {
    const own = (org: string) =>
      sql(`SELECT org, sum(id), count(id) FROM @.orders WHERE org = '${org}' GROUP BY org`);
    for (const round of [1, 2]) {
      expect([round, await points(of("own", "x=org&y=id"), "acme")]).toEqual([round, await own("acme")]);
      expect([round, await points(of("own", "x=org&y=id"), "globex")]).toEqual([round, await own("globex")]);
    }
    expect(await points(of("own", "x=org&y=id"), "all")).toHaveLength(2);
    expect(await points(of("own", "x=org&y=id&org[eq]=globex"), "acme")).toEqual([]);
    expect(await points(of("own", "x=org&y=id"))).toContain("Send the key of an organization.");
  });

  it("of endpoints that their key may not call", async () => {
    expect(await points(of("locked", "x=org&y=id"))).toBe(
      `403 {"detail":"Missing authentication header: X-API-Key"}`,
    );
    expect(await points(of("locked", "x=org&y=id"), "acme")).toContain("requires tier1 access");
    expect(await points(of("orders", "x=org&y=id"), "listed")).toContain("may not call /v1/shop/orders");
    for (const path of ["/v1/shop/./locked", "/v1/system/chart", "__proto__"])
      expect((await ask(`path=${path}&x=org&y=id`)).status).toBe(404);
  });

  it("is one request, is not kept by caches, and takes no other method", async () => {
    const first = await ask(of("orders", "x=org&y=id"), "counted");
    const second = await ask(of("orders", "x=org&y=id"), "counted");
    const left = ({ headers }: Reply) => Number(headers["x-ratelimit-remaining"]);
    expect(left(first) - left(second)).toBe(1);
    expect(first.headers["cache-control"]).toBe("no-store");
    expect((await sendRequest(url, "/v1/system/chart", { method: "POST" })).status).toBe(405);
  });
});

it("points are kept for a minute", async () => {
  const before = await points(of("orders", "x=org&y=id&id[gt]=23990"));
  await ownerQuery(`INSERT INTO ${schema}.orders (id, org) VALUES (99000, 'acme')`);
  expect(await points(of("orders", "x=org&y=id&id[gt]=23990"))).toEqual(before);
  expect(await points(of("orders", "x=org&y=id&id[gt]=23991"))).not.toEqual(before);
});
