import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { serve } from "../../support/command.js";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest, ownInstallation } from "../../support/service.js";
import { begin, sendRequest, statusAndBody, tooLarge } from "../../support/http-client.js";

/** Bytes of the long answer: far more than socket buffers hold. */
const LONG_BYTES = 300_000 * 100;

const schema = await ownSchema(`
  CREATE TABLE @.long AS SELECT i AS id, repeat(md5(i::text), 4) AS label FROM generate_series(1, 300000) i;
  CREATE VIEW @.slow_end AS SELECT i AS id, CASE WHEN i > 1400 THEN pg_sleep(0.1)::text ELSE 'x' END AS label
    FROM generate_series(1, 5000) i;
  CREATE VIEW @.large_end AS SELECT i AS id, repeat('x', CASE WHEN i > 1500 THEN 3000000 ELSE 1 END) AS label
    FROM generate_series(1, 1501) i`);
const model = (name: string) => ({ name, schema, columns: { id: "integer", label: "text" } });
const pages = { pagination: { enabled: true, default_limit: 1500, max_limit: 1500 } };
const paged = (name: string) => ({
  ...model(name),
  api: { allow_unfiltered: true, parameters: [], ...pages },
});
const manifest = manifestOf([model("long"), paged("slow_end"), paged("large_end")]);

const closeOf = (response: IncomingMessage): Promise<void> =>
  new Promise((resolve) => void response.once("close", resolve));

/** Takes 64 kB each 100 ms to the end and returns whether the answer came to its end. */
async function readSlowly(response: IncomingMessage) {
  let bytes = 0;
  const closed = closeOf(response);
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    response.pause();
    setTimeout(() => response.resume(), 100);
  });
  await closed;
  return { bytes, complete: response.complete };
}

describe("a stream", () => {
  it("is reset once it takes longer than STREAM_TIMEOUT_MS of its caller's tier, however steadily it is read", async () => {
    const { url } = await startManifest(manifest, {
      STREAM_TIMEOUT_MS: "tier0=600000,tier1=8000,tier3=600000",
    });
    const { bytes, complete } = await readSlowly(await begin(`${url}/v1/shop/long`, KEYS.tier1));
    expect(complete).toBe(false);
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(LONG_BYTES);
    const { text } = await sendRequest(url, "/v1/shop/long", { key: KEYS.tier3 });
    expect((JSON.parse(text) as unknown[]).length).toBe(300_000);
  });

  it("ends when the query for the next page fails: its caller can have others", async () => {
    const { url } = await startManifest(manifest, { STATEMENT_TIMEOUT_MS: "tier0=2000,tier3=2000" });
    for (let i = 0; i < 3; i++) {
      const reply = await sendRequest(url, "/v1/shop/slow_end", { key: KEYS.tier3 });
      expect(statusAndBody(reply)).toEqual(tooLarge("time"));
    }
    const { status } = await sendRequest(url, "/v1/shop/long", { key: KEYS.tier3 });
    expect(status).toBe(200);
  });

  it("links the next page also when that begins with a row too large for a buffer, and leaves nothing open", async () => {
    const { url } = await startManifest(manifest);
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await sendRequest(url, "/v1/shop/large_end", { key: KEYS.tier3 });
      expect(status).toBe(200);
      expect(headers.link).toContain("offset=1500");
    }
  });

  it("that its client does not read is reset when the server stops", async () => {
    const folder = ownInstallation(manifest);
    const variables = { DATABASE_URL: databaseUrl, API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }) };
    const served = await serve(folder, [], variables);
    const response = await begin(`${served.url}/v1/shop/long`, KEYS.tier3);
    const closed = closeOf(response);
    expect((await served.stop()).code).toBe(0);
    response.resume();
    await closed;
    expect(response.complete).toBe(false);
  });
});
