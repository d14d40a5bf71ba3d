import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { DECLARED, rollUpManifest } from "../metrics/roll-up-tables.js";

type Json = Readonly<Record<string, unknown>>;

const MONTH = DECLARED["orders_by_month"] ?? {};
const COLUMNS = {
  org_id: "text",
  country: "text",
  month: "date",
  revenue_sum: "numeric",
  fee_sum: "numeric",
};

/** The catalogue with one roll-up. `columns`: as the model declares them. */
function catalogueWith(
  declared: unknown,
  { columns = COLUMNS, parents = ["orders"], adapter = "postgres", ...more }: Json = {},
) {
  const manifest = rollUpManifest("shop", { orders_by_month: declared as Json }) as {
    nodes: Record<string, Record<string, unknown>>;
    metadata: Json;
  };
  const node = manifest.nodes["model.test.orders_by_month"] ?? {};
  const described = Object.fromEntries(
    Object.entries(columns as Json).map(([name, type]) => [name, { name, data_type: type }]),
  );
  const depends_on = { nodes: (parents as readonly string[]).map((name) => `model.test.${name}`) };
  const nodes: Record<string, Json> = {
    ...manifest.nodes,
    "model.test.orders_by_month": { ...node, depends_on, columns: described, ...more },
  };
  const types = {
    order_id: "integer",
    org_id: "text",
    customer_id: "integer",
    country: "text",
    ordered_at: "timestamp",
    amount: "bigint",
    fee: "numeric",
    units: "integer",
    gift: "boolean",
  };
  const ofOrders = Object.entries(types).map(([name, data_type]) => [name, { name, data_type }] as const);
  const orders = { ...nodes["model.test.orders"], columns: Object.fromEntries(ofOrders) };
  const reading = parseManifest(
    JSON.stringify({
      ...manifest,
      metadata: { ...manifest.metadata, adapter_type: adapter },
      nodes: { ...nodes, "model.test.orders": orders },
    }),
    "manifest.json",
  );
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return catalogueOf(reading.value);
}

const VALID = {
  ...MONTH,
  group_by: { org_id: "org_id", country: "country", ordered_at: { column: "month", grain: "month" } },
  measures: { revenue: "revenue_sum", fees: "fee_sum" },
};

const rollUpsIn = ({ entries }: ReturnType<typeof catalogueOf>) =>
  entries.flatMap(({ aggregate }) => aggregate?.rollUps ?? []);

describe("a roll-up", () => {
  it("is in each aggregate that reads one of its measures, with the values that this one has", () => {
    const catalogue = catalogueWith(VALID);
    expect(catalogue.warnings).toEqual([]);
    const revenue = catalogue.entries.find(({ path }) => path === "/v1/shop/revenue");
    expect(revenue?.aggregate?.rollUps).toEqual([
      {
        of: "orders",
        node: "model.test.orders_by_month",
        relation: ["shop", "orders_by_month"],
        groups: [
          { value: "org_id", column: "org_id" },
          { value: "country", column: "country" },
          { value: "ordered_at", column: "month", grain: "month" },
        ],
        totals: [{ aggregation: "sum", value: "amount", column: "revenue_sum" }],
      },
    ]);
    const units = catalogue.entries.find(({ path }) => path === "/v1/shop/units");
    expect(units?.aggregate?.rollUps).toBeUndefined();
    expect(catalogue.lineage.rollUpNodes).toEqual(
      new Map([["model.test.orders_by_month", ["model.test.orders"]]]),
    );
  });

  const group = (group_by: Json) => ({ ...VALID, group_by: { ...VALID.group_by, ...group_by } });
  const measure = (measures: Json) => ({ ...VALID, measures: { ...VALID.measures, ...measures } });

  it.each<[string, unknown, Json, string, string]>([
    ["of another shape", { semantic_model: "orders" }, {}, "", "It is not a semantic model"],
    [
      "of nothing known",
      { ...VALID, semantic_model: "order" },
      {},
      ".semantic_model",
      'Did you mean "orders"',
    ],
    [
      "with an unknown dimension",
      group({ contry: "country" }),
      {},
      ".group_by.contry",
      'Did you mean "country"',
    ],
    ["with an unknown column", group({ country: "land" }), {}, ".group_by.country", 'no column "land"'],
    ["without a grain", group({ ordered_at: "month" }), {}, ".group_by.ordered_at", "the grain is missing"],
    [
      "with a grain of a text",
      group({ country: { column: "country", grain: "day" } }),
      {},
      ".group_by.country",
      "is no time",
    ],
    [
      "finer than the time",
      group({ ordered_at: { column: "month", grain: "hour" } }),
      {},
      ".group_by.ordered_at",
      "hour is finer",
    ],
    [
      "with texts for periods",
      VALID,
      { columns: { ...COLUMNS, month: "text" } },
      ".group_by.ordered_at",
      "periods of days are dates",
    ],
    [
      "with another type",
      VALID,
      { columns: { ...COLUMNS, country: "integer" } },
      ".group_by.country",
      "what it groups is",
    ],
    [
      "with an unknown measure",
      measure({ revenu: "revenue_sum" }),
      {},
      ".measures.revenu",
      'Did you mean "revenue"',
    ],
    [
      "of distinct values",
      measure({ buyers: "revenue_sum" }),
      {},
      ".measures.buyers",
      "does not follow from those of parts: only ClickHouse has states of it",
    ],
    [
      "of sketches of distinct values",
      measure({ buyers: "buyers" }),
      {
        adapter: "clickhouse",
        columns: { ...COLUMNS, revenue_sum: "Int128", buyers: "AggregateFunction(uniq, Int32)" },
      },
      ".measures.buyers",
      "only states of uniqExact hold them",
    ],
    [
      "of states of another type",
      measure({ buyers: "buyers" }),
      {
        adapter: "clickhouse",
        columns: { ...COLUMNS, revenue_sum: "Int128", buyers: "AggregateFunction(uniqExact, String)" },
      },
      ".measures.buyers",
      "its column has states of String",
    ],
    [
      "of averages",
      measure({ mean_fee: "fee_sum" }),
      {},
      ".measures.mean_fee",
      "does not follow from those of parts",
    ],
    [
      "with sums as floats",
      VALID,
      { columns: { ...COLUMNS, fee_sum: "double precision" } },
      ".measures.fees",
      "depend on the order of rows",
    ],
    [
      "without the column of own rows",
      { ...VALID, group_by: { country: "country" } },
      {},
      ".group_by",
      "read their own rows",
    ],
    [
      "that is a view",
      VALID,
      { config: { materialized: "view", meta: { routewright: { rollup_of: VALID } } } },
      "",
      "stores no rows",
    ],
    [
      "that reads something else",
      VALID,
      { parents: ["customers"] },
      ".semantic_model",
      "does not select from",
    ],
  ])("%s is reported and not used", (_, declared, more, at, text) => {
    const catalogue = catalogueWith(declared, more);
    const path = `$.meta.routewright.rollup_of${at}`;
    const found = catalogue.warnings.find((warning) => warning.path === path);
    expect(found?.model).toBe("model.test.orders_by_month");
    expect(`${found?.message ?? ""} ${found?.hint ?? ""}`).toContain(text);
    expect(rollUpsIn(catalogue)).toEqual([]);
  });
});
