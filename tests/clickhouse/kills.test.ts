import { describe, expect, it } from "vitest";
import { clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { proxyOf } from "../support/database-proxy.js";
import { begin, sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

const key = KEYS.tier3;
/** One fails in its first part, one as a stream, one has no end. */
const database = await ownDatabase([
  "CREATE VIEW @.short AS SELECT number AS i, throwIf(number = 70000) AS x FROM numbers(100000)",
  "CREATE VIEW @.long AS SELECT number AS i, throwIf(number = 2000000) AS x FROM numbers(3000000)",
  "CREATE VIEW @.endless AS SELECT number AS i FROM numbers(100000000000)",
]);
const manifest = manifestOf(
  ["short", "long", "endless"].map((name) => ({
    ...{ name, schema: database, tags: ["production", "k", `api:${name}`] },
    api: { allow_unfiltered: true },
  })),
  { adapter_type: "clickhouse" },
);

describe.skipIf(!hasClickhouse)("ClickHouse is asked to end a query", () => {
  it("that runs while its client leaves, and none that has failed", async () => {
    let kills = 0;
    const { url: proxied } = await proxyOf(clickhouseUrl(), (client, open) => {
      const server = open();
      server.pipe(client).on("close", () => server.destroy());
      server.on("close", () => client.destroy());
      client.on("data", (bytes: Buffer) => {
        if (bytes.includes("KILL QUERY")) kills++;
        server.write(bytes);
      });
    });
    const url = await serveManifest(manifest, { DATABASE_URL: proxied });
    expect((await sendRequest(url, "/v1/k/short", { key })).status).toBe(500);
    await expect(sendRequest(url, "/v1/k/long", { key })).rejects.toThrow();
    const left = await begin(`${url}/v1/k/endless`, key);
    left.destroy();
    await expect.poll(() => kills, { timeout: 90_000 }).toBeGreaterThan(0);
    expect(kills).toBe(1);
  });
});
