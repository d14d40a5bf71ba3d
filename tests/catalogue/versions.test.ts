import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import type { Catalogue } from "../../generator/catalogue/catalogue.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { moduleIdentifier, render, routeFile } from "../../generator/render/render.js";
import { manifestOf } from "../support/manifest.js";

interface Version {
  readonly v: number | string;
  readonly latest?: number | string;
  readonly tags?: readonly string[];
  readonly columns?: Readonly<Record<string, string>>;
  readonly more?: object;
}

const TAGS = ["production", "shop", "api:orders", "granularity:daily"];

/** A catalogue of versions of models, by the model's name. */
function catalogue(models: Readonly<Record<string, readonly Version[]>>): Catalogue {
  const manifest = manifestOf([]) as { nodes: Record<string, unknown> };
  for (const [name, versions] of Object.entries(models))
    for (const { v, latest = versions.at(-1)?.v, tags = TAGS, columns = { id: "bigint" }, more } of versions)
      manifest.nodes[`model.test.${name}.v${v}`] = {
        resource_type: "model",
        name,
        alias: `${name}_v${v}`,
        schema: "analytics",
        version: v,
        latest_version: latest,
        tags,
        columns: Object.fromEntries(
          Object.entries(columns).map(([column, type]) => [column, { name: column, data_type: type }]),
        ),
        ...more,
      };
  const reading = parseManifest(JSON.stringify(manifest), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return catalogueOf(reading.value);
}

/** Paths of each endpoint, its own first. */
function paths({ entries }: Catalogue): readonly (readonly (string | null | undefined)[])[] {
  return entries.map(({ uniqueId, path, versionPath, successor }) => [
    uniqueId.replace("model.test.", ""),
    path,
    versionPath,
    successor,
  ]);
}

describe("versions whose tags give one path", () => {
  it("have each a path of its own, and the latest one has the path without a version", () => {
    expect(paths(catalogue({ orders: [{ v: 1 }, { v: 2 }] }))).toEqual([
      ["orders.v2", "/v1/shop/orders/daily", "/v1/shop/orders@2/daily", null],
      ["orders.v1", "/v1/shop/orders@1/daily", undefined, "/v1/shop/orders/daily"],
    ]);
  });

  it("before a newer one becomes the latest", () => {
    const early = catalogue({
      orders: [
        { v: 1, latest: 1 },
        { v: 2, latest: 1 },
      ],
    });
    expect(paths(early)).toEqual([
      ["orders.v1", "/v1/shop/orders/daily", "/v1/shop/orders@1/daily", null],
      ["orders.v2", "/v1/shop/orders@2/daily", undefined, "/v1/shop/orders/daily"],
    ]);
  });

  it("answer there when one is alone, so that nothing moves once another comes or goes", () => {
    for (const latest of [1, 2])
      expect(paths(catalogue({ orders: [{ v: 1, latest }] }))).toEqual([
        ["orders.v1", "/v1/shop/orders/daily", "/v1/shop/orders@1/daily", null],
      ]);
  });

  it("leave the path without a version alone where the latest one is elsewhere", () => {
    const other = ["production", "shop", "api:orders_new"];
    expect(paths(catalogue({ orders: [{ v: 1 }, { v: 2 }, { v: 3, tags: other }] }))).toEqual([
      ["orders.v1", "/v1/shop/orders@1/daily", undefined, "/v1/shop/orders_new"],
      ["orders.v2", "/v1/shop/orders@2/daily", undefined, "/v1/shop/orders_new"],
      ["orders.v3", "/v1/shop/orders_new", undefined, null],
    ]);
  });

  it("count where one of them is invalid: mending it moves nothing", () => {
    const bad = { meta: { api: { methods: [] } } };
    const { entries, skipped } = catalogue({ orders: [{ v: 1 }, { v: 2, more: bad }] });
    expect(entries.map(({ path }) => path)).toEqual(["/v1/shop/orders@1/daily"]);
    expect(skipped.map(({ model, reason }) => [model, reason])).toEqual([
      ["model.test.orders.v2", "invalid"],
    ]);
  });

  it("do not where one is excluded", () => {
    const excluded = { meta: { api: { exclude_from_api: true } } };
    expect(paths(catalogue({ orders: [{ v: 1 }, { v: 2, more: excluded }] }))).toEqual([
      ["orders.v1", "/v1/shop/orders/daily", "/v1/shop/orders@1/daily", null],
    ]);
  });
});

it("versions with paths of their own keep them", () => {
  const tags = ["production", "shop", "api:orders_v2"];
  expect(paths(catalogue({ orders: [{ v: 1 }, { v: 2, tags }] }))).toEqual([
    ["orders.v1", "/v1/shop/orders/daily", undefined, "/v1/shop/orders_v2"],
    ["orders.v2", "/v1/shop/orders_v2", undefined, null],
  ]);
});

it("two models do not share a path with a version", () => {
  const { entries, skipped } = catalogue({ orders: [{ v: 1 }, { v: 2 }], sales: [{ v: 1 }, { v: 2 }] });
  expect(entries.map(({ uniqueId }) => uniqueId)).toEqual(["model.test.orders.v2", "model.test.orders.v1"]);
  expect(skipped.map(({ model, reason }) => [model, reason])).toEqual([
    ["model.test.sales.v1", "path-taken"],
    ["model.test.sales.v2", "path-taken"],
  ]);
});

it.each(["2 b", "2/3", "a@b", "", "2#x", "1.json"])("the version %j is no part of a path", (v) => {
  const tags = ["production", "shop", "api:orders"];
  const { entries, skipped } = catalogue({
    orders: [
      { v: 1, latest: 1, tags },
      { v, latest: 1, tags },
    ],
  });
  expect(entries.map(({ version }) => version)).toEqual(["1"]);
  expect(skipped.map(({ reason }) => reason)).toEqual(["invalid"]);
});

it("no two versions share a file, an identifier or an operation, whatever the file system", () => {
  const versions = ["1", "1.5", "15", "1-5", "1_5", "B", "b", "con", "d", "1.d", "v1"].map((v) => ({
    v,
    latest: "1",
  }));
  const made = catalogue({ orders: versions });
  expect(made.skipped).toEqual([]);
  const files = made.entries.map((entry) => routeFile(entry).toLowerCase());
  expect(new Set(files).size).toBe(versions.length);
  for (const file of files) expect(file).not.toMatch(/\.d\.ts$|[<>:"|?*\\]|[. ]\//);
  expect(new Set(made.entries.map(moduleIdentifier)).size).toBe(versions.length);
  for (const entry of made.entries) expect(moduleIdentifier(entry)).toMatch(/^[\w$]+$/);
  const { paths: all } = JSON.parse(render(made).get("openapi.json") ?? "") as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const ids = Object.values(all).flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
  expect(new Set(ids).size).toBe(ids.length);
});

it("a version may be a former path, as `diff` proposes", () => {
  const former = (path: string) => ({
    meta: { routewright: { former_paths: [{ path, sunset: "2031-01-01" }] } },
  });
  const read = (path: string) => catalogue({ orders: [{ v: 2, more: former(path) }] });
  expect(read("/v1/shop/orders@1/daily").skipped).toEqual([]);
  for (const path of [
    "/v1/shop/orders@1@2/daily",
    "/v1/sh@1/orders",
    "/v1/shop/orders@/daily",
    "/v1/shop/orders@2/daily",
  ])
    expect(read(path).entries, path).toEqual([]);
});

it("what changes for callers who move is in the catalogue of the folder", () => {
  const made = catalogue({
    orders: [
      { v: 1, columns: { id: "bigint", amount: "integer", note: "text" } },
      { v: 2, columns: { id: "bigint", amount: "text", currency: "text" } },
    ],
  });
  const { endpoints } = JSON.parse(render(made).get("catalogue.json") ?? "") as {
    endpoints: { path: string; successorChanges?: string[] }[];
  };
  expect(endpoints.map(({ successorChanges }) => successorChanges)).toEqual([
    undefined,
    ["Column retyped: amount (integer null → text null)", "Column removed: note", "Column added: currency"],
  ]);
});
