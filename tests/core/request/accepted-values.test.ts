import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, ownFolder, startFolder } from "../../support/service.js";
import { sendRequest, post, refusal, statusAndBody } from "../../support/http-client.js";

const schema = await ownSchema(`
  CREATE TABLE @.orders AS SELECT * FROM (VALUES
    (1, 'paid', 'A', 10, 5.5, ''), (2, 'open', 'B', 20, 7.5, 'fast'), (3, 'other', 'C', 30, 9.5, 'a, b')
  ) AS v (id, status, grade, level, share, mark)`);

const parameter = (name: string, column: string, operator = "=", more: object = {}) => ({
  name,
  column,
  operator,
  type: operator === "IN" ? "string_list" : "string",
  ...more,
});

const base = manifestOf([
  {
    name: "orders",
    schema,
    columns: {
      id: "integer",
      status: "text",
      grade: "text",
      level: "integer",
      share: "numeric",
      mark: "text",
    },
    api: {
      allow_unfiltered: true,
      methods: ["GET", "POST"],
      parameters: [
        parameter("status", "status"),
        parameter("any_status", "status", "IN"),
        parameter("folded", "status", "=", { case: "lower" }),
        parameter("like", "status", "ILIKE"),
        parameter("level", "level"),
        parameter("grade", "grade"),
        parameter("mark", "mark"),
        parameter("marks", "mark", "IN"),
        parameter("short_mark", "mark", "=", { max_length: 4 }),
      ],
    },
  },
]) as { nodes: object };

/** A test on a column as dbt writes it. */
function test(
  name: string,
  column: string,
  kwargs: object = {},
  config: object = {},
  namespace: string | null = null,
) {
  const attached_node = "model.test.orders";
  const test_metadata = { name, namespace, kwargs: { column_name: column, ...kwargs } };
  return { resource_type: "test", column_name: column, attached_node, test_metadata, config };
}

const TESTS = {
  "test.a": test("accepted_values", "status", { values: ["paid", "open"] }),
  "test.b": test("accepted_values", "level", { values: [10, 20], quote: false }),
  "test.c": test("accepted_values", "grade", { values: ["A"] }, { severity: "warn" }),
  "test.d": test("accepted_values", "grade", { values: ["B"] }, { where: "id > 1" }),
  "test.h": test("accepted_values", "mark", { values: ["fast", "", " padded", "a, b", "longer"] }),
  "test.e": test("unique", "id"),
  "test.f": test("not_null", "id"),
  "test.g": test("relationships", "level", { to: "ref('levels')", field: "number" }),
};

const folder = ownFolder();
generateInto(folder, { ...base, nodes: { ...base.nodes, ...TESTS } });
const { url } = await startFolder(folder);

const get = async (query: string): Promise<unknown> =>
  statusAndBody(await sendRequest(url, `/v1/shop/orders?${query}`));
const ids = async (query: string): Promise<unknown> => {
  const [status, rows] = (await get(query)) as [number, { id: number }[]];
  return status === 200 ? rows.map(({ id }) => id) : rows;
};
const oneOf = (name: string, values: string) =>
  refusal(400, `Parameter '${name}' must be one of: ${values}.`);

describe("accepted_values of a column", () => {
  it.each([
    ["status=paid", [1]],
    ["any_status=paid,open", [1, 2]],
    ["folded=PAID", [1]],
    ["like=oth", [3]],
    ["level=10", [1]],
    ["level=%2B020", [2]],
    ["status=", [1, 2, 3]],
  ])("are what a filter takes: %s", async (query, found) => {
    expect(await ids(query)).toEqual(found);
  });

  it.each([
    ["status=other", "status", "paid, open"],
    ["status=Paid", "status", "paid, open"],
    ["any_status=paid&any_status=none", "any_status", "paid, open"],
    ["folded=none", "folded", "paid, open"],
    ["level=30", "level", "10, 20"],
    ["level=x", "level", "10, 20"],
  ])("refuse other values with the list: %s", async (query, name, values) => {
    expect(await get(query)).toEqual(oneOf(name, values));
  });

  it.each([
    ["mark=x", "mark", "fast, a, b, longer"],
    ["marks=x", "marks", "fast, a, b, longer"],
    ["short_mark=x", "short_mark", "fast, a, b"],
  ])("are named where a request can send them: %s", async (query, name, values) => {
    expect(await get(query)).toEqual(oneOf(name, values));
  });

  it("refuse them in a body too", async () => {
    expect(statusAndBody(await post(url, "/v1/shop/orders", { any_status: ["paid", "x"] }))).toEqual(
      oneOf("any_status", "paid, open"),
    );
  });

  it("promise nothing where the test only warns or looks at some rows", async () => {
    expect(await ids("grade=C")).toEqual([3]);
  });
});

it("OpenAPI says what the tests promise, and no more", async () => {
  const { text } = await sendRequest(url, "/openapi.json");
  const { paths, components } = JSON.parse(text) as {
    paths: Record<string, { get: { parameters: { name: string; schema: unknown }[] } }>;
    components: { schemas: Record<string, { properties: Record<string, { examples?: unknown }> }> };
  };
  const properties = Object.entries(components.schemas["shop_orders_row"]?.properties ?? {});
  const promised = properties.map(([name, schema]) => [name, { ...schema, examples: undefined }]);
  expect(Object.fromEntries(promised)).toEqual({
    id: {
      type: "integer",
      format: "int32",
      minimum: -2147483648,
      maximum: 2147483647,
      description: "No two rows have the same value.",
    },
    status: { type: ["string", "null"], enum: ["paid", "open", null] },
    grade: { type: ["string", "null"] },
    level: {
      type: ["integer", "null"],
      format: "int32",
      minimum: -2147483648,
      maximum: 2147483647,
      enum: [10, 20, null],
    },
    share: { type: ["number", "null"] },
    mark: { type: ["string", "null"], enum: ["fast", "", " padded", "a, b", "longer", null] },
  });
  const schemas = Object.fromEntries(
    paths["/v1/shop/orders"]?.get.parameters.map(({ name, schema: each }) => [name, each]) ?? [],
  );
  expect(schemas).toMatchObject({
    status: { type: "string", enum: ["paid", "open"] },
    any_status: { type: "array", items: { enum: ["paid", "open"] } },
    folded: { type: "string" },
    grade: { type: "string" },
    mark: { type: "string", enum: ["fast", "a, b", "longer"] },
    short_mark: { type: "string", enum: ["fast", "a, b"] },
  });
  expect(schemas["folded"]).not.toHaveProperty("enum");
  expect(schemas["grade"]).not.toHaveProperty("enum");
});

it("generated types are of the accepted values", () => {
  const module = readFileSync(join(folder, "routes/shop/orders.ts"), "utf8");
  expect(module).toMatch(/^ {2}status: "paid" \| "open" \| null;$/m);
  expect(module).toMatch(/^ {2}status\?: "paid" \| "open";$/m);
  expect(module).toMatch(/^ {2}any_status\?: \("paid" \| "open"\)\[\];$/m);
  expect(module).toMatch(/^ {2}folded\?: string;$/m);
  expect(module).toMatch(/^ {2}level\?: string;$/m);
});
