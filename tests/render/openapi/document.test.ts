/** What the golden documents do not show. */
import { describe, expect, it } from "vitest";
import type { CatalogueEntry } from "../../../generator/catalogue/catalogue.js";
import { openApiOf, openApiBytes } from "../../../generator/render/openapi/document.js";
import { catalogue, columns, documentOf, entry, FULL, LEGACY, type Parsed } from "./catalogues.js";

const TWO = [
  entry({ category: "esg" }),
  entry({ category: "bridges", granularity: "daily" }),
  LEGACY,
] as const;

describe("the OpenAPI document", () => {
  it("carries the API's title and version v1", () => {
    expect(documentOf().info).toMatchObject({ title: "Routewright Data API", version: "v1" });
    expect(openApiOf(catalogue(), { title: "Bridges" }).info["title"]).toBe("Bridges");
  });

  it("describes an endpoint the same whatever other endpoints there are", () => {
    const { paths, components } = documentOf(FULL);
    const among = documentOf(LEGACY, FULL, ...TWO.slice(0, 2));
    expect(among.paths[FULL.path]).toEqual(paths[FULL.path]);
    expect(among.components).toMatchObject(components);
  });

  it("has every public system endpoint answer 429, but those that monitoring asks", () => {
    const { paths } = documentOf();
    const open = Object.keys(paths).filter((path) => paths[path].get);
    expect(open).toHaveLength(18);
    const unlimited = open.filter((path) => !("429" in paths[path].get.responses));
    expect(unlimited).toEqual(["/health", "/metrics"]);
  });
});

describe("hints for generators of clients", () => {
  const pages = (response: "list" | "envelope") => ({ defaultLimit: 10, maxLimit: 50, response });
  const hintsOf = (own: Partial<CatalogueEntry>) => {
    const made = entry(own);
    const get = documentOf(made).paths[made.path].get;
    return { speakeasy: get["x-speakeasy-pagination"], fern: get["x-fern-pagination"], get };
  };
  const OFFSET = [
    { name: "offset", in: "parameters", type: "offset" },
    { name: "limit", in: "parameters", type: "limit" },
  ];

  it("say how pages follow each other, by names that the operation has", () => {
    expect(hintsOf({ pagination: null })).toMatchObject({ speakeasy: undefined, fern: undefined });
    expect(hintsOf({ pagination: pages("list") })).toMatchObject({
      speakeasy: { type: "offsetLimit", inputs: OFFSET, outputs: { results: "$" } },
      fern: undefined,
    });
    expect(hintsOf({ pagination: pages("envelope") })).toMatchObject({
      speakeasy: { type: "offsetLimit", inputs: OFFSET, outputs: { results: "$.items" } },
      fern: { offset: "$request.offset", results: "$response.items" },
    });
    const { speakeasy, fern, get } = hintsOf({ pagination: pages("envelope"), cursor: ["day"] });
    expect(speakeasy).toEqual({
      type: "cursor",
      inputs: [{ name: "cursor", in: "parameters", type: "cursor" }],
      outputs: { nextCursor: "$.pagination.next_cursor", results: "$.items" },
    });
    expect(fern).toEqual({
      cursor: "$request.cursor",
      next_cursor: "$response.pagination.next_cursor",
      results: "$response.items",
    });
    const names = get.parameters.map(({ name }: { readonly name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["cursor", "offset", "limit"]));
  });

  it("say what may be repeated", () => {
    expect(documentOf()).toMatchObject({ "x-speakeasy-retries": { statusCodes: ["429", "503"] } });
  });

  it("name the headers of a deprecated path", () => {
    const headersOf = (own: Partial<CatalogueEntry>) => hintsOf(own).get.responses["200"].headers;
    expect(headersOf({ deprecationDate: "2027-01-01T00:00:00Z" })).toMatchObject({
      Deprecation: { $ref: "#/components/headers/Deprecation" },
      Sunset: { $ref: "#/components/headers/Sunset" },
    });
    expect(headersOf({})).not.toHaveProperty("Deprecation");
  });
});

describe("the schema of a row", () => {
  it("keeps the model's order for columns that look like integers", () => {
    const text = openApiBytes(catalogue(entry({ columns: columns("total Int8", "2024 Int8", "1 Int8") })));
    expect(text.indexOf('"total": {')).toBeLessThan(text.indexOf('"2024": {'));
    expect(text.indexOf('"2024": {')).toBeLessThan(text.indexOf('"1": {'));
  });

  it("has columns that are named as parts of every object", () => {
    const row = rowOf(entry({ columns: columns("__proto__ String", "constructor String", "toString Date") }));
    expect(Object.keys(row.properties)).toEqual(["__proto__", "constructor", "toString"]);
    expect(Object.getOwnPropertyDescriptor(row.properties, "__proto__")?.value).toMatchObject({
      type: "string",
    });
  });
});

function rowOf(one: CatalogueEntry): Parsed {
  const { schemas } = documentOf(one).components;
  return schemas[Object.keys(schemas).find((name) => name.endsWith("_row")) ?? ""];
}
