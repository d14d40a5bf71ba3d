/** PostgreSQL cuts names of more than 63 bytes: groups that begin alike stay apart. */
import { expect, it } from "vitest";
import { query } from "../support/database.js";
import { serveManifest } from "../support/service.js";
import { questionManifest, questionMetric, questionTables } from "./question-tables.js";
import { askedRows } from "./random-requests.js";

const PREFIX = "of_the_country_in_which_the_customer_has_signed_the_contract_";
const DIMENSIONS = { region: `${PREFIX}region`, code: `${PREFIX}code` };
/** Two bytes to a letter, and three. */
const UNICODE = `${"ä".repeat(30)}${"€".repeat(11)}`;

interface Models {
  readonly semantic_models: Readonly<Record<string, { dimensions: object[] }>>;
}

const schema = await questionTables();
const amount = questionMetric("amount", "simple", { measure: { name: "amount" } });
const visits = questionMetric("visits", "simple", { measure: { name: "visits" } });
const manifest = questionManifest(schema, { ...amount, ...visits });
for (const { config } of Object.values({ ...amount, ...visits }) as { config: { tags: string[] } }[])
  config.tags = ["production", "shop", "api:both", "tier0"];
const countries = (manifest as unknown as Models).semantic_models["semantic_model.test.countries"];
countries?.dimensions.push(
  { name: DIMENSIONS.region, type: "categorical", expr: "region" },
  { name: DIMENSIONS.code, type: "categorical", expr: "code" },
  { name: `${UNICODE}1`, type: "categorical", expr: "region" },
  { name: `${UNICODE}2`, type: "categorical", expr: "code" },
);
const KEY = "sk_live_all";
const url = await serveManifest(manifest, {
  API_KEYS: JSON.stringify({ [KEY]: { tier: "tier3", user: "all", org: "*" } }),
});
const group = (name: string): string => `customer__country__${name}`;
const ask = (query: string) => askedRows(url, `/v1/shop/both?${query}`, KEY);

it.each([
  [DIMENSIONS.region, DIMENSIONS.code, ["EU", "AT"], ["non-EU", "CH"]],
  [`${UNICODE}1`, `${UNICODE}2`, ["EU", "AT"], ["non-EU", "CH"]],
])("of two groups %s and %s", async (first, second, austria, switzerland) => {
  const names = [group(first), group(second)] as const;
  const row = (cells: readonly string[], amounts: string | null, visited: string | null) => ({
    [names[0]]: cells[0] ?? null,
    [names[1]]: cells[1] ?? null,
    amount: amounts,
    visits: visited,
  });
  const groups = `group_by=${names.map(encodeURIComponent).join(",")}`;
  const all = await ask(`${groups}&sort_by=amount`);
  expect([all.status, all.rows]).toEqual([
    200,
    [row(austria, "12", "3"), row([], "13", null), row(switzerland, "111", "1")],
  ]);
  const some = await ask(
    `${groups}&${encodeURIComponent(names[1])}=${austria[1] ?? ""}&totals=true&amount[gt]=1`,
  );
  expect([some.status, some.rows.map((each) => each["amount"])]).toEqual([200, ["12", "12", "12"]]);
});

it("of relations and columns that the database has cut itself", async () => {
  const [relation, column] = [`orders_${UNICODE}`, `${PREFIX}amount`];
  await query(
    `CREATE VIEW ${schema}."${relation}" AS SELECT order_id, org_id, customer_id, ordered_at, amount AS "${column}" FROM ${schema}.orders`,
  );
  const long = questionManifest(schema, questionMetric("amount", "simple", { measure: { name: "amount" } }));
  const { nodes, semantic_models: models } = long as unknown as {
    readonly nodes: Record<string, object>;
    readonly semantic_models: Record<string, object>;
  };
  Object.assign(nodes["model.test.orders"]!, { alias: relation, tags: ["production", "shop", "api:rows"] });
  Object.assign(models["semantic_model.test.orders"]!, {
    node_relation: { alias: relation, schema_name: schema },
    measures: [{ name: "amount", agg: "sum", expr: column }],
  });
  const served = await serveManifest(long, {
    API_KEYS: JSON.stringify({ [KEY]: { tier: "tier3", user: "all", org: "*" } }),
  });
  const total = await askedRows(served, "/v1/shop/amount", KEY);
  expect([total.status, total.rows]).toEqual([200, [{ amount: "136" }]]);
  const { status, rows } = await askedRows(served, "/v1/shop/rows", KEY);
  expect([status, rows.length]).toEqual([200, 5]);
});
