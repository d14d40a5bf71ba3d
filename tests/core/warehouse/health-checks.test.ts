/** Nothing limits how often strangers ask for `/health`. */
import { connect } from "node:net";
import { expect, it } from "vitest";
import { proxyOf } from "../../support/database-proxy.js";
import { byEngine, engineUrl, ownTables } from "../../support/engines.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

/** What a check sends to the database, and at most how often. */
const CHECK = byEngine({
  postgres: { text: "SELECT 1\0", times: 1 },
  clickhouse: { text: "SELECT 1", times: 8 },
});
/** A connection with more than 20 that wait is closed. */
const PIPELINED = 15;
const CONNECTIONS = 40;

const schema = await ownTables({
  postgres: "CREATE TABLE @.sales AS SELECT 1 AS n",
  clickhouse: ["CREATE TABLE @.sales ENGINE = MergeTree ORDER BY n AS SELECT 1 AS n"],
});
const manifest = manifestOf([
  { name: "sales", schema, tags: ["production", "shop", "api:sales"], columns: { n: "int" } },
]);

/** Asks on one connection, without waiting for a response; resolves with the statuses. */
function pipelined(url: string, count: number): Promise<readonly string[]> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(Number(port), hostname);
    socket.on("error", reject).on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
    socket.on("close", () =>
      resolve([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = ""]) => status)),
    );
    const line = (last: boolean): string =>
      `GET /health HTTP/1.1\r\nHost: ${hostname}\r\n${last ? "Connection: close\r\n" : ""}\r\n`;
    socket.write(Array.from({ length: count }, (_, i) => line(i === count - 1)).join(""));
  });
}

it("one check of the database answers all who ask for /health within a second, and queries run meanwhile", async () => {
  let checks = 0;
  const { url } = await proxyOf(engineUrl(), (client, open) => {
    const database = open();
    client.on("data", (bytes: Buffer) => {
      checks += bytes.toString("latin1").split(CHECK.text).length - 1;
      database.write(bytes);
    });
    client.on("close", () => database.destroy());
    database.pipe(client).on("close", () => client.destroy());
  });
  const server = await serveManifest(manifest, { DATABASE_URL: url });
  expect((await sendRequest(server, "/v1/shop/sales", { key: KEYS.tier3 })).status).toBe(200);
  const before = checks;
  const began = performance.now();
  const [statuses, rows] = await Promise.all([
    Promise.all(Array.from({ length: CONNECTIONS }, () => pipelined(server, PIPELINED))),
    sendRequest(server, "/v1/shop/sales", { key: KEYS.tier3 }),
  ]);
  const seconds = Math.ceil((performance.now() - began) / 1000);
  expect(statuses.flat()).toEqual(Array(CONNECTIONS * PIPELINED).fill("200"));
  expect(rows.status).toBe(200);
  expect(checks - before).toBeLessThanOrEqual((seconds + 1) * CHECK.times);
});
