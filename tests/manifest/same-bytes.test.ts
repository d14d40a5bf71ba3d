import { describe, expect, it } from "vitest";
import { filesIn } from "../support/files.js";
import { generateInto, ownFolder } from "../support/service.js";

const TAGS = ["production", "bridges", "api:volume"];
const API = { allow_unfiltered: true };

describe("the generated folder of one project", () => {
  const [meta, contract] = [{ api: API }, { enforced: true }];
  const constraint = { type: "not_null", name: null, expression: null, warn_unenforced: true };
  const column = { name: "day", description: "Day.", meta: { pii: true }, data_type: "date", tags: ["a"] };
  const config = { tags: TAGS, meta, materialized: "table", contract };
  const test = {
    resource_type: "test",
    test_metadata: { name: "not_null", kwargs: { column_name: "day" }, namespace: null },
    column_name: "day",
    attached_node: "model.shop.api_volume",
    depends_on: { macros: ["macro.dbt.test_not_null"], nodes: ["model.shop.api_volume"] },
    config: { severity: "ERROR", where: null, enabled: true },
    original_file_path: "models/marts/schema.yml",
  };

  /** What dbt 1.5 wrote of a model with a contract, and what other versions write of the same project. */
  const first = {
    resource_type: "model",
    name: "api_volume",
    alias: "api_volume",
    schema: "dbt",
    description: "Volume.",
    original_file_path: "models/marts/api_volume.sql",
    patch_path: "shop://models/marts/schema.yml",
    tags: TAGS,
    meta,
    config,
    contract: { ...contract, checksum: "1" },
    constraints: [{ ...constraint, type: "unique", columns: ["day"] }],
    columns: { day: { ...column, quote: null, constraints: [constraint] } },
  };
  const [later, references] = [
    { ...contract, alias_types: true },
    { to: null, to_columns: [] },
  ];
  const in17 = {
    ...first,
    config: { ...config, contract: later, access: "public", on_configuration_change: "apply" },
    contract: { ...later, checksum: "2" },
    deprecation_date: null,
  };
  const in18 = {
    ...in17,
    constraints: [{ ...first.constraints[0], ...references }],
    columns: { day: { ...first.columns.day, constraints: [{ ...constraint, ...references }] } },
  };
  const blocks = { doc_blocks: ["doc.shop.day"] };
  const copied = { config: { meta: column.meta, tags: column.tags }, granularity: null };
  const in110 = {
    ...in18,
    ...blocks,
    config: { ...in17.config, batch_size: null, event_time: null, freshness: null, lookback: 1 },
    columns: { day: { ...in18.columns.day, ...blocks, ...copied } },
  };
  const in111 = { ...in110, functions: [], config: { ...in110.config, static_analysis: null } };
  /** Those that write each key in one place only, as dbt Fusion does. */
  const moved = {
    ...in111,
    meta: {},
    columns: { day: { ...in111.columns.day, meta: {}, tags: [] } },
  };
  const windows = {
    ...in111,
    original_file_path: "models\\marts\\api_volume.sql",
    patch_path: "shop://models\\marts\\schema.yml",
  };
  const nodesOf = (model: object, more: object = {}): object => ({
    "model.shop.api_volume": model,
    "test.shop.not_null_api_volume_day.1": { ...test, ...more },
  });
  const manifestText = (version: number, nodes: object): string => {
    const dbt_schema_version = `https://schemas.getdbt.com/dbt/manifest/v${String(version)}.json`;
    return JSON.stringify({ metadata: { dbt_schema_version, adapter_type: "postgres" }, nodes });
  };
  const generated = (version: number, nodes: object): Readonly<Record<string, string>> => {
    const folder = ownFolder();
    generateInto(folder, JSON.parse(manifestText(version, nodes)));
    return filesIn(folder);
  };

  it.each([
    ["dbt 1.7", 11, nodesOf(in17)],
    ["dbt 1.8", 12, nodesOf(in18)],
    ["dbt 1.10", 12, nodesOf(in110, blocks)],
    ["dbt 1.11", 12, nodesOf(in111, { ...blocks, functions: [] })],
    ["a dbt that writes each key once", 12, nodesOf(moved)],
    ["dbt on Windows", 12, nodesOf(windows, { original_file_path: "models\\marts\\schema.yml" })],
  ])("is the same from %s, byte by byte", (_, version, nodes) => {
    const files = generated(9, nodesOf(first));
    expect(files).toHaveProperty(["routes/bridges/volume.ts"]);
    expect(generated(version, nodes)).toEqual(files);
  });

  it("is the same from dbt 2, which copies meta and tags into columns without their own and leaves empty keys out", () => {
    const facts = {
      meta: { ...meta, pii: true, routewright: { synonyms: ["turnover"] } },
      tags: [...TAGS, "a"],
    };
    const plain = { name: "day", description: "Day.", data_type: "date", constraints: [] };
    const before = { ...in111, ...facts, config: { ...in111.config, ...facts }, columns: { day: plain } };
    const config = { ...before.config, on_configuration_change: undefined, schema: null };
    const absent = { deprecation_date: undefined, doc_blocks: undefined };
    const inherited = { ...plain, ...facts, config: facts, classifiers: [] };
    const in20 = { ...before, ...absent, config, classifiers: [], columns: { day: inherited } };
    expect(generated(12, nodesOf(in20))).toEqual(generated(12, nodesOf(before)));
  });
});
