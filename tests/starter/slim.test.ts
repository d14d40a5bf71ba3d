import { describe, expect, it } from "vitest";
import { slimManifest } from "../../scripts/starter/manifest.js";

const model = {
  resource_type: "model",
  unique_id: "model.p.b",
  name: "b",
  alias: "b",
  database: "here",
  relation_name: '"here"."s"."b"',
  created_at: 1.5,
  checksum: { name: "sha256", checksum: "ff" },
  build_path: "/tmp/x",
  tags: ["production"],
  config: {
    materialized: "table",
    enabled: true,
    on_schema_change: "ignore",
    indexes: [],
    meta: { z: 1, a: 2 },
  },
  columns: {
    z: {
      name: "z",
      data_type: "date",
      constraints: [{ type: "not_null", name: null, warn_unsupported: true }],
    },
    a: { name: "a", data_type: null, constraints: [] },
  },
  depends_on: { macros: ["macro.dbt.x"], nodes: ["model.p.z", "model.p.a"] },
  compiled_code: '\n\nselect * from "here"."s"."b" where x = \'"here"\'\n',
};
const manifest = {
  metadata: { dbt_version: "1", generated_at: "today", invocation_id: "i", env: {} },
  nodes: {
    "model.p.b": model,
    "test.p.t": {
      resource_type: "test",
      unique_id: "test.p.t",
      attached_node: "model.p.b",
      column_name: "z",
      created_at: 2.5,
      columns: {},
      config: { severity: "WARN", store_failures: null, where: "z > 1" },
      depends_on: { macros: ["macro.dbt.x"], nodes: ["model.p.b"] },
      test_metadata: { name: "unique", namespace: null, kwargs: { column_name: "z" } },
      compiled_code: 'select z from "here"."s"."b"',
    },
    "operation.p.o": { resource_type: "operation", unique_id: "operation.p.o" },
  },
  macros: {},
};

describe("a slim manifest", () => {
  const slim = JSON.parse(slimManifest(manifest));
  const node = slim.nodes["model.p.b"];

  it("keeps models, seeds and tests, and of the metadata what holds on every machine", () => {
    expect(slim.metadata).toEqual({ dbt_version: "1" });
    expect(Object.keys(slim.nodes)).toEqual(["model.p.b", "test.p.t"]);
    expect(slim.nodes["test.p.t"]).toEqual({
      resource_type: "test",
      unique_id: "test.p.t",
      attached_node: "model.p.b",
      column_name: "z",
      config: { severity: "WARN", where: "z > 1" },
      depends_on: { nodes: ["model.p.b"] },
      test_metadata: { name: "unique", namespace: null, kwargs: { column_name: "z" } },
      compiled_code: 'select z from "s"."b"',
    });
    expect(node).not.toHaveProperty("created_at");
    expect(node).not.toHaveProperty("checksum");
    expect(node).not.toHaveProperty("build_path");
  });

  it("takes the database out of relation names and nothing else", () => {
    expect(node.compiled_code).toBe('select * from "s"."b" where x = \'"here"\'');
  });

  it("sorts keys and dependencies, but leaves columns in the relation's order", () => {
    expect(Object.keys(node)).toEqual(Object.keys(node).toSorted());
    expect(Object.keys(node.config.meta)).toEqual(["a", "z"]);
    expect(node.depends_on).toEqual({ nodes: ["model.p.a", "model.p.z"] });
    expect(Object.entries(node.columns)).toEqual([
      ["z", { constraints: [{ type: "not_null" }], data_type: "date", name: "z" }],
      ["a", { name: "a" }],
    ]);
  });

  it("is refused for anything but a manifest", () => {
    expect(() => slimManifest({ metadata: {} })).toThrow("This is not a dbt manifest");
  });
});
