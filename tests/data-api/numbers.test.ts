import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compareCatalogues } from "../../generator/diff/compare-catalogues.js";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, ownFolder, startFolder } from "../support/service.js";
import { sendRequest } from "./http-client.js";

const schema = await ownSchema(`
  CREATE TABLE @.sums AS SELECT 1 AS id, 9007199254740993::bigint AS total, 18446744073709551615.50::numeric AS exact,
    12.50::numeric AS small, 'NaN'::numeric AS none, 0.5::float8 AS ratio, 7::bigint AS free`);

const columns = {
  id: "integer",
  total: "UInt64",
  exact: "numeric(38,2)",
  small: "numeric(10,2)",
  none: "numeric",
  ratio: "double precision",
  free: null,
};

/** Two endpoints over one table: `plain`, and `text` with strings by default. */
function manifest(numbers: unknown = "string") {
  const models = ["plain", "text"].map((name) => ({
    name,
    schema,
    columns,
    tags: ["production", "sums", `api:${name}`],
    api: { allow_unfiltered: true, pagination: { enabled: true, default_limit: 5, max_limit: 5 } },
  }));
  const base = manifestOf(models) as { nodes: Record<string, { config: { meta: object } }> };
  const nodes = Object.entries(base.nodes).map(([id, { config, ...node }]) => {
    const routewright = id.endsWith("text") ? { numbers } : {};
    return [id, { ...node, alias: "sums", config: { ...config, meta: { ...config.meta, routewright } } }];
  });
  return { ...base, nodes: Object.fromEntries(nodes) as unknown };
}

const folder = ownFolder();
generateInto(folder, manifest());
const { url } = await startFolder(folder);

const read = (path: string, accept?: string) =>
  sendRequest(url, path, accept === undefined ? {} : { headers: { accept } });

const NUMBERS =
  '[{"id":1,"total":9007199254740993,"exact":18446744073709551615.50,"small":12.50,"none":null,"ratio":0.5,"free":7}]';
const STRINGS =
  '[{"id":1,"total":"9007199254740993","exact":"18446744073709551615.50","small":12.50,"none":null,"ratio":0.5,"free":"7"}]';

describe("wide numbers", () => {
  it.each([
    "application/json; numbers=string",
    "text/html, application/json;q=0.9;numbers=string",
    'application/json;numbers="STRING"',
  ])("are strings with Accept: %s", async (accept) => {
    const { headers, text } = await read("/v1/sums/plain", accept);
    expect(text).toBe(STRINGS);
    expect(headers["content-type"]).toBe("application/json; charset=utf-8; numbers=string");
  });

  it.each([
    undefined,
    "*/*",
    "application/json",
    "application/json; numbers=number",
    "application/json; numbers=x",
    "text/csv;q=0.1, application/json",
  ])("are numbers with Accept: %s", async (accept) => {
    const { headers, text } = await read("/v1/sums/plain", accept);
    expect([text, headers["content-type"]]).toEqual([NUMBERS, "application/json; charset=utf-8"]);
  });

  it("have a tag for each form", async () => {
    const [one, other] = await Promise.all([
      read("/v1/sums/plain"),
      read("/v1/sums/plain", "application/json; numbers=string"),
    ]);
    expect(one.headers["etag"]).not.toBe(other.headers["etag"]);
  });

  it("are strings by default where the model says so, in JSON alone", async () => {
    expect((await read("/v1/sums/text")).text).toBe(STRINGS);
    expect((await read("/v1/sums/text.json")).text).toBe(STRINGS);
    expect((await read("/v1/sums/text", "application/json")).text).toBe(STRINGS);
    expect((await read("/v1/sums/text", "application/json; numbers=number")).text).toBe(NUMBERS);
    expect((await read("/v1/sums/text.csv")).text).toContain("9007199254740993,18446744073709551615.50,");
  });

  it("are described by OpenAPI and the types", async () => {
    const document = JSON.parse((await read("/openapi.json")).text) as {
      components: { schemas: Record<string, { properties: Record<string, object> }> };
    };
    const { properties } = document.components.schemas["sums_text_row"] ?? { properties: {} };
    const string = { type: ["string", "null"], pattern: "^-?\\d+(\\.\\d+)?$" };
    expect(properties).toMatchObject({
      total: string,
      exact: string,
      none: string,
      small: { type: ["number", "null"] },
    });
    expect(document.components.schemas["sums_plain_row"]?.properties).toMatchObject({
      exact: { type: ["number", "null"] },
    });
    const module = readFileSync(join(folder, "routes/sums/text.ts"), "utf8");
    expect(module).toMatch(/^ {2}total: string \| null;$/m);
    expect(module).toMatch(/^ {2}small: number \| null;$/m);
    expect(module).toContain('wideColumns: ["total", "exact", "none"],\n  numbers: "string",');
  });

  it("are a breaking change when the default turns, and another word is an error", () => {
    const catalogue = (numbers: unknown) => {
      const reading = parseManifest(JSON.stringify(manifest(numbers)), "manifest.json");
      if (!reading.ok) throw new Error(reading.problem);
      return catalogueOf(reading.manifest);
    };
    const calendar = { today: "2026-01-01", minimumNoticeDays: 30 };
    expect(
      compareCatalogues(catalogue("number"), catalogue("string"), calendar).map(
        ({ kind, subject }) => `${kind} ${String(subject)}`,
      ),
    ).toEqual(["column-retyped exact", "column-retyped none", "column-retyped total"]);
    expect(catalogue("text").skipped[0]?.problems[0]).toMatchObject({ path: "$.meta.routewright.numbers" });
  });
});
