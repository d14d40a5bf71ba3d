import { describe, expect, it } from "vitest";
import { parseCatalog, withWarehouseColumns } from "../../generator/manifest/catalog.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { knownColumns } from "../../generator/manifest/model.js";
import { manifestOf } from "../support/manifest.js";

/** A relation's columns in dbt's `catalog.json`, name and type each. */
type Found = readonly (readonly [name: string, type: string])[];

function catalogText(columns: object): string {
  const node = { metadata: { type: "BASE TABLE", schema: "s", name: "a" }, columns, stats: {} };
  return JSON.stringify({
    metadata: { dbt_schema_version: "https://schemas.getdbt.com/dbt/catalog/v1.json" },
    nodes: { "model.test.a": node, "model.test.other": node },
    sources: {},
  });
}

const numbered = (found: Found): object =>
  Object.fromEntries(found.map(([name, type], i) => [name, { name, type, index: i + 1, comment: null }]));

/** Name and type of each column once the warehouse's are added to the declared ones. */
function merged(declared: Readonly<Record<string, string | null>>, columns: object): (string | null)[][] {
  const found = parseCatalog(catalogText(columns), "catalog.json");
  const reading = parseManifest(
    JSON.stringify(manifestOf([{ name: "a", tags: [], columns: declared }])),
    "m",
  );
  if (!found.ok || !reading.ok) throw new Error("not read");
  const { models } = withWarehouseColumns(reading.value, found.value);
  return models.flatMap(knownColumns).map(({ name, type }) => [name, type]);
}

describe("a catalog", () => {
  it("adds ClickHouse's types, and columns after the declared ones, in the relation's order", () => {
    const found = numbered([
      ["day", "Date"],
      ["value", "Nullable(Float64)"],
      ["extra", "UInt64"],
      ["label", "LowCardinality(String)"],
    ]);
    expect(merged({ value: null, day: "Date32" }, found)).toEqual([
      ["value", "Nullable(Float64)"],
      ["day", "Date32"],
      ["extra", "UInt64"],
      ["label", "LowCardinality(String)"],
    ]);
  });

  it("adds PostgreSQL's", () => {
    const found = numbered([
      ["day", "timestamp with time zone"],
      ["value", "numeric"],
    ]);
    expect(merged({}, found)).toEqual([
      ["day", "timestamp with time zone"],
      ["value", "numeric"],
    ]);
  });

  it("goes by the index of a column, not by its place in the file", () => {
    const found = { b: { name: "b", type: "text", index: 2 }, a: { name: "a", type: "text", index: 1 } };
    expect(merged({}, found)).toEqual([
      ["a", "text"],
      ["b", "text"],
    ]);
  });

  it("gives its type to the one column whose name differs in letter case alone, once", () => {
    expect(merged({ value: null }, numbered([["VALUE", "NUMBER"]]))).toEqual([["value", "NUMBER"]]);
    expect(merged({ Value: null }, numbered([["value", "text"]]))).toEqual([["Value", "text"]]);
  });

  it("keeps names apart that differ in letter case alone where both are there, as in ClickHouse", () => {
    const found = numbered([
      ["value", "UInt8"],
      ["VALUE", "String"],
    ]);
    expect(merged({ VALUE: null }, found)).toEqual([
      ["VALUE", "String"],
      ["value", "UInt8"],
    ]);
    expect(merged({ Value: null }, found)).toEqual([
      ["Value", null],
      ["value", "UInt8"],
      ["VALUE", "String"],
    ]);
    expect(merged({ value: null, Value: null }, numbered([["VALUE", "String"]]))).toEqual([
      ["value", null],
      ["Value", null],
      ["VALUE", "String"],
    ]);
  });

  it("has each column once, and ignores malformed entries", () => {
    const found = {
      a: { name: "a", type: "text", index: "first" },
      b: { name: "a", type: "int", index: 3 },
      c: null,
      d: { name: 5, type: {}, index: 2 },
    };
    expect(merged({}, found)).toEqual([
      ["a", "text"],
      ["c", null],
      ["d", null],
    ]);
  });

  it("of a model that it does not hold changes nothing", () => {
    const text = catalogText({}).replaceAll("model.test.a", "model.test.b");
    const found = parseCatalog(text, "catalog.json");
    const reading = parseManifest(
      JSON.stringify(manifestOf([{ name: "a", tags: [], columns: { x: "text" } }])),
      "m",
    );
    if (!found.ok || !reading.ok) throw new Error("not read");
    expect(withWarehouseColumns(reading.value, found.value).models).toEqual(reading.value.models);
  });

  it.each([
    ["a manifest", JSON.stringify(manifestOf([]))],
    ["an empty object", "{}"],
    ["a list", "[]"],
  ])("is not %s", (_, text) => {
    expect(parseCatalog(text, "target/x.json")).toEqual({
      ok: false,
      problems: [
        "target/x.json is not a dbt catalog. Give the catalog.json that `dbt docs generate`, or `dbt compile --write-catalog` of dbt 2, writes to target/.",
      ],
    });
  });
});
