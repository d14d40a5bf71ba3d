import { expect, it } from "vitest";
import { OwnServer } from "../../support/own-server.js";
import { manifestOf } from "../../support/manifest.js";
import { refusal, sendRequest, statusAndBody } from "../../support/http-client.js";
import { KEYS, serveManifest } from "../../support/service.js";

const key = KEYS.tier3;

it("a query that a replica cancels for recovery is tried again, up to its time limit, and is an overload then", async () => {
  const primary = await OwnServer.create();
  await primary.query(
    "CREATE TABLE emptied (id int); CREATE TABLE going_on AS SELECT 1; CREATE VIEW slow AS SELECT (SELECT count(*)::int FROM emptied) AS id FROM pg_sleep(2)",
  );
  const replica = await primary.standby();
  const manifest = manifestOf([
    { name: "slow", schema: "public", tags: ["production", "replica", "api:slow"] },
  ]);
  const patient = await serveManifest(manifest, {
    DATABASE_URL: replica.url,
    STATEMENT_TIMEOUT_MS: "600000",
  });
  const hurried = await serveManifest(manifest, { DATABASE_URL: replica.url, STATEMENT_TIMEOUT_MS: "3000" });
  const ask = (url: string) => sendRequest(url, "/v1/replica/slow", { key });
  const replayed = () => replica.query("SELECT 1 FROM pg_class WHERE relname = 'slow'");
  await expect.poll(replayed).toHaveLength(1);
  // The replica takes the lock of each, and cancels what reads the table. In one session, so that a busy machine does not leave gaps.
  const emptying = primary.query(`DO $$ BEGIN WHILE EXISTS (SELECT FROM going_on) LOOP
    TRUNCATE emptied; COMMIT; PERFORM pg_sleep(0.05); END LOOP; END $$`);
  const waiting = ask(patient);
  const reply = await ask(hurried);
  expect([...statusAndBody(reply), reply.headers["retry-after"]]).toEqual([
    ...refusal(503, "The service is overloaded. Try again in 1 seconds."),
    "1",
  ]);
  await primary.query("DELETE FROM going_on");
  await emptying;
  expect(statusAndBody(await waiting)).toEqual([200, [{ id: 0 }]]);
  expect(replica.logged("conflict with recovery")).toBeGreaterThan(0);
});
