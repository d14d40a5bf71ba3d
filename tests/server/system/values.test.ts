import { describe, expect, it } from "vitest";
import { byEngine, ownerQuery, ownTables } from "../../support/engines.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

const COUNTRIES = "['DE', 'de', 'AT', 'D_', 'D%', 'FR']";
const schema = await ownTables({
  postgres: `CREATE TABLE @.orders AS SELECT g AS id,
    CASE WHEN g > 60 THEN NULL ELSE (ARRAY${COUNTRIES})[CASE WHEN g <= 50 THEN 1 ELSE g % 6 + 1 END] END AS country,
    CASE WHEN g % 2 = 0 THEN 'acme' ELSE 'globex' END AS org, 'mail' || g || '@x' AS email, g % 2 = 0 AS paid,
    12.30::numeric(20, 2) AS amount, 18446744073709551615::numeric(20, 0) AS huge, date '2026-01-01' + g % 3 AS day,
    timestamptz '2026-01-01 10:00Z' + g % 2 * interval '1 minute' AS at, CASE g % 3 WHEN 0 THEN 'NaN' WHEN 1 THEN 1.5 END::float8 AS ratio,
    ARRAY['a'] AS tags, '{"a": 1}'::json AS doc, repeat('x', CASE WHEN g = 1 THEN 1001 ELSE g % 3 + 1 END) AS note,
    g || repeat('ü', 990) AS long FROM generate_series(1, 64) g;
    CREATE VIEW @.folded AS SELECT country AS "Country", org AS "Org" FROM @.orders`,
  clickhouse: [
    `CREATE TABLE @.orders (id Int64, country Nullable(String), org String, email String, paid Bool, amount Decimal(20, 2),
      huge UInt64, day Date, at DateTime('UTC'), ratio Nullable(Float64), tags Array(String), doc Map(String, Int64), note String,
      long String) ORDER BY id`,
    `INSERT INTO @.orders SELECT number + 1 AS g, if(g > 60, NULL, ${COUNTRIES}[if(g <= 50, 1, g % 6 + 1)]),
      if(g % 2 = 0, 'acme', 'globex'), concat('mail', toString(g), '@x'), g % 2 = 0, toDecimal64(12.3, 2),
      18446744073709551615, toDate('2026-01-01') + g % 3, toDateTime('2026-01-01 10:00:00', 'UTC') + 60 * (g % 2),
      [nan, 1.5, NULL][g % 3 + 1], ['a'], map('a', 1), repeat('x', if(g = 1, 1001, g % 3 + 1)), concat(toString(g), repeat('ü', 990)) FROM numbers(64)`,
    `CREATE VIEW @.folded AS SELECT country AS "Country", org AS "Org" FROM @.orders`,
  ],
});

const columns = byEngine({
  postgres: {
    ...{ id: "bigint", country: "text", org: "text", email: "text", paid: "boolean" },
    ...{ amount: "numeric(20,2)", huge: "numeric(20,0)", day: "date", at: "timestamptz" },
    ...{ ratio: "double precision", tags: "text[]", doc: "json", note: "text", long: "text" },
  },
  clickhouse: {
    ...{ id: "Int64", country: "Nullable(String)", org: "String", email: "String", paid: "Bool" },
    ...{ amount: "Decimal(20, 2)", huge: "UInt64", day: "Date", at: "DateTime('UTC')" },
    ...{ ratio: "Nullable(Float64)", tags: "Array(String)", doc: "Map(String, Int64)" },
    ...{ note: "String", long: "String" },
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
  model("expression", { filter: true }),
  model("own", { rows: { column: "org", equals: "org" } }),
  model("filtered", {}, { allow_unfiltered: false }),
  model(
    "any",
    {},
    {
      require_any_of: ["since"],
      parameters: [{ name: "since", column: "day", operator: ">=", type: "date" }],
    },
  ),
  { ...model("undeclared", { filters: [] }), columns: {} },
  { ...model("locked"), tags: ["production", "shop", "tier1", "api:locked"] },
  model("moved", { former_paths: [{ path: "/v1/shop/before" }] }),
  { ...model("hidden", { filters: ["country"] }), columns: { country: columns.country } },
  {
    ...model("folded", { filters: ["country"], rows: { column: "org", equals: "org" } }),
    alias: "folded",
    columns: { country: columns.country, org: columns.org },
  },
  model("grouped", {
    aggregate: {
      group_by: ["country", { column: "day", grains: ["month"] }],
      measures: { orders: { agg: "count" } },
      rows: false,
    },
  }),
]) as { nodes: Record<string, { columns: Record<string, object>; config: { meta: object } }> };
for (const { columns } of Object.values(manifest.nodes))
  if (columns["email"]) columns["email"] = { ...columns["email"], config: { meta: { pii: true } } };
manifest.nodes["model.test.hidden"]!.config.meta = {
  ...manifest.nodes["model.test.hidden"]!.config.meta,
  pii: true,
};

const owner = (tier: string, org: string, more = {}) => ({ tier, user: org, org, ...more });
const API_KEYS = JSON.stringify({
  sk_live_acme: owner("tier0", "acme"),
  sk_live_globex: owner("tier0", "globex"),
  sk_live_all: owner("tier3", "*"),
  sk_live_listed: owner("tier3", "acme", { allowed: ["/v1/shop/before"] }),
});
const url = await serveManifest(manifest, { API_KEYS, RATE_LIMITS: "100000" });

const ask = (query: string, key?: string): Promise<Reply> =>
  sendRequest(url, `/v1/system/values?${query}`, key === undefined ? {} : { key: `sk_live_${key}` });

function compared(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [one, other] = [String(a), String(b)];
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Values with their numbers of rows, then `more` where there are others; a refusal as a text. */
async function values(query: string, key?: string): Promise<unknown> {
  const { status, text } = await ask(query, key);
  if (status !== 200) return `${String(status)} ${text}`;
  const answer = JSON.parse(text) as { values: { value: unknown; rows?: number }[]; more: boolean };
  const counts = answer.values.map(({ rows = 0 }) => rows);
  expect(counts).toEqual(counts.toSorted((a, b) => b - a));
  // Engines and collations differ in the order of texts.
  const sorted = answer.values.toSorted((a, b) => compared(b.rows, a.rows) || compared(a.value, b.value));
  return [...sorted.map(({ value, rows }) => [value, rows]), ...(answer.more ? ["more"] : [])];
}
const of = (path: string, column: string, more = ""): string =>
  `path=/v1/shop/${path}&column=${column}${more}`;

describe("the values of a column", () => {
  it("are those of its rows, the most frequent first, null among them", async () => {
    expect(await values(of("orders", "country"))).toEqual([
      ["DE", 52],
      [null, 4],
      ["D%", 2],
      ["D_", 2],
      ["FR", 2],
      ["AT", 1],
      ["de", 1],
    ]);
  });

  it("are what a filter takes and finds: as rows have them, numbers of many digits as texts", async () => {
    expect(await values(of("orders", "paid"))).toEqual([
      [false, 32],
      [true, 32],
    ]);
    expect(await values(of("orders", "amount"))).toEqual([
      [byEngine({ postgres: 12.3, clickhouse: 12.3 }), 64],
    ]);
    expect(await values(of("orders", "huge"))).toEqual([["18446744073709551615", 64]]);
    expect(await values(of("orders", "at"))).toEqual([
      ["2026-01-01T10:00:00Z", 32],
      ["2026-01-01T10:01:00Z", 32],
    ]);
    // What JSON has as null is one value.
    expect(await values(of("orders", "ratio"))).toEqual([
      [null, 42],
      [1.5, 22],
    ]);
  });

  it("are as many as asked, and say where there are more", async () => {
    expect(await values(of("orders", "id", "&limit=2"))).toEqual([[1, 1], [2, 1], "more"]);
    expect(await values(of("orders", "day", "&limit=3"))).toEqual([
      ["2026-01-02", 22],
      ["2026-01-01", 21],
      ["2026-01-03", 21],
    ]);
    expect(await values(of("orders", "id", "&limit=0"))).toBe(`400 {"detail":"'limit' must be >= 1."}`);
    expect(await values(of("orders", "id", "&limit=1001"))).toBe(`400 {"detail":"'limit' must be <= 1000."}`);
  });

  it("begin with a prefix in any letter case, of which no character is a wildcard", async () => {
    expect(await values(of("orders", "country", "&prefix=d"))).toEqual([
      ["DE", 52],
      ["D%", 2],
      ["D_", 2],
      ["de", 1],
    ]);
    for (const sign of ["%25", "_"])
      expect(await values(of("orders", "country", `&prefix=d${sign}`))).toHaveLength(1);
    expect(await values(of("orders", "country", "&prefix=E"))).toEqual([]);
    expect(await values(of("orders", "country", "&prefix=%5C"))).toEqual([]);
    expect(await values(of("orders", "country", `&prefix=${"x".repeat(1001)}`))).toBe(
      `400 {"detail":"Parameter 'prefix' allows at most 1000 characters."}`,
    );
    expect(await values(of("orders", "id", "&prefix=6"))).toEqual([
      [6, 1],
      [60, 1],
      [61, 1],
      [62, 1],
      [63, 1],
      [64, 1],
    ]);
  });

  it("of long texts: those that a filter takes, up to a size", async () => {
    expect(await values(of("orders", "note"))).toEqual([["x", 21], ["xx", 21], ["xxx", 21], "more"]);
    const long = (await values(of("orders", "long", "&limit=1000"))) as unknown[];
    expect(long.at(-1)).toBe("more");
    expect(long.length).toBeGreaterThan(30);
  });

  it("are of the rows that the endpoint's filters select, where it requires one too", async () => {
    expect(await values(of("orders", "country", "&id[lte]=3"))).toEqual([["DE", 3]]);
    expect(await values(of("orders", "paid", "&country[in]=AT,FR&day[gte]=2026-01-01"))).toEqual([
      [false, 2],
      [true, 1],
    ]);
    const required = `400 {"detail":"At least one business filter is required for this endpoint."}`;
    for (const more of ["", "&limit=1", "&prefix=D", "&country[ne]=DE"])
      expect([more, await values(of("filtered", "country", more))]).toEqual([more, required]);
    expect(await values(of("filtered", "country", "&country[eq]=AT"))).toEqual([["AT", 1]]);
    expect(await values(of("any", "country"))).toBe(
      `400 {"detail":"At least one of [since] is required for this endpoint."}`,
    );
    expect(await values(of("any", "day", "&since=2026-01-03"))).toEqual([["2026-01-03", 21]]);
    for (const name of ["fields", "sort_by", "offset", "cursor", "group_by", "measures", "nothing"])
      expect(await values(of("orders", "id", `&${name}=id`))).toBe(
        `400 {"detail":"Unsupported query parameters: ${name}"}`,
      );
    expect(await values(of("orders", "id", "&=id"))).toBe(
      `400 {"detail":"Unsupported query parameters: ''"}`,
    );
    expect(await values(of("orders", "id", "&id[gt]=x"))).toBe(
      `400 {"detail":"Parameter 'id[gt]' must be an integer."}`,
    );
  });

  it("of an endpoint without rows: those of its groups", async () => {
    expect(await values(of("grouped", "country", "&id[lte]=54"))).toEqual([
      ["D%", undefined],
      ["DE", undefined],
      ["D_", undefined],
      ["FR", undefined],
    ]);
    expect(await values(of("grouped", "day__month"))).toEqual([["2026-01-01", undefined]]);
    expect(await values(of("grouped", "org"))).toBe(
      `400 {"detail":"'column' must be among: country, day, day__month."}`,
    );
  });

  it("where the relation has another letter case", async () => {
    expect(await values(of("folded", "country", "&country[eq]=AT"), "acme")).toEqual([["AT", 1]]);
  });
});

describe("nobody gets values that are not theirs", () => {
  it("of another organization, also from the cache", async () => {
    for (const round of [1, 2])
      expect([
        round,
        await values(of("own", "org"), "acme"),
        await values(of("own", "org"), "globex"),
      ]).toEqual([round, [["acme", 32]], [["globex", 32]]]);
    expect(await values(of("own", "org"), "all")).toEqual([
      ["acme", 32],
      ["globex", 32],
    ]);
    expect(await values(of("own", "org"))).toContain("Send the key of an organization.");
    expect(await values(of("own", "org", "&org[eq]=globex"), "acme")).toEqual([]);
    expect(await values(of("folded", "org"), "acme")).toEqual([["acme", 32]]);
  });

  it("of private columns and models, of columns that no row has, and of types that no filter compares", async () => {
    const names = Object.keys(columns).filter((name) => name !== "email");
    for (const column of ["email", "EMAIL", "nothing", "", "__proto__", "id%00", "id%22%20--"])
      expect([column, await values(of("orders", column))]).toEqual([
        column,
        column === ""
          ? `400 {"detail":"Parameter 'column' is required."}`
          : `400 {"detail":"'column' must be among: ${names.join(", ")}."}`,
      ]);
    expect(await values(of("hidden", "country"))).toBe(`400 {"detail":"'column' must be among: none."}`);
    expect(await values(of("undeclared", "country"))).toBe(`400 {"detail":"'column' must be among: none."}`);
    for (const column of ["tags", "doc"])
      expect(await values(of("orders", column))).toBe(
        `400 {"detail":"Parameter 'column' cannot be used: values of its column cannot be compared like this."}`,
      );
  });

  it("of endpoints that their key may not call, by whatever spelling of the path", async () => {
    expect(await values(of("locked", "country"))).toBe(
      `403 {"detail":"Missing authentication header: X-API-Key"}`,
    );
    expect(await values(of("locked", "country"), "acme")).toContain("requires tier1 access");
    expect(await values(of("locked", "country", "&limit=1"), "all")).toHaveLength(2);
    expect(await values(of("locked", "country"), "nobody")).toContain("Invalid API Key");
    expect(await values(of("orders", "country"), "listed")).toContain("may not call /v1/shop/orders");
    expect(await values(of("moved", "country"), "listed")).toContain("may not call /v1/shop/moved");
    expect(await values(of("before", "country", "&limit=1"), "listed")).toEqual([["DE", 52], "more"]);
    for (const path of [
      "/v1/shop//locked",
      "/v1/shop/./locked",
      "/v1/shop/%256cocked",
      "/v1/shop/locked.csv",
      "/v1/shop/locked?x",
      "//v1/shop/locked",
      "/V1/shop/locked",
      "/v1/system/values",
      "/health",
      "__proto__",
      "",
    ])
      expect([path, (await ask(`path=${path}&column=country`)).status]).toEqual([
        path,
        path === "" ? 400 : 404,
      ]);
    expect((await ask("path=/v1/shop/orders&path=/v1/shop/locked&column=country")).status).toBe(400);
    expect((await ask("path=/v1/shop/orders&column=country&column=email")).status).toBe(400);
  });

  it("is counted, is not kept by caches, and takes no other method", async () => {
    const first = await ask(of("orders", "paid"), "acme");
    const second = await ask(of("orders", "paid"), "acme");
    const left = ({ headers }: Reply) => Number(headers["x-ratelimit-remaining"]);
    expect(left(first) - left(second)).toBe(1);
    expect(first.headers["cache-control"]).toBe("no-store");
    expect((await sendRequest(url, "/v1/system/values", { method: "POST" })).status).toBe(405);
  });
});

it("values are kept for a minute, for all callers of an organization", async () => {
  const before = await values(of("orders", "id", "&limit=1000&id[gt]=60"));
  await ownerQuery(
    byEngine({
      postgres: `INSERT INTO ${schema}.orders (id) VALUES (99)`,
      clickhouse: `INSERT INTO ${schema}.orders (id) VALUES (99)`,
    }),
  );
  for (const key of [undefined, "acme", "globex"])
    expect(await values(of("orders", "id", "&limit=1000&id[gt]=60"), key)).toEqual(before);
  expect(await values(of("orders", "id", "&limit=1000&id[gt]=61"))).toContainEqual([99, 1]);
});

/** The values of several columns, each as a request for it alone has them. */
async function facets(query: string, key?: string): Promise<unknown> {
  const { status, text } = await ask(query, key);
  if (status !== 200) return `${String(status)} ${text}`;
  return (JSON.parse(text) as { facets: unknown }).facets;
}

async function each(path: string, filters: Readonly<Record<string, string>>, key?: string): Promise<unknown> {
  const pairs = Object.entries(filters).map(async ([column, more]) => {
    const { status, text } = await ask(of(path, column, more), key);
    expect(status, text).toBe(200);
    return [column, JSON.parse(text)] as const;
  });
  return Object.fromEntries(await Promise.all(pairs));
}

describe("the values of several columns", () => {
  it("are counted without the conditions on each itself, and with all others", async () => {
    const conditions = "&country[in]=DE,AT&org[eq]=acme&id[lte]=40";
    expect(await facets(`path=/v1/shop/orders&columns=country,org,paid${conditions}`)).toEqual(
      await each("orders", {
        country: "&org[eq]=acme&id[lte]=40",
        org: "&country[in]=DE,AT&id[lte]=40",
        paid: conditions,
      }),
    );
  });

  it("keep a group with OR, and leave the other conditions of an expression out that stand under AND", async () => {
    const expression = (text: string) => `&filter=${encodeURIComponent(text)}`;
    const either = "(country eq 'AT' or id lt 9)";
    expect(
      await facets(
        `path=/v1/shop/expression&columns=country,org${expression(`country ne 'DE' and org eq 'acme' and ${either}`)}`,
      ),
    ).toEqual(
      await each("expression", {
        country: expression(`org eq 'acme' and ${either}`),
        org: expression(`country ne 'DE' and ${either}`),
      }),
    );
  });

  it("are of the caller's own rows", async () => {
    for (const key of ["acme", "globex", "all"])
      expect(await facets("path=/v1/shop/own&columns=country,org&country[eq]=DE", key)).toEqual(
        await each("own", { country: "", org: "&country[eq]=DE" }, key),
      );
  });

  it("keep their own condition where the endpoint requires one", async () => {
    expect(await facets("path=/v1/shop/filtered&columns=country,org&country[eq]=DE")).toEqual(
      await each("filtered", { country: "&country[eq]=DE", org: "&country[eq]=DE" }),
    );
    expect(await facets("path=/v1/shop/filtered&columns=country")).toMatch(/^400 /);
  });

  it("are of groups where the endpoint serves no rows", async () => {
    expect(await facets("path=/v1/shop/grouped&columns=country,day__month&country[eq]=DE")).toEqual(
      await each("grouped", { country: "", day__month: "&country[eq]=DE" }),
    );
  });

  it("are one request of the window and one line of the log, of at most ten columns, none of them private", async () => {
    const before = await ask("path=/v1/shop/orders&columns=country", "acme");
    const after = await ask("path=/v1/shop/orders&columns=country,org,paid,day", "acme");
    const left = ({ headers }: Reply): number => Number(headers["x-ratelimit-remaining"]);
    expect(left(before) - left(after)).toBe(1);
    const names = Array.from({ length: 11 }, (_, i) => `c${String(i)}`).join(",");
    expect(await facets(`path=/v1/shop/orders&columns=${names}`)).toBe(
      `400 {"detail":"Parameter 'columns' allows at most 10 values."}`,
    );
    expect(await facets("path=/v1/shop/orders&columns=country,email")).toMatch(/^400 .*must be among/);
    expect(await facets("path=/v1/shop/orders&columns=")).toMatch(/^400 /);
    expect(await facets("path=/v1/shop/orders&columns=country&column=org")).toMatch(/^400 /);
    expect(await facets("path=/v1/shop/orders&columns=country&prefix=D")).toMatch(/^400 /);
    expect(await facets("path=/v1/shop/locked&columns=country")).toMatch(/^403 /);
    expect(await facets("path=/v1/shop/orders&columns=country,country")).toEqual(
      await each("orders", { country: "" }),
    );
  });

  it("come by QUERY with a list", async () => {
    const body = { path: "/v1/shop/orders", columns: ["country", "org"], country: { in: ["DE", "AT"] } };
    const headers = { "content-type": "application/json" };
    const { status, text } = await sendRequest(url, "/v1/system/values", { method: "QUERY", body, headers });
    expect([status, JSON.parse(text).facets]).toEqual([
      200,
      await each("orders", { country: "", org: "&country[in]=DE,AT" }),
    ]);
  });
});
