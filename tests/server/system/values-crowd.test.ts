/** The values of a column, when many callers ask at once. */
import { get } from "node:http";
import { expect, it } from "vitest";
import { ownSchema, query } from "../../support/database.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

/** Each query of `slow` takes a second. */
const schema = await ownSchema(`
  CREATE TABLE @.plain AS SELECT 'v' || g AS label FROM generate_series(1, 5) AS g;
  CREATE VIEW @.slow AS SELECT label FROM @.plain, (SELECT pg_sleep(1) IS NOT NULL AS slept OFFSET 0) AS once WHERE slept`);
const column = { columns: { label: "text" } };
const url = await serveManifest(manifestOf(["slow", "plain"].map((name) => ({ name, schema, ...column }))), {
  RATE_LIMITS: "100000",
});

const ask = (path: string, more = "", key?: string): Promise<Reply> =>
  sendRequest(
    url,
    `/v1/system/values?path=/v1/shop/${path}&column=label${more}`,
    key === undefined ? {} : { key },
  );
/** The queries that the view holds until `asked` has its answers: looking its columns up is none, and parsing one and running it are one transaction. */
async function queriesDuring(asked: Promise<unknown>): Promise<number> {
  const found = new Set<unknown>();
  const end = new AbortController();
  void asked.finally(() => end.abort());
  while (!end.signal.aborted) {
    const running = await query(
      `SELECT pid || ' ' || xact_start AS id FROM pg_stat_activity
        WHERE wait_event = 'PgSleep' AND query LIKE '%${schema}"."slow"%'`,
    );
    for (const { id } of running) found.add(id);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return found.size;
}

it("of 200 callers with and without keys who ask the same, the database sees one", async () => {
  const asked = Promise.all(
    Array.from({ length: 200 }, (_, i) => ask("slow", "", i % 2 === 0 ? undefined : KEYS.tier2)),
  );
  // None where this process stands still for as long as it runs.
  expect(await queriesDuring(asked)).toBeLessThanOrEqual(1);
  const replies = await asked;
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
});

it("a caller who leaves takes nothing from those who wait for the same", async () => {
  const left = get(`${url}/v1/system/values?path=/v1/shop/slow&column=label&prefix=v1`);
  left.on("error", () => undefined);
  const waiting = new Promise((resolve) => setTimeout(resolve, 200)).then(() =>
    Promise.all(Array.from({ length: 20 }, () => ask("slow", "&prefix=v1"))),
  );
  await new Promise((resolve) => setTimeout(resolve, 400));
  // The request is under way: its socket ends here.
  left.destroy();
  const replies = await waiting;
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(replies.every(({ text }) => text.includes('"v1"'))).toBe(true);
});

it("400 different questions are answered or refused with a time to wait, and others are served meanwhile", async () => {
  const crowd = Promise.all(Array.from({ length: 400 }, (_, i) => ask("slow", `&prefix=v${String(i)}`)));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await ask("plain", "", KEYS.tier3)).status).toBe(200);
  expect((await sendRequest(url, "/v1/shop/plain", { key: KEYS.tier3 })).status).toBe(200);
  for (const { status, headers } of await crowd) {
    expect([200, 503]).toContain(status);
    if (status === 503) expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  }
  expect((await ask("plain", "&prefix=v2")).status).toBe(200);
});
