import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { Client } from "./client.js";
import { ownService } from "./own-service.js";

const service = await ownService({
  API_KEYS: JSON.stringify({ [KEYS.tier1]: "tier1", [KEYS.tier3]: "tier3" }),
  EVENT_STREAMS_PER_CALLER: "100",
  USAGE_ENABLED: "false",
});

const MEBIBYTE = 1024 * 1024;
const BODY = `{"status":"${"a".repeat(MEBIBYTE - 100)}`;

const head = (key: string, length: number) =>
  `POST /v1/shop/orders HTTP/1.1\r\nHost: x\r\nContent-Length: ${String(length)}\r\nX-API-Key: ${key}\r\n\r\n`;

/** Clients that send nearly a whole body. */
async function unfinished(key: string, count: number): Promise<readonly Client[]> {
  const clients: Client[] = [];
  while (clients.length < count) {
    const client = await Client.saying(service.url, `${head(key, MEBIBYTE)}${BODY}`);
    while (client.socket.writableLength > 0) await sleep(5);
    clients.push(client);
  }
  await sleep(200);
  return clients;
}

const filtered = (key: string, body = '{"status":"Open"}') =>
  fetch(`${service.url}/v1/shop/orders`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body,
  });

it("bodies that do not arrive whole take bounded memory; past a caller's share they get 503, and others' are read", async () => {
  const clients: Client[] = [];
  const keptBytes = await service.keptBytes(async () => {
    clients.push(...(await unfinished(KEYS.tier1, 150)));
  });
  expect(keptBytes).toBeLessThan(110 * MEBIBYTE);
  const refused = () => clients.filter(({ statuses }) => statuses.length > 0);
  // Half of 64 MiB.
  await expect.poll(() => clients.length - refused().length).toBeLessThanOrEqual(32);
  expect(clients.length - refused().length).toBeGreaterThan(20);
  expect(new Set(refused().flatMap(({ statuses }) => statuses))).toEqual(new Set([503]));
  expect(refused()[0]?.said).toMatch(/\r\nretry-after: 1\r\n[\s\S]*"detail":"The service is overloaded/i);

  const long = JSON.stringify({ status: "a".repeat(500_000) });
  expect((await filtered(KEYS.tier1, long)).status).toBe(503);
  // Nothing is refused of the usual size.
  expect((await filtered(KEYS.tier1)).status).toBe(200);
  // Too long for the parameter, but read.
  expect((await filtered(KEYS.tier3, long)).status).toBe(400);

  for (const { socket } of clients) socket.destroy();
  await expect.poll(async () => (await filtered(KEYS.tier1, long)).status).toBe(400);
});

it("a body that nobody reads takes no memory, in however small chunks it comes", async () => {
  const events = `GET /v1/system/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(60_000)}0\r\n\r\n`;
  const clients: Client[] = [];
  const keptBytes = await service.keptBytes(async () => {
    for (let n = 0; n < 20; n++) clients.push(await Client.saying(service.url, events));
    await Promise.all(clients.map((client) => client.hears(/\r\n\r\n/)));
    await sleep(500);
  });
  expect(new Set(clients.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]));
  expect(keptBytes).toBeLessThan(20 * MEBIBYTE);
  for (const { socket } of clients) socket.destroy();
});
