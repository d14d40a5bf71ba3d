import { describe, expect, it } from "vitest";
import { described } from "../../support/described.js";
import { byEngine, ownerQuery, ownTables } from "../../support/engines.js";
import { refusal, type Reply, sendRequest, statusAndBody } from "../../support/http-client.js";
import { manifestOf, type TestModel } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

/** `upper`: letter case of its own; `twins`: two names for one; `other`: none of the declared columns; `failing`: an error of its own. */
const schema = await ownTables({
  postgres: `
    CREATE TABLE @.upper ("ID" bigint, "Org" text, "Label" text, "Day" date);
    INSERT INTO @.upper SELECT g, CASE g % 2 WHEN 0 THEN 'acme' ELSE 'globex' END, 'x' || g, '2026-01-01'::date + g FROM generate_series(1, 4) g(g);
    CREATE TABLE @.twins AS SELECT 1::bigint AS id, 'a' AS "Label", 'b' AS "LABEL";
    CREATE TABLE @.other AS SELECT 1::bigint AS number;
    CREATE VIEW @.failing AS SELECT 'x'::text AS label, ('a' || g)::bigint AS id FROM generate_series(1, 1) g`,
  clickhouse: [
    "CREATE TABLE @.upper (ID Int64, Org String, Label String, Day Date) ORDER BY ID",
    `INSERT INTO @.upper SELECT number + 1, ['acme', 'globex'][(number + 1) % 2 + 1], 'x' || toString(number + 1),
     toDate('2026-01-01') + number + 1 FROM numbers(4)`,
    "CREATE TABLE @.twins (id Int64, Label String, LABEL String) ORDER BY id",
    "INSERT INTO @.twins VALUES (1, 'a', 'b')",
    "CREATE TABLE @.other (number Int64) ORDER BY number",
    "INSERT INTO @.other VALUES (1)",
    "CREATE VIEW @.failing AS SELECT 'x' AS label, CAST(concat('a', toString(number)) AS Int64) AS id FROM numbers(1)",
  ],
});

const COLUMNS = byEngine({
  postgres: { id: "bigint", org: "text", label: "text", day: "date" },
  clickhouse: { id: "Int64", org: "String", label: "String", day: "Date" },
});
const { id, label } = COLUMNS;
const API = {
  methods: ["GET", "POST"],
  allow_unfiltered: true,
  sort: [{ column: "id", direction: "ASC" }],
  sortable_fields: ["label", "id"],
  parameters: [
    { name: "label", column: "label", operator: "=", type: "string" },
    { name: "labels", column: "label", operator: "IN", type: "string_list" },
    { name: "like", column: "label", operator: "ILIKE", type: "string" },
    { name: "from", column: "day", operator: ">=", type: "date" },
  ],
};
const PAGED = {
  ...API,
  pagination: { enabled: true, default_limit: 3, max_limit: 10, response: "envelope" },
};
const FILTERED = { allow_unfiltered: true };
const models: readonly TestModel[] = [
  {
    name: "whole",
    alias: "upper",
    columns: COLUMNS,
    api: API,
    routewright: { filters: ["id", "label"], fields: true },
  },
  {
    name: "paged",
    alias: "upper",
    columns: COLUMNS,
    key: "id",
    api: PAGED,
    routewright: { cursor: true },
  },
  {
    name: "own",
    alias: "upper",
    columns: COLUMNS,
    api: API,
    routewright: { rows: { column: "org", equals: "org" } },
  },
  { name: "twins", columns: { id, label }, api: FILTERED, routewright: { fields: true, filters: ["label"] } },
  { name: "other", columns: { id, label }, api: FILTERED },
  {
    name: "lacking",
    alias: "upper",
    columns: { id, amount: id },
    api: { ...FILTERED, parameters: [{ name: "amount", column: "amount", operator: "=", type: "string" }] },
    routewright: { fields: true },
  },
  {
    name: "lost",
    alias: "twins",
    columns: { id, org: label },
    api: FILTERED,
    routewright: { rows: { column: "org", equals: "org" } },
  },
  { name: "failing", columns: { label, id }, api: FILTERED },
];
const API_KEYS = JSON.stringify({
  sk_live_acme: { tier: "tier3", user: "someone", org: "acme" },
});
const url = await serveManifest(manifestOf(models.map((model) => ({ schema, ...model }))), { API_KEYS });
const get = (target: string): Promise<Reply> =>
  sendRequest(url, `/v1/shop/${target}`, { key: "sk_live_acme" });
const idsOf = async (target: string): Promise<unknown> => {
  const [status, body] = statusAndBody(await get(target));
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as { id: number }[]).map((row) => row.id);
};
const FAILED = refusal(500, "Database query failed.");

describe("columns whose letter case differs from that in the relation", () => {
  it("are served under the names that the model declares", async () => {
    const row = { id: 1, org: "globex", label: "x1", day: "2026-01-02" };
    expect(JSON.parse((await get("whole")).text)).toMatchObject([row, {}, {}, {}]);
    expect((await get("whole.csv")).text.split("\r\n").slice(0, 2)).toEqual([
      "id,org,label,day",
      byEngine({ postgres: '1,"globex","x1",2026-01-02', clickhouse: '1,"globex","x1","2026-01-02"' }),
    ]);
    expect((await get("whole.ndjson")).text.split("\n")[0]).toBe(JSON.stringify(row));
    expect(JSON.parse((await get("whole?fields=label,id&label=x2")).text)).toEqual([{ label: "x2", id: 2 }]);
  });

  it("are those of Arrow and Parquet", async () => {
    for (const type of ["application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"]) {
      const reply = await sendRequest(url, "/v1/shop/whole", { headers: { accept: type } });
      expect(reply.headers["content-type"]).toContain(type);
      for (const name of Object.keys(COLUMNS)) expect(reply.bytes.includes(name)).toBe(true);
      for (const name of ["ID", "Org", "Label"]) expect(reply.bytes.includes(name)).toBe(false);
    }
  });

  it.each([
    ["whole?label=x3", [3]],
    ["whole?labels=x3,x4", [3, 4]],
    ["whole?like=X2", [2]],
    ["whole?from=2026-01-04", [3, 4]],
    ["whole?id[gte]=3", [3, 4]],
    ["whole?label[ne]=x1", [2, 3, 4]],
    ["whole?sort_by=label&sort_direction=DESC", [4, 3, 2, 1]],
  ])("filter and sort: %s", async (target, ids) => {
    expect(await idsOf(target)).toEqual(ids);
  });

  it("check the values of their type", async () => {
    expect(statusAndBody(await get("whole?id[gte]=x"))).toEqual(
      refusal(400, "Parameter 'id[gte]' must be an integer."),
    );
  });

  it("carry cursors and counts", async () => {
    const reply = await sendRequest(url, "/v1/shop/paged", { headers: { prefer: "count=exact" } });
    expect(reply.headers["x-total-count"]).toBe("4");
    const { items, pagination } = JSON.parse(reply.text) as {
      items: { id: number }[];
      pagination: { next_cursor: string };
    };
    expect(items.map((row) => row.id)).toEqual([1, 2, 3]);
    const next = JSON.parse((await get(`paged?cursor=${pagination.next_cursor}`)).text) as typeof reply;
    expect(next).toMatchObject({ items: [{ id: 4, label: "x4" }] });
  });

  it("isolate the rows of an organization", async () => {
    expect(await idsOf("own")).toEqual([2, 4]);
  });
});

describe("columns that the relation lacks", () => {
  it.each([
    ["twins", "two columns differ in letter case only"],
    ["twins?fields=label", "the ambiguous one is asked for"],
    ["twins?label[gt]=a&fields=id", "the ambiguous one filters"],
    ["other", "no declared column is left"],
    ["lacking?fields=amount", "no column that is asked for is left"],
    ["lacking?amount=1", "a filter's column is missing"],
    ["lost", "the column that isolates rows is missing"],
  ])("fail a request at once: %s (%s)", async (target) => {
    expect(statusAndBody(await get(target))).toEqual(FAILED);
  });

  it("are left out of the rows while others remain", async () => {
    expect(JSON.parse((await get("lacking")).text)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }]);
    expect(JSON.parse((await get("twins?fields=id")).text)).toEqual([{ id: 1 }]);
  });

  it("are named by /health with their endpoints", async () => {
    await expect
      .poll(() => described(url, "GET", "/health"))
      .toEqual({
        status: "degraded",
        database_connected: true,
        missing_columns: [
          "/v1/shop/lacking: amount",
          "/v1/shop/lost: org",
          "/v1/shop/other: id",
          "/v1/shop/other: label",
          "/v1/shop/twins: label (ambiguous: Label, LABEL)",
        ],
      });
  });
});

it("an error of a view's own fails its request at once, and the relation is not called missing", async () => {
  const reply = statusAndBody(await get("failing"));
  expect(reply).toEqual(FAILED);
  const health = JSON.parse((await sendRequest(url, "/health")).text) as object;
  expect(health).not.toHaveProperty("missing_relations");
  const name = `"${schema}".`;
  await ownerQuery(
    byEngine({
      postgres: `DROP VIEW ${name}failing; CREATE VIEW ${name}failing AS SELECT 'y'::text AS label, 1::bigint AS id`,
      clickhouse: `CREATE OR REPLACE VIEW ${name}failing AS SELECT 'y' AS label, toInt64(1) AS id`,
    }),
  );
  expect(JSON.parse((await get("failing")).text)).toEqual([{ label: "y", id: 1 }]);
});
