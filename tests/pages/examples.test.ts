import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, it, vi } from "vitest";
import { COMPILED_ONCE } from "../support/compiled-once.js";
import { ownSchema, query } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { sendRequest } from "../support/http-client.js";
import { KEYS, serveManifest } from "../support/service.js";

const schema = await ownSchema(`
  CREATE TABLE @.orders AS SELECT 'Secretville' AS city, 'ann@secret.example' AS email,
    18446744073709551615::numeric(20,0) AS huge, date '2025-03-04' AS day;
  CREATE TABLE @.long AS SELECT repeat('y', 5000) AS city`);

const columns = { city: "text", email: "text", huge: "numeric(20,0)", day: "date" };
const model = (name: string, api: object = {}, more: object = {}) => ({
  name,
  schema,
  alias: "orders",
  columns,
  api: { allow_unfiltered: true, ...api },
  ...more,
});
const parameters = [{ name: "city", column: "city", operator: "=", type: "string" }];
const manifest = manifestOf([
  model("open"),
  model("enveloped", { pagination: { enabled: true, default_limit: 5, max_limit: 9, response: "envelope" } }),
  model("strings", {}, { routewright: { numbers: "string" } }),
  model("filtered", { allow_unfiltered: false, parameters }),
  model("any", { require_any_of: ["city"], parameters }),
  model("owned", {}, { routewright: { rows: { column: "city", equals: "org" } } }),
  model("locked", {}, { tags: ["production", "shop", "tier1", "api:locked"] }),
  model("gone", {}, { alias: "gone" }),
  model("undeclared", {}, { columns: {} }),
  model("long", {}, { alias: "long", columns: { city: "text" } }),
]) as { nodes: Record<string, { columns: Record<string, object> }> };
for (const { columns } of Object.values(manifest.nodes))
  if (columns["email"]) columns["email"] = { ...columns["email"], config: { meta: { pii: true } } };
const url = await serveManifest(manifest);

interface Shown {
  readonly examples?: readonly unknown[];
  readonly properties: Record<string, { examples: readonly unknown[] }>;
}
const text = async (path: string, key?: string): Promise<string> =>
  (await sendRequest(url, path, key === undefined ? {} : { key })).text;

// They are read for the first that asks, who waits for two seconds at most.
const areRead = async (): Promise<void> => expect(await text("/openapi.json")).toContain("Secretville");
await vi.waitFor(areRead, { timeout: 90_000 });

it("OpenAPI shows a real row where everybody may read one without a filter, and nothing else of the data", async () => {
  for (const key of [undefined, KEYS.tier3]) {
    const document = await text("/openapi.json", key);
    const { schemas } = (JSON.parse(document) as { components: { schemas: Record<string, Shown> } })
      .components;
    // Of a private column no value is shown, but the one that stands beside its type.
    const row = {
      city: "Secretville",
      email: "ada@example.com",
      huge: 18446744073709552000,
      day: "2025-03-04",
    };
    expect(schemas["shop_open_row"]?.examples).toEqual([row]);
    expect(schemas["shop_enveloped_row"]?.examples).toEqual([row]);
    expect(schemas["shop_strings_row"]?.examples).toEqual([{ ...row, huge: "18446744073709551615" }]);
    expect(document).toMatch(/"huge":18446744073709551615[,}]/);
    for (const name of ["filtered", "any", "owned", "locked", "gone", "undeclared", "long"]) {
      expect([name, schemas[`shop_${name}_row`]?.examples]).toEqual([name, undefined]);
      const city = schemas[`shop_${name}_row`]?.properties["city"]?.examples;
      expect([name, city ?? ["Berlin"]]).toEqual([name, ["Berlin"]]);
    }
    expect(document).not.toContain("ann@secret");
    expect(document.match(/Secretville/g)).toHaveLength(3);
  }
});

it("a row that OpenAPI shows is valid against its own schema", async () => {
  const document = JSON.parse(await text("/openapi.json", KEYS.tier3)) as {
    components: { schemas: Record<string, Shown> };
  };
  const ajv = addFormats.default(new Ajv2020({ ...COMPILED_ONCE, strict: false }));
  const shown = Object.entries(document.components.schemas).filter(([, { examples }]) => examples);
  expect(shown.map(([name]) => name)).toContain("shop_open_row");
  for (const [name, rowSchema] of shown)
    for (const example of rowSchema.examples ?? []) {
      const errors = ajv.validate(rowSchema, example) ? [] : ajv.errors;
      expect([name, errors]).toEqual([name, []]);
    }
});

it("the catalogue shows its values by column, with all digits", async () => {
  const { endpoints } = JSON.parse(await text("/v1/system/catalogue", KEYS.tier3)) as {
    endpoints: { path: string; columns: { name: string; example?: unknown }[] }[];
  };
  const shown = endpoints.map(({ path, columns }) => [path, columns.map(({ example }) => example ?? null)]);
  expect(Object.fromEntries(shown)).toMatchObject({
    "/v1/shop/open": ["Secretville", null, "18446744073709551615", "2025-03-04"],
    "/v1/shop/locked": [null, null, null, null],
    "/v1/shop/owned": [null, null, null, null],
  });
});

it("a row that was late is read once more", async () => {
  const own = await ownSchema(`
    CREATE TABLE @.late (until timestamptz);
    CREATE VIEW @.orders AS SELECT 'Lateville' AS city FROM @.late
      WHERE CASE WHEN clock_timestamp() < until THEN pg_sleep(60) IS NOT NULL ELSE true END`);
  const orders = { ...model("orders"), schema: own, columns: { city: "text" } };
  const late = await serveManifest(manifestOf([orders]));
  await query(`INSERT INTO ${own}.late SELECT clock_timestamp() + interval '0.9 seconds'`);
  await expect.poll(async () => (await sendRequest(late, "/openapi.json")).text).toContain("Lateville");
});

it("a document is the same until the next build, and asks the database once", async () => {
  const before = await text("/openapi.json");
  await query(`UPDATE ${schema}.orders SET city = 'Elsewhere'`);
  expect(await text("/openapi.json")).toBe(before);
});
