import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { compareCatalogues } from "../../../generator/diff/compare-catalogues.js";
import { catalogueOf } from "../../../generator/catalogue/build.js";
import { parseManifest } from "../../../generator/manifest/manifest.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, ownFolder, startFolder } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";

const schema = await ownSchema(`
  CREATE TABLE @.sums AS SELECT 1 AS id, 9007199254740993::bigint AS total, 18446744073709551615.50::numeric AS exact,
    12.50::numeric AS small, 'NaN'::numeric AS none, 0.5::float8 AS ratio, 7::bigint AS free;
  CREATE TABLE @.limits AS SELECT v::numeric AS free, v::numeric(20,0) AS whole, v::float8 AS ratio, ARRAY[v]::float8[] AS list, ARRAY[v, NULL] AS texts,
    50.5::float8 AS listed FROM (VALUES ('NaN'), ('2')) AS v(v)`);

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
const manifest = (numbers: unknown = "string") =>
  manifestOf(
    ["plain", "text"].map((name) => ({
      name,
      schema,
      alias: "sums",
      columns,
      tags: ["production", "sums", `api:${name}`],
      api: { allow_unfiltered: true, pagination: { enabled: true, default_limit: 5, max_limit: 5 } },
      routewright: name === "text" ? { numbers } : {},
    })),
  );

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
      if (!reading.ok) throw new Error(reading.problems.join(" "));
      return catalogueOf(reading.value);
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

describe("wide numbers of a column", () => {
  /** `own`: some columns as strings; `rest`: all but some. With sums, whose numbers are as the model's. */
  const withOwn = (own: Readonly<Record<string, unknown>>, model: object = {}) => {
    const whole = manifest("number") as { nodes: Record<string, { columns: Record<string, object> }> };
    const { columns: plain, ...node } = whole.nodes["model.test.plain"] ?? { columns: {} };
    return {
      ...whole,
      nodes: {
        "model.test.plain": {
          ...node,
          config: {
            tags: ["production", "sums", "api:plain"],
            meta: { api: { allow_unfiltered: true }, routewright: model },
          },
          columns: Object.fromEntries(
            Object.entries(plain).map(([name, column]) => [
              name,
              name in own ? { ...column, config: { meta: { routewright: { numbers: own[name] } } } } : column,
            ]),
          ),
        },
      },
    };
  };
  const catalogue = (json: unknown) => {
    const reading = parseManifest(JSON.stringify(json), "manifest.json");
    if (!reading.ok) throw new Error(reading.problems.join(" "));
    return catalogueOf(reading.value);
  };
  const start = async (json: unknown) => {
    const generated = ownFolder();
    generateInto(generated, json);
    const service = await startFolder(generated);
    return (path: string, accept?: string) =>
      sendRequest(service.url, path, accept === undefined ? {} : { headers: { accept } });
  };
  const MIXED =
    '[{"id":1,"total":"9007199254740993","exact":18446744073709551615.50,"small":12.50,"none":null,"ratio":0.5,"free":"7"}]';

  it("are strings where it says so, unless a request asks for another form", async () => {
    const aggregate = { aggregate: { measures: { sum: { agg: "sum", column: "total" } } } };
    const ask = await start(withOwn({ total: "string", free: "string" }, { fields: true, ...aggregate }));
    const { text, headers } = await ask("/v1/sums/plain");
    expect([text, headers["content-type"]]).toEqual([MIXED, "application/json; charset=utf-8"]);
    expect((await ask("/v1/sums/plain.json")).text).toBe(MIXED);
    expect((await ask("/v1/sums/plain", "application/json; numbers=number")).text).toBe(NUMBERS);
    expect((await ask("/v1/sums/plain", "application/json; numbers=string")).text).toBe(STRINGS);
    expect((await ask("/v1/sums/plain.csv")).text).toContain("9007199254740993,");
    expect((await ask("/v1/sums/plain?fields=total,exact")).text).toBe(
      '[{"total":"9007199254740993","exact":18446744073709551615.50}]',
    );
    expect((await ask("/v1/sums/plain?measures=sum")).text).toBe('[{"sum":9007199254740993}]');
    const document = JSON.parse((await ask("/openapi.json")).text) as {
      components: { schemas: Record<string, { properties: Record<string, object> }> };
    };
    expect(document.components.schemas["sums_plain_row"]?.properties).toMatchObject({
      total: { type: ["string", "null"], pattern: "^-?\\d+(\\.\\d+)?$" },
      exact: { type: ["number", "null"] },
    });
  });

  it("are numbers where it says so, under strings of the model", async () => {
    const ask = await start(withOwn({ exact: "number" }, { numbers: "string" }));
    expect((await ask("/v1/sums/plain")).text).toBe(MIXED);
    expect((await ask("/v1/sums/plain", "application/json; numbers=number")).text).toBe(NUMBERS);
  });

  it("are a breaking change when the form turns", () => {
    const calendar = { today: "2026-01-01", minimumNoticeDays: 30 };
    const changes = (base: unknown, head: unknown) =>
      compareCatalogues(catalogue(base), catalogue(head), calendar).map(
        ({ kind, subject }) => `${kind} ${String(subject)}`,
      );
    expect(changes(withOwn({}), withOwn({ total: "string" }))).toEqual(["column-retyped total"]);
    expect(changes(withOwn({ total: "number" }), withOwn({}))).toEqual([]);
  });

  it.each([
    [{ total: "text" }, "$.columns.total.meta.routewright.numbers"],
    [{ id: "string" }, "$.columns.id.meta.routewright.numbers"],
    [{ exact: "string" }, "$.columns.exact.meta.routewright.numbers"],
    [{ ratio: "string" }, "$.columns.ratio.meta.routewright.numbers"],
  ])("are an error where nothing would change: %o", (own, path) => {
    const { skipped } = catalogue(
      withOwn(own, { aggregate: { group_by: ["exact"], measures: { n: { agg: "count" } } } }),
    );
    expect(skipped[0]?.problems[0]).toMatchObject({ path });
  });
});

// A column that a test looks at: `not_null`, or one that rules NaN out.
const testOf = (column_name: string, name: string, kwargs = {}) => ({
  resource_type: "test",
  column_name,
  attached_node: "model.test.limits",
  test_metadata: { name, namespace: null, kwargs },
  config: {},
});

it("numbers that can be NaN and elements of arrays are nullable, so that rows are as OpenAPI says", async () => {
  const columns = {
    free: "numeric",
    whole: "numeric(20,0)",
    ratio: "double precision",
    list: "double precision[]",
    texts: "text[]",
    listed: "double precision",
  };
  const limits = manifestOf([
    { name: "limits", schema, columns, tags: ["production", "sums", "api:limits"] },
  ]);
  const tests = [
    ...Object.keys(columns).map((column) => testOf(column, "not_null")),
    testOf("listed", "accepted_values", { values: [50.5] }),
  ].map((test, i) => [`test.test.${String(i)}`, test] as const);
  const { nodes, ...rest } = limits as { nodes: object };
  const generated = ownFolder();
  generateInto(generated, { ...rest, nodes: { ...nodes, ...Object.fromEntries(tests) } });
  const service = await startFolder(generated);
  const { text } = await sendRequest(service.url, "/v1/sums/limits");
  expect(text).toBe(
    '[{"free":null,"whole":null,"ratio":null,"list":[null],"texts":["NaN",null],"listed":50.5},' +
      '{"free":2,"whole":2,"ratio":2,"list":[2],"texts":["2",null],"listed":50.5}]',
  );
  const document = JSON.parse((await sendRequest(service.url, "/openapi.json")).text) as {
    components: { schemas: Record<string, { properties: Record<string, object> }> };
  };
  const row = document.components.schemas["sums_limits_row"] ?? { properties: {} };
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile({
    type: "array",
    items: row,
  });
  expect([validate(JSON.parse(text)), validate.errors]).toEqual([true, null]);
  expect(row.properties).toMatchObject({ listed: { type: "number" } });
  const module = readFileSync(join(generated, "routes/sums/limits.ts"), "utf8");
  expect(module).toMatch(/whole: number \| null;[^]*list: \(number \| null\)\[\];[^]*listed: number;/);
});
