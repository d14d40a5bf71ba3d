/** The clock of the machine may be set back: ages and deadlines of a process go by `performance.now()`. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { openPostgres } from "../../runtime/postgres/engine.js";
import { FailingEndpoints } from "../../runtime/server/operations/failing-endpoints.js";
import { atEnd } from "../support/at-end.js";
import { letPass, setClockBack } from "../support/clock.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";

const HOUR_MS = 3_600_000;

/** How often a file reads the clock, and what the time is compared with, or who reads it. */
const SHARED: Readonly<Record<string, readonly [count: number, what: string]>> = {
  "core/handler/run.ts": [1, "the end of an endpoint, by the project"],
  "core/http/logger.ts": [1, "the time of a line"],
  "core/model/changelog.ts": [1, "the day of an entry"],
  "core/request/keyring.ts": [1, "the end of a key, by its store"],
  "core/request/rate-limit/memory-store.ts": [2, "the end of a window, for callers; a jump ends it"],
  "core/request/rate-limit/redis-store.ts": [1, "the end of a window, for callers"],
  "core/response/caching-headers.ts": [1, "the bound of rows, by their build or load"],
  "core/response/respond.ts": [2, "the bound of rows, by their build or load"],
  "pages/documents.ts": [3, "days, and the bound of rows"],
  "pages/summaries.ts": [1, "the bound of rows"],
  "server/accounts/key-database.ts": [1, "when a key was made"],
  "server/accounts/key-file.ts": [2, "when a key was made, and its end"],
  "server/accounts/key-store.ts": [1, "the end of a key, by its store"],
  "server/accounts/page/key-forms.ts": [1, "the end of a key"],
  "server/accounts/page/sign-in.ts": [2, "the end of a sign-in, in the cookie of a browser"],
  "server/accounts/page/usage.ts": [1, "days"],
  "server/accounts/quota-share.ts": [2, "the month"],
  "server/accounts/stored-keys.ts": [1, "the day on which a key was used"],
  "server/accounts/use-reports.ts": [2, "the hour of use"],
  "server/data-service.ts": [1, "builds, by dbt"],
  "server/events/event-deliveries.ts": [2, "the time of a signature, and of Retry-After"],
  "server/events/event-feed.ts": [1, "the time of a feed without entries"],
  "server/events/event-id.ts": [1, "the time in an id"],
  "server/events/memory-events.ts": [1, "the time of an event"],
  "server/events/watch-endpoints.ts": [2, "the bound of rows, and builds"],
  "server/operations/due-times.ts": [2, "the bound of rows"],
  "server/operations/endpoint-days.ts": [1, "the day"],
  "server/operations/last-loads.ts": [4, "loads, by the database; a jump has it asked again"],
  "server/operations/usage.ts": [3, "the day of use"],
};

/** Code of browsers, of the other service, and of others. */
const LEFT_OUT = /^(?:dist|node_modules|ramp|pages\/(?:explorer|guide|redoc|reference|status))\//;

it("reads the clock for what others know too, nothing else", () => {
  const runtime = fileURLToPath(new URL("../../runtime", import.meta.url));
  const files = readdirSync(runtime, { recursive: true, encoding: "utf8" }).filter(
    (file) => /(?<!\.d)\.ts$/.test(file) && !LEFT_OUT.test(file),
  );
  const found = files.flatMap((file) => {
    const code = readFileSync(`${runtime}/${file}`, "utf8").replace(/^\s*(?:\/?\*|\/\/).*$/gm, "");
    const count = code.match(/\bDate\.now\b|\bnew Date\(\)/g)?.length ?? 0;
    return count === 0 ? [] : [[file, count] as const];
  });
  const said = Object.entries(SHARED).map(([file, [count]]) => [file, count]);
  expect(
    Object.fromEntries(found),
    "Measure an age or a deadline with performance.now(), or say in SHARED who else has the time.",
  ).toEqual(Object.fromEntries(said));
});

it("columns without a version are looked up again after a minute, though the clock is set back", async () => {
  const schema = await ownSchema("CREATE TABLE @.orders (id int)");
  const warehouse = openPostgres({ url: databaseUrl, statementTimeoutMs: 0, warn: () => undefined });
  atEnd(() => warehouse.close());
  const names = async () => (await warehouse.columns([schema, "orders"], null)).map(({ name }) => name);
  expect(await names()).toEqual(["id"]);
  await query(`ALTER TABLE ${schema}.orders ADD COLUMN note text`);
  expect(await names()).toEqual(["id"]);
  setClockBack(HOUR_MS);
  letPass(61_000);
  await expect.poll(names).toEqual(["id", "note"]);
});

it("an endpoint that failed is named for ten minutes, though the clock is set back", () => {
  const failing = new FailingEndpoints();
  const route = "/v1/shop/orders";
  for (let n = 0; n < 3; n++) failing.record({ route, status: 500, error: null });
  const endpoints = new Map([[route, null]]);
  expect(failing.among(endpoints)).toEqual([route]);
  setClockBack(HOUR_MS);
  letPass(601_000);
  expect(failing.among(endpoints)).toEqual([]);
});
