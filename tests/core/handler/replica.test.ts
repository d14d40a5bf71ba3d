import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { OwnServer } from "../../support/own-server.js";
import { manifestOf } from "../../support/manifest.js";
import { refusal, sendRequest, statusAndBody } from "../../support/http-client.js";
import { KEYS, serveManifest } from "../../support/service.js";

const key = KEYS.tier3;

it("a query that a replica cancels for recovery is tried again, up to its time limit, and is an overload then", async () => {
  const primary = await OwnServer.create();
  await primary.query(
    "CREATE TABLE emptied (id int); CREATE VIEW slow AS SELECT (SELECT count(*)::int FROM emptied) AS id FROM pg_sleep(0.5)",
  );
  const replica = await primary.standby();
  const manifest = manifestOf([
    { name: "slow", schema: "public", tags: ["production", "replica", "api:slow"] },
  ]);
  const patient = await serveManifest(manifest, { DATABASE_URL: replica.url });
  const hurried = await serveManifest(manifest, { DATABASE_URL: replica.url, STATEMENT_TIMEOUT_MS: "3000" });
  const ask = (url: string) => sendRequest(url, "/v1/replica/slow", { key });
  const replayed = () => replica.query("SELECT 1 FROM pg_class WHERE relname = 'slow'");
  await expect.poll(replayed).toHaveLength(1);
  const emptied = { isOver: false };
  atEnd(() => void (emptied.isOver = true));
  const emptying = (async () => {
    // The replica takes the lock of each, and cancels what reads the table.
    while (!emptied.isOver) await primary.query("TRUNCATE emptied").then(() => pause(50));
  })().catch((error: unknown) => error);
  const waiting = ask(patient);
  const reply = await ask(hurried);
  expect([...statusAndBody(reply), reply.headers["retry-after"]]).toEqual([
    ...refusal(503, "The service is overloaded. Try again in 1 seconds."),
    "1",
  ]);
  emptied.isOver = true;
  expect(await emptying).toBeUndefined();
  expect(statusAndBody(await waiting)).toEqual([200, [{ id: 0 }]]);
  expect(replica.logged("conflict with recovery")).toBeGreaterThan(0);
});
