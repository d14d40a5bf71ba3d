import { request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { ownSchema, query } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

/** The first row fills the client's socket, the second the memory of the stream: the third waits for the client. */
const schema = await ownSchema(
  `CREATE VIEW @.long AS SELECT i AS id, repeat('x', CASE i WHEN 1 THEN 12000000 ELSE 300000 END) AS note
     FROM generate_series(1, 3) i;
   CREATE TABLE @.small AS SELECT 1 AS id, 'x' AS note`,
);
const model = (name: string) => ({
  ...{ name, schema, tags: ["production", "ended", `api:${name}`] },
  columns: { id: "integer", note: "text" },
  api: { allow_unfiltered: true },
});
const manifest = manifestOf([model("long"), model("small")]);

const running = async (): Promise<number> => {
  const rows = await query(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE state <> 'idle' AND query LIKE '%' || $1 || '%'",
    [`"${schema}"."long"`],
  );
  return Number(rows[0]?.["n"]);
};

/** A client that reads nothing of a stream whose rows the database has returned. */
async function unread() {
  const url = await serveManifest(manifest, { STREAM_SPOOL_MEGABYTES: "0", DATABASE_POOL_SIZE: "1" });
  const stalled = request(`${url}/v1/ended/long`, { agent: false, headers: { "X-API-Key": KEYS.tier3 } });
  stalled.on("error", () => undefined).end();
  atEnd(() => void stalled.destroy());
  await new Promise((resolve) =>
    stalled.on("response", (response) => resolve(response.on("error", () => undefined))),
  );
  await expect.poll(running, { timeout: 10_000 }).toBe(0);
  await pause(300);
  const small = (timeoutMs: number) =>
    Promise.race([
      sendRequest(url, "/v1/ended/small", { key: KEYS.tier2 }).then(({ status }) => status),
      pause(timeoutMs, "no response"),
    ]);
  return { small, leave: () => stalled.destroy() };
}

it("a stream that its client has not read stops no reading of the next query on its connection", async () => {
  const { small, leave } = await unread();
  const status = await small(2000);
  // A stop of the server waits for its clients.
  leave();
  expect(status).toBe(200);
});
