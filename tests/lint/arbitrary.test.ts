import fc from "fast-check";
import { expect, it } from "vitest";
import { FORMATS } from "../../generator/report/report.js";
import { lintJson, reported } from "./run.js";

const NAMES = ["a", "b", "c", "d", "day", "shop"] as const;
const name = fc.constantFrom(...NAMES);
const id = name.map((text) => `model.shop.${text}`);

/** A value that is mostly what dbt writes, and now and then anything. */
const mostly = <T>(usual: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });

const index = fc.record({
  columns: mostly(fc.array(name)),
  type: fc.constantFrom("btree", "gin", "x"),
  unique: fc.boolean(),
});
const parameter = fc.record({
  name,
  column: name,
  operator: fc.constantFrom("=", ">=", "ILIKE", "IN"),
  type: fc.constantFrom("string", "date", "string_list"),
});
const api = fc.record({
  allow_unfiltered: fc.constant(true),
  parameters: fc.array(parameter, { maxLength: 2 }),
  sort: fc.array(fc.record({ column: name, direction: fc.constantFrom("ASC", "DESC") }), { maxLength: 2 }),
  pagination: fc.record({ enabled: fc.boolean(), default_limit: fc.constant(5), max_limit: fc.constant(9) }),
  sortable_fields: fc.array(name, { maxLength: 2 }),
});
const suppression = fc.dictionary(
  fc.constantFrom("unlimited-response", "private-data", "nonsense", "__proto__"),
  mostly(fc.string()),
);
const meta = fc.record(
  {
    api: mostly(api),
    contains_pii: fc.oneof(fc.boolean(), fc.string()),
    routewright: mostly(fc.record({ lint: mostly(suppression) })),
  },
  { requiredKeys: [] },
);
const column = fc.record(
  { name, meta: mostly(meta), constraints: mostly(fc.array(mostly(index))) },
  { requiredKeys: [] },
);
const node = fc.record(
  {
    resource_type: fc.constantFrom("model", "model", "model", "seed", "snapshot", "source", "test"),
    name,
    schema: fc.constant("analytics"),
    tags: mostly(
      fc.tuple(
        fc.constantFrom("tier0", "tier1", "tier3"),
        fc.constant("production"),
        name.map((text) => `api:${text}`),
      ),
    ),
    depends_on: mostly(fc.record({ nodes: mostly(fc.array(id, { maxLength: 3 })) })),
    columns: mostly(fc.dictionary(name, mostly(column))),
    constraints: mostly(fc.array(mostly(index))),
    test_metadata: mostly(fc.record({ name: fc.constantFrom("unique", "unique_combination_of_columns") })),
    attached_node: id,
    column_name: mostly(name),
    config: mostly(
      fc.record(
        {
          materialized: fc.constantFrom("view", "table", "incremental", "ephemeral", "x"),
          meta: mostly(meta),
          indexes: mostly(fc.array(mostly(index))),
          order_by: mostly(fc.oneof(name, fc.string(), fc.array(name))),
          partition_by: mostly(fc.string()),
          unique_key: mostly(fc.oneof(name, fc.array(name))),
        },
        { requiredKeys: [] },
      ),
    ),
  },
  { requiredKeys: ["resource_type", "name"] },
);
const manifest = fc.record({
  metadata: fc.record({
    dbt_schema_version: fc.constant("https://schemas.getdbt.com/dbt/manifest/v12.json"),
    adapter_type: fc.constantFrom("postgres", "clickhouse", "duckdb"),
  }),
  nodes: fc.dictionary(id, mostly(node)),
  sources: mostly(fc.dictionary(id, mostly(node))),
});

it("never crashes, and reports the same of the same manifest", () => {
  let findings = 0;
  const check = (json: unknown): void => {
    const [result, again] = [lintJson(json), lintJson(structuredClone(json))];
    findings += result.findings.length;
    for (const format of FORMATS) expect(reported(again, format)).toBe(reported(result, format));
  };
  fc.assert(fc.property(manifest, check), { numRuns: 100 });
  expect(findings).toBeGreaterThan(100);
});

it("reports the same, whatever the order of the nodes", () => {
  const check = (json: { readonly nodes: object }): void => {
    const turned = { ...json, nodes: Object.fromEntries(Object.entries(json.nodes).reverse()) };
    expect(reported(lintJson(turned), "json")).toBe(reported(lintJson(json), "json"));
  };
  fc.assert(fc.property(manifest, check), { numRuns: 50 });
});
