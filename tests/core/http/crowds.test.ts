import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Client, get, serveWith } from "./client.js";

const FLOODER = "127.0.0.2";
const OTHER = "127.0.0.3";

/** A client that has been answered and stays. */
async function idle(url: string, from: string): Promise<Client> {
  const client = await Client.saying(url, get("/"), { from });
  await client.hears(/done$/);
  return client;
}

const isOpen = (client: Client): boolean => client.socket.readable;

describe("a server at its connection limit", () => {
  const answering = (limit: number): Promise<string> =>
    serveWith((_, response) => response.end("done"), { connections: limit });

  it("closes the longest idle connection for a new one", async () => {
    const url = await answering(3);
    const [first, second, third] = [await idle(url, OTHER), await idle(url, OTHER), await idle(url, OTHER)];
    await idle(url, OTHER);
    await first.closed;
    expect([second, third].map(isOpen)).toEqual([true, true]);
  });

  it("closes connections that have sent nothing, or not yet a whole request", async () => {
    const url = await answering(10);
    for (let i = 0; i < 50; i++)
      await Client.saying(url, i % 2 === 0 ? "" : "GET / HTTP/1.1\r\nX", { from: FLOODER });
    expect((await idle(url, OTHER)).statuses).toEqual([200]);
  });

  it("keeps connections that wait for a response, and answers new ones 503", async () => {
    const answers: (() => void)[] = [];
    let isHeld = true;
    const url = await serveWith(
      (_, response) => {
        answers.push(() => response.end("done"));
        if (!isHeld) answers.at(-1)?.();
      },
      { connections: 5 },
    );
    const waiting = await Promise.all(Array.from({ length: 5 }, () => Client.saying(url, get("/"))));
    await expect.poll(() => answers.length).toBe(5);
    const late = await Client.saying(url, get("/"), { from: OTHER });
    await late.closed;
    expect(late.said).toMatch(
      /^HTTP\/1\.1 503 Service Unavailable\r\n[^]*Retry-After: 1\r\n[^]*\{"detail":"Service Unavailable"\}$/,
    );
    isHeld = false;
    for (const answer of answers) answer();
    await Promise.all(waiting.map((client) => client.hears(/done$/)));
    expect((await idle(url, OTHER)).statuses).toEqual([200]);
    expect(answers).toHaveLength(6);
  });

  it("survives many connections that open and close at once", async () => {
    const url = await answering(50);
    for (let round = 0; round < 5; round++) {
      const clients = Array.from({ length: 200 }, () => new Client(url, { from: FLOODER }));
      for (const client of clients) client.send(get("/"));
      await sleep(20);
      for (const client of clients) client.socket.resetAndDestroy();
    }
    expect((await idle(url, OTHER)).statuses).toEqual([200]);
  });
});
