import { request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

/** The first row fills the client's socket, the second the memory of the stream: the third waits for the client. */
const schema = await ownSchema(
  `CREATE VIEW @.long AS SELECT i AS id, repeat('x', CASE i WHEN 1 THEN 12000000 ELSE 300000 END) AS note
     FROM generate_series(1, 3) i;
   CREATE TABLE @.small AS SELECT 1 AS id, 'x' AS note;
   CREATE FUNCTION @.gate() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
     WHILE NOT pg_try_advisory_xact_lock_shared(hashtext('@')) LOOP PERFORM pg_sleep(0.01); END LOOP; RETURN 'x'; END $$;
   CREATE VIEW @.slow AS SELECT 1 AS id, @.gate() AS note`,
);
const model = (name: string) => ({
  ...{ name, schema, tags: ["production", "ended", `api:${name}`] },
  columns: { id: "integer", note: "text" },
  api: { allow_unfiltered: true },
});
const manifest = manifestOf([model("long"), model("small"), model("slow")]);

const running = async (name = "long"): Promise<number> => {
  const rows = await query(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE state <> 'idle' AND query LIKE '%' || $1 || '%'",
    [`"${schema}"."${name}"`],
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
  await expect.poll(() => running()).toBe(0);
  await pause(300);
  const statusOf = async (name: string): Promise<number> =>
    (await sendRequest(url, `/v1/ended/${name}`, { key: KEYS.tier2 })).status;
  const small = () => Promise.race([statusOf("small"), pause(120_000, "no response", { ref: false })]);
  return { small, slow: () => statusOf("slow"), leave: () => stalled.destroy() };
}

it("a stream that its client has not read stops no reading of the next query on its connection", async () => {
  const { small, leave } = await unread();
  const status = await small();
  // A stop of the server waits for its clients.
  leave();
  expect(status).toBe(200);
});

it("a client that leaves an ended stream cancels nobody else's query on its connection", async () => {
  const { slow, leave } = await unread();
  const gatekeeper = new pg.Client(databaseUrl);
  await gatekeeper.connect();
  await gatekeeper.query(`SELECT pg_advisory_lock(hashtext('"${schema}"'))`);
  const status = slow();
  await expect.poll(() => running("slow")).toBe(1);
  leave();
  // A cancellation would have come by then.
  await pause(1000);
  await gatekeeper.end();
  expect(await status).toBe(200);
});
