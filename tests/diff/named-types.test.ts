/** Types that have no JSON form of their own, enumerations and domains: by name, labels and base, also inside others. */
import { describe, expect, it } from "vitest";
import { kindsBetween, modelWith } from "./catalogues.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { withWarehouseColumns } from "../../generator/manifest/catalog.js";
import { columnsInFile, columnsText, type PulledColumn } from "../../generator/manifest/columns-file.js";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { compareCatalogues } from "../../generator/diff/compare-catalogues.js";
import { manifestOf } from "../support/manifest.js";
import { CALENDAR } from "./catalogues.js";

const changes = (from: string, to: string, adapter = "postgres"): string[] =>
  kindsBetween([modelWith({ columns: { v: from } })], [modelWith({ columns: { v: to } })], adapter);

/** PostgreSQL's types without a JSON form that the generator knows. */
const UNKNOWN = [
  "order_status",
  "geometry",
  "geometry(Point,4326)",
  "geography",
  "point",
  "box",
  "circle",
  "address",
  "tid",
  "xid8",
  "pg_lsn",
  "vector(3)",
  '"Mixed Name"',
];
const KNOWN = ["integer", "text", "numeric(10,2)", "jsonb", "boolean", "date", "uuid", "hstore", "text[]"];

describe("a type that is not known", () => {
  it("to any other is retyped, whichever they are", () => {
    const pairs = [...UNKNOWN, ...KNOWN].flatMap((from) => UNKNOWN.map((to) => [from, to] as const));
    for (const [from, to] of [...pairs, ...pairs.map(([a, b]) => [b, a] as const)])
      expect([from, to, changes(from, to)]).toEqual([from, to, from === to ? [] : ["column-retyped v"]]);
  });

  it("also inside arrays, maps and tuples", () => {
    expect(changes("order_status[]", "geometry[]")).toEqual(["column-retyped v"]);
    expect(changes("order_status[]", "order_status[]")).toEqual([]);
    const pairs = [
      ["Array(Dynamic)", "Array(Point)"],
      ["Map(String, Variant(UInt8, String))", "Map(String, Variant(UInt8, Date))"],
      ["Tuple(Point, UInt8)", "Tuple(Ring, UInt8)"],
      ["Tuple(a Dynamic)", "Tuple(a Polygon)"],
      ["AggregateFunction(sum, UInt64)", "AggregateFunction(max, UInt64)"],
    ] as const;
    for (const [from, to] of pairs) {
      expect(changes(from, to, "clickhouse")).toEqual(["column-retyped v"]);
      expect(changes(from, from.replaceAll(", ", ",  "), "clickhouse")).toEqual([]);
    }
  });

  it("is compared by name, whatever white space, letter case and the public schema", () => {
    expect(changes("geometry(Point,4326)", "GEOMETRY( Point, 4326 )")).toEqual([]);
    expect(changes("order_status", "public.order_status")).toEqual([]);
  });

  it("json and jsonb write the same value otherwise", () => {
    expect(changes("json", "jsonb")).toEqual(["column-text-changed v"]);
    expect(changes("jsonb[]", "json[]")).toEqual(["column-text-changed v"]);
    expect(changes("jsonb", "order_status")).toEqual(["column-retyped v"]);
  });
});

describe("labels of an enumeration of ClickHouse", () => {
  const A = "Enum8('a' = 1, 'b' = 2, 'c' = 3)";
  it.each([
    ["added", A, "Enum8('a' = 1, 'b' = 2, 'c' = 3, 'd' = 4)", "label-added"],
    ["removed", A, "Enum8('a' = 1, 'b' = 2)", "label-removed"],
    ["renamed", A, "Enum8('a' = 1, 'x' = 2, 'c' = 3)", "label-renamed"],
    ["moved", A, "Enum8('b' = 1, 'a' = 2, 'c' = 3)", "labels-moved"],
    ["renumbered", A, "Enum8('a' = 5, 'b' = 2, 'c' = 3)", "labels-moved"],
    ["written in another order", A, "Enum8('c' = 3, 'a' = 1, 'b' = 2)", null],
    ["renumbered in the same order", A, "Enum16('a' = 10, 'b' = 20, 'c' = 30)", null],
  ])("%s", (_, from, to, kind) => {
    const wrap = [
      (type: string) => type,
      (type: string) => `Nullable(${type})`,
      (type: string) => `Array(${type})`,
      (type: string) => `Map(String, ${type})`,
      (type: string) => `Tuple(UInt8, ${type})`,
      (type: string) => `Tuple(a ${type})`,
    ];
    for (const within of wrap)
      expect(changes(within(from), within(to), "clickhouse")).toEqual(
        kind === null ? [] : [`column-${kind} v`],
      );
  });
});

const NOT_NULL = { notNull: true, comment: null };

/** Kinds between two states of the database, by `columns.json`. */
function pulled(from: Omit<PulledColumn, "name" | "notNull" | "comment">, to: typeof from): string[] {
  const catalogue = (column: typeof from) => {
    const reading = parseManifest(
      JSON.stringify(manifestOf([modelWith({ columns: { v: null } })])),
      "manifest.json",
    );
    if (!reading.ok) throw new Error(reading.problems.join());
    const [id = ""] = reading.value.models.map(({ uniqueId }) => uniqueId);
    const text = columnsText(new Map([[id, [{ name: "v", ...NOT_NULL, ...column }]]]));
    const columns = columnsInFile(JSON.parse(text) as Record<string, unknown>);
    return catalogueOf(withWarehouseColumns(reading.value, columns ?? new Map()));
  };
  return compareCatalogues(catalogue(from), catalogue(to), CALENDAR).map(({ kind }) => kind);
}

describe("what columns pull reads of PostgreSQL", () => {
  const status = { type: "order_status", labels: ["open", "paid", "void"] };
  it.each([
    ["a label added", { ...status, labels: [...status.labels, "new"] }, ["column-label-added"]],
    [
      "a label added in between",
      { ...status, labels: ["open", "new", "paid", "void"] },
      ["column-label-added"],
    ],
    ["a label removed", { ...status, labels: ["open", "void"] }, ["column-label-removed"]],
    ["a label renamed", { ...status, labels: ["open", "settled", "void"] }, ["column-label-renamed"]],
    ["labels moved", { ...status, labels: ["paid", "open", "void"] }, ["column-labels-moved"]],
    ["only another name", { ...status, type: "state" }, ["column-type-renamed"]],
    ["nothing", status, []],
  ])("%s", (_, to, kinds) => {
    expect(pulled(status, to)).toEqual(kinds);
    const array = (each: typeof status) => ({ ...each, type: `${each.type}[]` });
    expect(pulled(array(status), array(to))).toEqual(kinds);
  });

  it.each([
    [
      "of a domain",
      { type: "email", baseType: "text" },
      { type: "mail", baseType: "text" },
      ["column-type-renamed"],
    ],
    [
      "of the base",
      { type: "price", baseType: "numeric(10,2)" },
      { type: "price", baseType: "numeric(12,4)" },
      ["column-widened"],
    ],
    [
      "of the base's kind",
      { type: "email", baseType: "text" },
      { type: "email", baseType: "integer" },
      ["column-retyped"],
    ],
    ["to the base itself", { type: "email", baseType: "text" }, { type: "text" }, []],
  ])("another type %s", (_, from, to, kinds) => {
    expect(pulled(from, to)).toEqual(kinds);
  });
});
