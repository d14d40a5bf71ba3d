import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { Client, get } from "../http/client.js";
import { ownService } from "../http/own-service.js";

const service = await ownService({ LOG_LEVEL: "trace" });

/** Requests that are sent at once. */
const BATCH = 20;

let keys = 0;
const unknownKey = (): string => `sk_live_${String(++keys).padStart(32, "guessed")}`;

/** Sends requests with unknown keys, a new one each time, over a few connections; counts each status. */
async function flood(path: string, count: number): Promise<Readonly<Record<number, number>>> {
  const client = await Client.saying(service.url, "");
  for (let sent = 0; sent < count; sent += BATCH) {
    const requests = Array.from({ length: BATCH }, () => get(path, `X-API-Key: ${unknownKey()}\r\n`));
    client.send(requests.join(""));
    await expect.poll(() => client.statuses.length, { interval: 2, timeout: 90_000 }).toBe(sent + BATCH);
  }
  const counts: Record<number, number> = {};
  for (const status of client.statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe("a flood of unknown keys", () => {
  it("gets 403 a hundred times, then 429, whatever the key", async () => {
    expect(await flood("/v1/shop/orders", 1000)).toEqual({ 403: 100, 429: 900 });
  });

  it("retains no memory", async () => {
    await flood("/v1/shop/orders", 1000);
    const keptBytes = await service.keptBytes(() => flood("/v1/shop/orders", 10_000));
    // A hundred bytes for each would be a million.
    expect(keptBytes).toBeLessThan(1_000_000);
  });

  it("leaves no key in the log, on any path", async () => {
    for (const path of ["/v1/shop/orders", "/v1/none", "/docs", "/openapi.json", "/metrics"])
      await flood(path, BATCH);
    await expect.poll(() => service.logged()).toContain('"status":429');
    expect(service.logged()).not.toContain("guessed");
  });

  it("does not block the owner of a key", async () => {
    const client = await Client.saying(service.url, get("/v1/shop/orders", `X-API-Key: ${KEYS.tier3}\r\n`));
    await client.hears(/"second"/);
    expect(client.statuses).toEqual([200]);
  });
});
