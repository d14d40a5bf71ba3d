import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { ownTables, readers } from "../../support/engines.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

/** Rows of 30 kB: a result of more than 70 is a stream. All of them take 80 s. */
const [ROWS, BYTES] = [4000, 30_000];

const schema = await ownTables({
  postgres: `CREATE VIEW @.slow AS SELECT i AS id, repeat('x', ${String(BYTES)}) || pg_sleep(0.02)::text AS note
      FROM generate_series(1, ${String(ROWS)}) i;
    CREATE VIEW @.large AS SELECT i AS id, repeat('x', ${String(BYTES)}) AS note FROM generate_series(1, 100) i`,
  clickhouse: [
    `CREATE VIEW @.slow AS SELECT toInt32(number) AS id, repeat('x', ${String(BYTES)}) AS note
      FROM numbers(${String(ROWS)}) WHERE sleepEachRow(0.02) = 0 SETTINGS max_block_size = 10`,
    `CREATE VIEW @.large AS SELECT toInt32(number) AS id, repeat('x', ${String(BYTES)}) AS note FROM numbers(100)`,
  ],
});

const model = (name: string) => ({
  ...{ name, schema, tags: ["production", "left", `api:${name}`] },
  columns: { id: "integer", note: "text" },
  api: { allow_unfiltered: true },
});

it("a part of a batch whose client leaves gives its caller's stream back", async () => {
  const url = await serveManifest(manifestOf([model("slow"), model("large")]), { STREAMS_PER_CALLER: "2" });
  for (let i = 0; i < 2; i++) {
    const gone = new AbortController();
    const batch = fetch(`${url}/odata/$batch`, {
      method: "POST",
      headers: { "X-API-Key": KEYS.tier3, "Content-Type": "application/json" },
      body: JSON.stringify({ requests: [{ id: "1", method: "GET", url: "left__slow" }] }),
      signal: gone.signal,
    });
    batch.catch(() => undefined);
    await expect.poll(() => readers(schema)).toBe(1);
    // 125 of its rows: the result has become a stream.
    await pause(2500);
    expect(await readers(schema)).toBe(1);
    gone.abort();
    await expect.poll(() => readers(schema)).toBe(0);
  }
  const { status, text } = await sendRequest(url, "/v1/left/large", { key: KEYS.tier3 });
  expect(status, text.slice(0, 200)).toBe(200);
});
