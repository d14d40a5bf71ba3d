import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { proxyOf } from "../../support/database-proxy.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";

/** Passes everything on, but holds look-ups of columns back from `hold` to `release`. */
async function proxyThatHolds() {
  const held: (() => void)[] = [];
  let isHolding = false;
  const { url } = await proxyOf(databaseUrl, (client, open) => {
    const database = open();
    database.pipe(client);
    client.on("close", () => database.destroy());
    client.on("data", (bytes: Buffer) => {
      if (isHolding) held.push(() => void database.write(bytes));
      else database.write(bytes);
    });
  });
  const release = (): void => {
    isHolding = false;
    for (const pass of held.splice(0)) pass();
  };
  return { url, held, hold: () => void (isHolding = true), release };
}

it("a query that was abandoned as it began runs for who joined it", async () => {
  const schema = await ownSchema("CREATE TABLE @.numbers AS SELECT 1 AS id");
  const proxy = await proxyThatHolds();
  const numbers = {
    ...{ name: "numbers", schema, tags: ["production", "joined", "api:numbers"], materialized: "table" },
    columns: { id: "integer" },
    routewright: { changes: "on_build", filters: ["id"] },
  };
  const { url, recordBuilds } = await startManifest(manifestOf([numbers]), { DATABASE_URL: proxy.url });
  recordBuilds([{ node: "model.test.numbers", completedAt: Date.parse("2026-03-01T00:00:00Z") }]);
  // What is asked of a server once.
  await sendRequest(url, "/health");
  proxy.hold();
  const path = "/v1/joined/numbers?id[eq]=1";
  const gone = new AbortController();
  const first = fetch(`${url}${path}`, { headers: { "X-API-Key": KEYS.tier3 }, signal: gone.signal });
  first.catch(() => undefined);
  await expect.poll(() => proxy.held.length).toBeGreaterThan(0);
  const second = sendRequest(url, path, { key: KEYS.tier3 });
  await pause(200);
  gone.abort();
  await pause(200);
  proxy.release();
  const answered = await Promise.race([second, pause(120_000, null, { ref: false })]);
  expect(answered).toMatchObject({ status: 200, text: '[{"id":1}]' });
});
