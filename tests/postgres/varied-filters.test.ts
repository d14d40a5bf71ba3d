import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { sendRequest } from "../support/http-client.js";
import { ownSchema, query } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

const NAMES = Array.from({ length: 8 }, (_, i) => `c${String(i)}`);
const columns = NAMES.flatMap((name) => [
  [name, "int", "i"],
  [`t_${name}`, "timestamptz", "now()"],
  [`f_${name}`, "float8", "0.5::float8"],
  [`x_${name}`, "text", "'x'::text"],
  [`y_${name}`, "text", "'y'::text"],
]);
const schema = await ownSchema(
  `CREATE TABLE @.wide AS SELECT ${columns.map(([name, , sql]) => `${sql ?? ""} AS ${name ?? ""}`).join(", ")} FROM generate_series(1, 100) i`,
);
const url = await serveManifest(
  manifestOf([
    {
      name: "wide",
      schema,
      tags: ["production", "hostile", "api:wide"],
      columns: Object.fromEntries(columns.map(([name, type]) => [name, type])) as Record<string, string>,
      api: {
        allow_unfiltered: true,
        parameters: NAMES.map((name) => ({ name, column: name, operator: "=", type: "string" })),
      },
    },
  ]),
  { DATABASE_POOL_SIZE: "1" },
);

/** Private memory, in MB, of the newest backend that selects the columns above; 0 where it has run nothing yet, or has just been replaced. */
async function backendMegabytes(): Promise<number> {
  const [row] = await query(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'routewright' AND query LIKE '%t_c0%'
      ORDER BY backend_start DESC LIMIT 1`,
  );
  const file = `/proc/${String(row?.["pid"])}/status`;
  const status = existsSync(file) ? readFileSync(file, "utf8") : "";
  return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

it("filters in all combinations fill a backend of the database with some 40 MB of plans, not with all of them", async () => {
  let most = 0;
  for (let i = 0; i < 2 ** NAMES.length; i++) {
    const filters = NAMES.filter((_, bit) => (i & (2 ** bit)) !== 0).map((name) => `${name}=1`);
    // A statement is prepared at its second use.
    for (let use = 0; use < 2; use++)
      await sendRequest(url, `/v1/hostile/wide?${filters.join("&")}`, { key: KEYS.tier3 });
    if (i % 10 === 9) most = Math.max(most, await backendMegabytes());
  }
  console.log(
    `${String(2 ** NAMES.length)} statements of 40 columns: at most ${most.toFixed(0)} MB in a backend`,
  );
  expect(most).toBeGreaterThan(5);
  expect(most).toBeLessThan(45);
});
