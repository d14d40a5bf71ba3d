import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownDatabase, queryAt } from "../support/database.js";
import type { TestModel } from "../support/manifest.js";
import { project, routewright } from "./run.js";

const ORDERS: TestModel = {
  name: "orders",
  tags: ["production", "shop", "api:orders", "tier1"],
  columns: { id: "int", day: "date" },
  api: {
    methods: ["GET", "POST"],
    allow_unfiltered: true,
    parameters: [{ name: "from", column: "day", operator: ">=", type: "date" }],
    pagination: { enabled: true, default_limit: 10, max_limit: 10 },
    sort: [{ column: "id", direction: "ASC" }],
  },
};
const ACCOUNTS: TestModel = {
  name: "accounts",
  tags: ["production", "shop", "api:accounts"],
  columns: { id: "int", org: "text" },
  api: { allow_unfiltered: true },
  routewright: { rows: { column: "org", equals: "org" } },
};
const FILTERED: TestModel = {
  name: "filtered",
  columns: { id: "int" },
  api: { parameters: [{ name: "id", column: "id", operator: "=", type: "string" }] },
};

/** Numbers with more digits than a double holds. */
const WIDE: TestModel = { name: "wide", columns: { id: "bigint", share: "numeric" } };

const url = await ownDatabase();
await queryAt(
  url,
  `CREATE SCHEMA analytics;
   CREATE TABLE analytics.orders AS SELECT id, date '2026-01-30' + id AS day FROM generate_series(1, 3) AS id;
   CREATE TABLE analytics.accounts AS SELECT 1 AS id, 'acme' AS org UNION ALL SELECT 2, 'bits';
   CREATE TABLE analytics.filtered AS SELECT 1 AS id;
   CREATE TABLE analytics.wide AS SELECT 9007199254740993 AS id, 0.12345678901234567890 AS share`,
);

/** A generated folder with a file of tests, and the command in it. */
async function inFolder(tests: string, file = "api-tests/shop.yml") {
  const folder = project(ORDERS, ACCOUNTS, FILTERED);
  expect((await routewright(folder, ["generate", "--manifest", "manifest.json"])).exit).toBe(0);
  mkdirSync(join(folder, "api-tests"));
  writeFileSync(join(folder, file), tests);
  const run = (...flags: readonly string[]) =>
    routewright(folder, ["test", ...flags], { DATABASE_URL: url, TEST_KEY: "sk_live_confidential" });
  return { folder, run };
}

const PASSING = `
- name: orders of a day on
  request: GET /v1/shop/orders?from=2026-02-01&limit=5
  tier: tier1
  expect:
    rows: [{ id: 2, day: "2026-02-01" }, { id: 3, day: "2026-02-02" }]
    count: 2
    columns: [id, day]
    contains: { id: 3 }
    headers: { x-ratelimit-remaining: "999999" }
- name: orders by POST
  request: POST /v1/shop/orders
  tier: tier3
  body: { from: "2026-02-02" }
  expect: { status: 200, count: 1 }
- name: orders need a key
  request: GET /v1/shop/orders
  expect: { status: 403 }
- name: accounts of one organization
  request: GET /v1/shop/accounts
  tier: tier0
  org: acme
  expect: { rows: [{ id: 1, org: acme }] }
- name: an error says what is wrong
  request: GET /v1/shop/orders?limit=0
  tier: tier1
  expect: { status: 400, contains: { detail: "'limit' must be >= 1." } }
`;

describe("routewright test", () => {
  it("runs requests against the database and names endpoints without a test", async () => {
    const { run } = await inFolder(PASSING);
    const { exit, out, err } = await run();
    expect(out).toMatch(/^pass {2}orders of a day on {2}\(api-tests\/shop\.yml\)\n/);
    expect(out).toMatch(/\n5 passed, 0 failed\n$/);
    expect(err).toBe("Endpoints without a test: /v1/shop/filtered\n");
    expect(exit).toBe(0);
  });

  it("compares numbers by all their digits, where a double holds fewer too", async () => {
    const folder = project(WIDE);
    await routewright(folder, ["generate", "--manifest", "manifest.json"]);
    mkdirSync(join(folder, "api-tests"));
    const run = (id: string, share: string) => {
      const expected = `{ rows: [{ id: ${id}, share: ${share} }] }`;
      const test = `- { name: wide, request: GET /v1/shop/wide, expect: ${expected} }`;
      writeFileSync(join(folder, "api-tests/wide.yml"), test);
      return routewright(folder, ["test"], { DATABASE_URL: url });
    };
    expect((await run("9007199254740993", "0.12345678901234567890")).exit).toBe(0);
    // The nearest double is the same.
    const { exit, out } = await run("9007199254740992", "0.1234567890123456789");
    expect([exit, out]).toEqual([1, expect.stringContaining("9007199254740993")]);
    expect((await run("9007199254740993", "0.12345678901234567891")).exit).toBe(1);
  });

  it.each([
    ["{ status: 403 }", "Expected status 403, got 200"],
    ["{ count: 2 }", "Expected count 2, got 3"],
    ["{ columns: [day, id] }", 'Expected columns ["day","id"], got ["id","day"]'],
    ["{ contains: { id: 4 } }", 'Expected {"id":4} in [{"id":1'],
    ["{ rows: [] }", 'Expected rows [], got [{"id":1'],
    [
      "{ headers: { content-type: text/plain } }",
      'Expected header content-type "text/plain", got "application/json',
    ],
  ])("fails where %s is not so, and says what it got", async (expected, message) => {
    const { run } = await inFolder(
      `- { name: orders, request: GET /v1/shop/orders, tier: tier1, expect: ${expected} }`,
    );
    const { exit, out } = await run();
    expect(exit).toBe(1);
    expect(out).toContain("FAIL  orders  (api-tests/shop.yml)\n");
    expect(out).toContain(message);
    expect(out).toMatch(/\n0 passed, 1 failed\n$/);
  });

  it("prints JUnit's XML, in which nothing of a test is markup", async () => {
    const { run } = await inFolder(
      `- { name: 'a<b>&"c"', request: GET /v1/shop/orders, expect: { status: 200 } }\n- { name: good, request: GET /v1/shop/orders, expect: { status: 403 } }`,
    );
    const { exit, out } = await run("--format", "junit");
    expect(exit).toBe(1);
    expect(out).toContain('<testsuite name="routewright" tests="2" failures="1">');
    expect(out).toMatch(
      /<testcase classname="api-tests\/shop\.yml" name="a&lt;b&gt;&amp;&quot;c&quot;" time="[\d.]+"><failure /,
    );
    expect(out).toMatch(/name="good" time="[\d.]+"\/>/);
  });

  it("--init writes a test per endpoint, which passes, and overwrites none", async () => {
    const { folder, run } = await inFolder("", "api-tests/empty.yml");
    expect((await run("--init")).out).toBe(
      ["accounts", "filtered", "orders"].map((name) => `wrote api-tests/shop/${name}.yml\n`).join(""),
    );
    expect(readFileSync(join(folder, "api-tests/shop/orders.yml"), "utf8")).toContain("tier: tier1\n");
    expect((await run("--init")).out).toBe("Every endpoint has a test.\n");
    const { exit, out, err } = await run();
    expect(out).toMatch(/\n3 passed, 0 failed\n$/);
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
  });

  it.each([
    ["- { name: a, request: GET /v1/shop/orders, expects: {} }", 'Unknown key "expects"'],
    ["- { name: a, request: DELETE /v1/shop/orders, expect: {} }", "Write method and path"],
    ["- { name: a, request: GET /v1/shop/orders, key: sk_live_secret, expect: {} }", "Name a variable"],
    ["a: [", "is not YAML"],
    ["", "There are no tests in api-tests"],
  ])("refuses the file %s", async (tests, message) => {
    const { run } = await inFolder(tests);
    expect(await run()).toMatchObject({ exit: 2, out: "", err: expect.stringContaining(message) });
  });
});
