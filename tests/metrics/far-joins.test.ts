import { expect, it } from "vitest";
import { serveManifest } from "../support/service.js";
import { questionManifest, questionMetric, questionTables } from "./question-tables.js";

const schema = await questionTables();
const metrics = {
  ...questionMetric("amount", "simple", { measure: { name: "amount" } }),
  ...questionMetric(
    "amount_in_eu",
    "simple",
    { measure: { name: "amount" } },
    "{{ Dimension('country__region', entity_path=['customer']) }} = 'EU'",
  ),
};
const KEYS = {
  API_KEYS: JSON.stringify({
    sk_live_acme: { tier: "tier0", user: "acme", org: "acme" },
    sk_live_all: { tier: "tier3", user: "all", org: "*" },
  }),
};
const url = await serveManifest(questionManifest(schema, metrics), KEYS);

async function ask(request: string, key = "all", at = url): Promise<unknown> {
  const response = await fetch(`${at}/v1/shop/${request}`, { headers: { "X-API-Key": `sk_live_${key}` } });
  return response.json();
}

it("groups by what is two joins away, named by its entity path", async () => {
  expect(await ask("amount?group_by=customer__country__region&sort_by=amount")).toEqual([
    { customer__country__region: "EU", amount: 12 },
    { customer__country__region: null, amount: 13 },
    { customer__country__region: "non-EU", amount: 111 },
  ]);
  expect(await ask("amount?group_by=customer__country&customer__country__region=EU")).toEqual([
    { customer__country: "AT", amount: 12 },
  ]);
  expect(await ask("amount_in_eu")).toEqual([{ amount_in_eu: 12 }]);
});

it("a row of another organization two joins away is not seen", async () => {
  expect(await ask("amount?group_by=customer__country__region&sort_by=amount", "acme")).toEqual([
    { customer__country__region: "EU", amount: 12 },
    { customer__country__region: null, amount: 24 },
  ]);
  expect(await ask("amount?customer__country__region=non-EU", "acme")).toEqual([{ amount: null }]);
});

it("a private dimension two joins away is no group of all", async () => {
  expect(await ask("amount?group_by=customer__country__capital")).toMatchObject({
    detail: expect.stringContaining("'group_by' must be among") as unknown,
  });
});

it("of rows that hold for a time the one at the time of the measure is joined", async () => {
  expect(await ask("amount?group_by=customer__plan&sort_by=amount")).toEqual([
    { customer__plan: "free", amount: 5 },
    { customer__plan: "paid", amount: 7 },
    { customer__plan: null, amount: 124 },
  ]);
  expect(await ask("amount?customer__plan=paid&group_by=metric_time__day")).toEqual([
    { metric_time__day: "2026-01-15", amount: 7 },
  ]);
});

it("of rows of each day two joins away a row meets that of its own day, and none of another organization", async () => {
  type Models = Readonly<Record<string, { readonly dimensions: readonly object[] }>>;
  const manifest = questionManifest(schema, metrics);
  const models = manifest["semantic_models"] as Models;
  const split = (name: string, expr: string, more: object = {}): object => ({
    [name]: {
      ...models[name],
      dimensions: [
        ...(models[name]?.dimensions ?? []),
        {
          name: "loaded_on",
          type: "time",
          expr,
          is_partition: true,
          type_params: { time_granularity: "day" },
        },
      ],
      ...more,
    },
  });
  const byDay = await serveManifest(
    {
      ...manifest,
      semantic_models: {
        ...models,
        ...split("semantic_model.test.orders", "ordered_at"),
        ...split("semantic_model.test.countries", "day", {
          depends_on: { nodes: ["model.test.regions"] },
          node_relation: { alias: "regions", schema_name: schema },
        }),
      },
    },
    KEYS,
  );
  expect(await ask("amount?group_by=customer__country__region&sort_by=amount", "all", byDay)).toEqual([
    { customer__country__region: "EU", amount: 5 },
    { customer__country__region: null, amount: 13 },
    { customer__country__region: "alps", amount: 18 },
    { customer__country__region: "non-EU", amount: 100 },
  ]);
  expect(await ask("amount?group_by=customer__country__region&sort_by=amount", "acme", byDay)).toEqual([
    { customer__country__region: "EU", amount: 5 },
    { customer__country__region: "alps", amount: 7 },
    { customer__country__region: null, amount: 24 },
  ]);
  expect(await ask("amount_in_eu", "all", byDay)).toEqual([{ amount_in_eu: 5 }]);
});
