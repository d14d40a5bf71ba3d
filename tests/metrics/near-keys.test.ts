/** A key or tag of a metric, its semantic model or its dbt model that is nearly ours opens nothing and drops no isolation without a word. */
import { describe, expect, it } from "vitest";
import type { Catalogue } from "../../generator/catalogue/catalogue.js";
import { catalogueOfText, told } from "../catalogue/catalogues.js";
import { EXPOSURE } from "./exposure-tables.js";

interface Part {
  config: { tags?: string[]; meta?: Record<string, unknown> };
  meta?: Record<string, unknown>;
  dimensions: Part[];
  entities: { name: string }[];
  columns: Record<string, Part>;
  tags?: string[];
}

interface Parts {
  readonly metric: Part;
  readonly query: Part;
  readonly semantic: Part;
  readonly model: Part;
}

/** The catalogue where one part of the semantic layer was edited. */
function edited(edit: (parts: Parts) => void): Catalogue {
  const manifest = structuredClone(EXPOSURE) as Record<string, Record<string, Part>>;
  const metric = { ...manifest["metrics"]?.["metric.test.revenue"] } as Part;
  const { [`saved_query.test.by_region`]: query } = manifest["saved_queries"] ?? {};
  const { [`semantic_model.test.payments`]: semantic } = manifest["semantic_models"] ?? {};
  const { [`model.test.payments`]: model } = manifest["nodes"] ?? {};
  if (query === undefined || semantic === undefined || model === undefined) throw new Error("No such part");
  semantic.config = { meta: {} };
  edit({ metric, query, semantic, model });
  return catalogueOfText(JSON.stringify({ ...manifest, metrics: { "metric.test.revenue": metric } }));
}

const of = ({ entries, skipped, warnings }: Catalogue, name: string) => ({
  served: entries.some(({ model }) => model === name),
  said: [
    ...told(
      skipped.filter(({ model }) => model.endsWith(`.${name}`)).flatMap(({ problems }) => [...problems]),
    ),
    ...warnings.filter(({ model }) => model.endsWith(`.${name}`)).map(({ message }) => message),
  ].join("\n"),
});

it("serves the metric and the saved query that nobody edited", () => {
  const catalogue = edited(() => undefined);
  expect(of(catalogue, "revenue").served).toBe(true);
});

const GROUPS = { group_by: ["payment__token"] };

const MISTAKES: readonly (readonly [what: string, edit: (parts: Parts) => void, said: RegExp])[] = [
  [
    "a namespace of the metric",
    ({ metric }) => (metric.config.meta = { routewrigth: GROUPS }),
    /routewrigth/,
  ],
  ["a namespace in its meta", ({ metric }) => (metric.meta = { Routewright: GROUPS }), /Routewright/],
  [
    "a setting of the metric",
    ({ metric }) => (metric.config.meta = { routewright: { group_bye: [] } }),
    /group_bye/,
  ],
  [
    "own rows of the metric",
    ({ metric }) => (metric.config.meta = { routewright: { rows: {} } }),
    /Nothing reads .*rows/,
  ],
  [
    "meta.api of the metric",
    ({ metric }) => (metric.config.meta = { api: { allow_unfiltered: false } }),
    /meta\.api/,
  ],
  ["a key nearly api", ({ metric }) => (metric.config.meta = { apis: { exclude_from_api: true } }), /apis/],
  [
    "exclude_from_api elsewhere",
    ({ metric }) => (metric.config.meta = { exclude_from_api: true }),
    /exclude_from_api/,
  ],
  ["a mark of private data", ({ metric }) => (metric.config.meta = { sensitve: true }), /sensitve/],
  ["a tag that is nearly pii", ({ metric }) => metric.config.tags?.push("piis"), /piis/],
  [
    "a tag that is nearly a tier",
    ({ metric }) => (metric.config.tags = ["production", "pay", "api:revenue", "teir3"]),
    /teir3/,
  ],
  [
    "a tag that is nearly of the path",
    ({ metric }) => metric.config.tags?.push("granularity=daily"),
    /granularity=daily/,
  ],
  [
    "a namespace of the semantic model",
    ({ semantic }) => (semantic.config.meta = { routewrigth: GROUPS }),
    /routewrigth/,
  ],
  [
    "a setting of the semantic model",
    ({ semantic }) => (semantic.config.meta = { routewright: { grup_by: [] } }),
    /grup_by/,
  ],
  [
    "a mark of a dimension",
    ({ semantic }) => Object.assign(semantic.dimensions[0] ?? {}, { config: { meta: { piis: true } } }),
    /piis/,
  ],
  [
    "a namespace of the dbt model",
    ({ model }) => (model.config.meta = { routewrigth: { rows: {} } }),
    /routewrigth/,
  ],
  ["a setting of the dbt model", ({ model }) => (model.config.meta = { routewright: { rowz: {} } }), /rowz/],
  [
    "a mark of its column",
    ({ model }) =>
      (model.columns["token"] = { ...model.columns["token"], meta: { contains_pi: true } } as Part),
    /contains_pi/,
  ],
];

describe("what is nearly ours skips the metric", () => {
  it.each(MISTAKES)("%s", (_, edit, said) => {
    const found = of(edited(edit), "revenue");
    expect(found.served).toBe(false);
    expect(found.said).toMatch(said);
  });
});

it.each([true, false])("a group called filter is an error beside `filter: true` alone (%s)", (filter) => {
  const found = of(
    edited(({ metric, semantic }) => {
      metric.config.meta = { routewright: { filter, group_by: ["filter", "payment__token"] } };
      for (const entity of semantic.entities) if (entity.name === "vip") entity.name = "filter";
    }),
    "revenue",
  );
  expect(found.served).toBe(!filter);
  expect(found.said).toMatch(filter ? /A group has the name `filter`/ : /^$/);
});

it("skips a saved query with such a key", () => {
  const found = of(
    edited(({ query }) => (query.config.meta = { routewrigth: {} })),
    "by_region",
  );
  expect(found.served).toBe(false);
  expect(found.said).toContain("routewrigth");
});

it("does not serve a metric or a saved query that is excluded, without a word of error", () => {
  const { entries, skipped } = edited(({ metric, query }) => {
    metric.config.meta = { api: { exclude_from_api: true } };
    query.config.meta = { api: { exclude_from_api: true } };
  });
  expect(entries.filter(({ resource }) => ["revenue", "by_region"].includes(resource))).toEqual([]);
  expect(skipped.filter(({ reason }) => reason === "excluded").map(({ model }) => model)).toEqual([
    "metric.test.revenue",
    "saved_query.test.by_region",
  ]);
});

it("warns of an unknown key and of two edits, and serves the metric", () => {
  const catalogue = edited(
    ({ metric }) => (metric.config.meta = { sesitiv: "x", routewright: { colour: 1 } }),
  );
  const found = of(catalogue, "revenue");
  expect(found.served).toBe(true);
  expect(found.said).toContain("sesitiv");
  expect(found.said).toContain("colour");
});

it("leaves keys of others alone", () => {
  const catalogue = edited(({ metric, semantic }) => {
    metric.config.meta = { owner: "growth", kpi: true, app: "x" };
    semantic.config.meta = { owner: "growth", dbt_x: 1 };
  });
  expect(of(catalogue, "revenue")).toEqual({ served: true, said: "" });
});
