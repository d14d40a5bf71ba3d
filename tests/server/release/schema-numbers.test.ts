/** Folders that a version has generated, one for each schema number so far: the newest runtime serves them as they are. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { GENERATED_SCHEMA_VERSION, OWN_ROWS_SCHEMA_VERSION } from "../../../runtime/core/model/endpoint.js";
import { query } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, KEYS, startFolder } from "../../support/service.js";

/** They were generated once and stay: `API_REPORT=write` makes the folder of a new schema number. */
const ROOT = "tests/golden-schemas";
/** The last three numbers are served. */
const NUMBERS = [GENERATED_SCHEMA_VERSION, OWN_ROWS_SCHEMA_VERSION];

const COLUMNS = { id: "integer", org_id: "text", amount: "numeric(10,2)", day: "date" };
const API = {
  allow_unfiltered: true,
  methods: ["GET", "POST"],
  parameters: [{ name: "from", column: "day", operator: ">=", type: "date" }],
  pagination: { enabled: true, default_limit: 10, max_limit: 100, response: "list" },
  sort: [{ column: "id", direction: "ASC" }],
  sortable_fields: ["amount"],
};
const SETTINGS = {
  fields: true,
  filters: ["amount"],
  aggregate: {
    group_by: ["day"],
    measures: { total: { agg: "sum", column: "amount" }, orders: { agg: "count" } },
  },
};

function folderOf(number: number): string {
  const folder = join(ROOT, String(number), "expected");
  if (existsSync(folder)) return folder;
  expect(process.env["API_REPORT"], "keep the folder of a new schema number: API_REPORT=write").toBe("write");
  const own = number === OWN_ROWS_SCHEMA_VERSION ? { rows: { column: "org_id", equals: "org" } } : {};
  const schema = "kept_generated_modules";
  const one = { name: "orders", schema, api: API, columns: COLUMNS, routewright: { ...SETTINGS, ...own } };
  generateInto(folder, manifestOf([one]));
  return folder;
}

await query(`DROP SCHEMA IF EXISTS kept_generated_modules CASCADE; CREATE SCHEMA kept_generated_modules;
  CREATE TABLE kept_generated_modules.orders AS SELECT id, org_id, amount::numeric(10,2), day FROM (VALUES
    (1, 'test', 1.50::numeric(10,2), '2026-01-01'::date), (2, 'test', 2.25, '2026-01-02'), (3, 'other', 9, '2026-01-02')
  ) AS rows (id, org_id, amount, day)`);

const REQUESTS: readonly (readonly [request: string, own: string, all: string])[] = [
  [
    "?fields=id,amount",
    '[{"id":1,"amount":1.50},{"id":2,"amount":2.25}]',
    '[{"id":1,"amount":1.50},{"id":2,"amount":2.25},{"id":3,"amount":9.00}]',
  ],
  ["?fields=id&from=2026-01-02", '[{"id":2}]', '[{"id":2},{"id":3}]'],
  ["?fields=id&amount[gte]=2&sort_by=amount&sort_direction=DESC&limit=1", '[{"id":2}]', '[{"id":3}]'],
  [
    "?group_by=day&measures=total",
    '[{"day":"2026-01-01","total":1.50},{"day":"2026-01-02","total":2.25}]',
    '[{"day":"2026-01-01","total":1.50},{"day":"2026-01-02","total":11.25}]',
  ],
];

it.each(NUMBERS)("a folder with modules of schema %i is served", async (number) => {
  const folder = folderOf(number);
  const files = readdirSync(join(folder, "routes"), { recursive: true, encoding: "utf8" });
  const modules = files.filter((name) => name.endsWith(".ts"));
  expect(modules).not.toEqual([]);
  for (const name of modules)
    expect(readFileSync(join(folder, "routes", name), "utf8")).toContain(`({ schema: ${String(number)} })`);
  const { url } = await startFolder(folder);
  for (const [request, own, all] of REQUESTS) {
    const headers = { "x-api-key": KEYS.tier3 };
    const { status, text } = await sendRequest(url, `/v1/shop/orders${request}`, { headers });
    expect([request, status, text]).toEqual([request, 200, number === OWN_ROWS_SCHEMA_VERSION ? own : all]);
  }
});
