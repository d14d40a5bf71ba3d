import { describe, expect, it } from "vitest";
import type { CatalogueEntry } from "../../../generator/catalogue/catalogue.js";
import { OPENAPI_MARKER, openApiOf, openApiText } from "../../../generator/render/openapi/document.js";
import { catalogue, columns, documentOf, entry, FULL, LEGACY, type Parsed } from "./catalogues.js";

const TWO = [
  entry({ category: "esg" }),
  entry({ category: "bridges", granularity: "daily" }),
  LEGACY,
] as const;

interface Tiered {
  readonly "x-tier": string;
}

describe("the OpenAPI document", () => {
  it("begins with the version and the generator's marker", () => {
    expect(Object.keys(openApiOf(catalogue()))).toEqual([
      "openapi",
      "x-generated-by",
      "info",
      "servers",
      "tags",
      "x-tagGroups",
      "paths",
      "components",
    ]);
    expect(documentOf()).toMatchObject({ openapi: "3.1.0", "x-generated-by": OPENAPI_MARKER });
    expect(OPENAPI_MARKER).toMatch(/^Routewright/);
  });

  it("carries the API's title and version v1", () => {
    expect(documentOf().info).toMatchObject({ title: "Routewright Data API", version: "v1" });
    expect(openApiOf(catalogue(), { title: "Bridges" }).info["title"]).toBe("Bridges");
  });

  it("lists the tiers with their limits on its front page", () => {
    expect(documentOf().info.description).toContain("| tier2 | Premium | 1000 |");
  });

  it("keeps the paths in the catalogue's order, the system's after them", () => {
    expect(Object.keys(documentOf(...TWO).paths)).toEqual([
      "/v1/esg/volume",
      "/v1/bridges/volume/daily",
      "/v1/bridges/legacy/latest",
      "/",
      "/health",
      "/docs",
      "/redoc",
      "/explore",
      "/openapi.json",
      "/v1/system/catalogue",
      "/v1/system/usage",
      "/metrics",
      "/v1/system/manifest/refresh",
    ]);
  });

  it("tags each category once, in order, and groups them apart from the system", () => {
    const { tags, "x-tagGroups": groups } = documentOf(...TWO);
    expect(tags.map((tag: { name: string }) => tag.name)).toEqual(["esg", "bridges", "System"]);
    expect(groups).toEqual([
      { name: "Data", tags: ["esg", "bridges"] },
      { name: "Service", tags: ["System"] },
    ]);
  });

  it("describes how a key is sent", () => {
    expect(documentOf().components.securitySchemes).toEqual({
      ApiKeyAuth: { type: "apiKey", in: "header", name: "X-API-Key" },
    });
  });

  it("ends with one newline and is the same text every time", () => {
    const text = openApiText(catalogue(FULL, LEGACY));
    expect(text).toMatch(/[^\n]\n$/);
    expect(openApiText(catalogue(FULL, LEGACY))).toBe(text);
  });

  it("describes an endpoint the same whatever other endpoints there are", () => {
    const { paths, components } = documentOf(FULL);
    const among = documentOf(LEGACY, FULL, ...TWO.slice(0, 2));
    expect(among.paths[FULL.endpoint.path]).toEqual(paths[FULL.endpoint.path]);
    expect(among.components).toMatchObject(components);
  });

  it("has a system endpoint for each of the specification's", () => {
    const { paths } = documentOf();
    expect(paths["/health"].get.responses["503"].content["application/json"].schema).toEqual({
      $ref: "#/components/schemas/Health",
    });
    const tiers = Object.entries<{ get?: Tiered; post?: Tiered }>(paths).map(([at, { get, post }]) => [
      at,
      (get ?? post)?.["x-tier"],
    ]);
    expect(Object.fromEntries(tiers)).toEqual({
      "/": "tier0",
      "/health": "tier0",
      "/docs": "tier0",
      "/redoc": "tier0",
      "/explore": "tier0",
      "/openapi.json": "tier0",
      "/v1/system/catalogue": "tier0",
      "/v1/system/usage": "tier0",
      "/metrics": "tier3",
      "/v1/system/manifest/refresh": "tier3",
    });
  });

  it("never has a public system endpoint answer 429, but that of the caller's use", () => {
    const { paths } = documentOf();
    const open = Object.keys(paths).filter((path) => paths[path].get);
    expect(open).toHaveLength(9);
    const limited = open.filter((path) => "429" in paths[path].get.responses);
    expect(limited).toEqual(["/v1/system/usage"]);
  });

  it("describes the refresh as limited, for tier3 alone, and without parameters", () => {
    const { post } = documentOf().paths["/v1/system/manifest/refresh"];
    expect(post.security).toEqual([{ ApiKeyAuth: [] }]);
    expect(Object.keys(post.responses)).toEqual(["200", "401", "403", "429", "500"]);
    expect(post).not.toHaveProperty("requestBody");
  });
});

describe("the schema of a row", () => {
  it("has a required property per column, in the model's order, with its description", () => {
    const { date, action, value } = rowOf(FULL).properties;
    expect(Object.keys(rowOf(FULL).properties)).toEqual(["date", "token", "bridge", "action", "value"]);
    expect(rowOf(FULL).required).toEqual(["date", "token", "bridge", "action", "value"]);
    expect(date).toEqual({ type: "string", format: "date", description: "Day of the flow." });
    expect(action).toEqual({ type: ["string", "null"] });
    expect(value).toMatchObject({ type: "integer", minimum: 0, description: "Net flow." });
  });

  it("allows properties beyond the columns", () => {
    expect(rowOf(FULL).additionalProperties).toBe(true);
  });

  it("accepts anything in a column without a type", () => {
    expect(rowOf(entry({ columns: columns("mystery") })).properties).toEqual({ mystery: {} });
  });

  it("keeps the model's order for columns that look like integers", () => {
    const text = openApiText(catalogue(entry({ columns: columns("total Int8", "2024 Int8", "1 Int8") })));
    expect(text.indexOf('"total": {')).toBeLessThan(text.indexOf('"2024": {'));
    expect(text.indexOf('"2024": {')).toBeLessThan(text.indexOf('"1": {'));
  });

  it("has columns that are named as parts of every object", () => {
    const row = rowOf(entry({ columns: columns("__proto__ String", "constructor String", "toString Date") }));
    expect(Object.keys(row.properties)).toEqual(["__proto__", "constructor", "toString"]);
    expect(Object.getOwnPropertyDescriptor(row.properties, "__proto__")?.value).toEqual({ type: "string" });
  });
});

function rowOf(one: CatalogueEntry): Parsed {
  const { schemas } = documentOf(one).components;
  return schemas[Object.keys(schemas).find((name) => name.endsWith("_row")) ?? ""];
}
