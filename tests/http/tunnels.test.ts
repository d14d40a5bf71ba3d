import { once } from "node:events";
import { expect, it } from "vitest";
import { Client, get } from "./client.js";
import { ownService } from "./own-service.js";

const service = await ownService();

it("a client that sends CONNECT and disconnects does not end the server", async () => {
  for (let i = 0; i < 50; i++) {
    const client = await Client.saying(service.url, "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\nmore");
    if (i % 2 === 1) await once(client.socket, "data");
    client.socket.resetAndDestroy();
  }
  const client = await Client.saying(service.url, get("/"));
  await client.hears(/"online"/);
  expect(client.statuses).toEqual([200]);
});
