import { once } from "node:events";
import type { RequestListener } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { letPass } from "../../support/clock.js";
import { Client, get, serveWith, SHORT_LINGER } from "./client.js";

/** More than both systems' buffers hold. */
const BYTES = 40 * 1024 * 1024;
const BODY = Buffer.alloc(BYTES, "x");

/** Answers with all of it; `over` resolves once the connection is. */
function large(): { readonly listener: RequestListener; readonly over: Promise<void> } {
  let end: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (end = resolve));
  const listener: RequestListener = ({ socket }, response) => {
    socket.once("close", end);
    response.end(BODY);
  };
  return { listener, over };
}

/** A client that takes a piece now and then, and closes once it has all. */
async function sipping(url: string, onPiece: () => void = () => undefined) {
  const client = new Client(url);
  let taken = 0;
  client.socket.removeAllListeners("data").on("data", (chunk: Buffer) => {
    taken += chunk.length;
    if (taken > BYTES) client.socket.end();
    client.socket.pause();
    onPiece();
    setTimeout(() => client.socket.resume(), 6);
  });
  await once(client.socket, "connect");
  client.send(get("/"));
  return { client, taken: () => taken };
}

/** Of what is read in a window of 300 ms, in bytes. */
const minimumRate = (bytes: number) => ({ minimumRate: { bytes, windowMs: 300 } });

describe("a client that reads its response slowly", () => {
  it("or not at all is disconnected", async () => {
    const { listener, over } = large();
    const client = new Client(await serveWith(listener, { ...SHORT_LINGER, ...minimumRate(1) }));
    client.socket.pause();
    client.send(get("/"));
    await over;
    client.socket.resume();
    await client.closed;
    expect(client.said.length).toBeLessThan(BYTES);
  });

  it("stays connected as long as it takes the minimum", async () => {
    const { listener, over } = large();
    // It reads for five windows of the clock, of which a busy machine does not stop it for one.
    const rate = { bytes: BYTES / 40, windowMs: 60_000 };
    let steps = 0;
    const onPiece = (): void => {
      for (; steps < 100 * (taken() / BYTES); steps++) letPass(rate.windowMs / 20);
    };
    const url = await serveWith(listener, { ...SHORT_LINGER, minimumRate: rate });
    const { taken } = await sipping(url, onPiece);
    await over;
    expect(taken()).toBeGreaterThan(BYTES);
  });

  it("has a whole window from the start, on a server that has run for longer than one", async () => {
    const windowMs = 60_000;
    letPass(windowMs);
    const { listener } = large();
    const rate = { bytes: BYTES, windowMs };
    const client = new Client(await serveWith(listener, { ...SHORT_LINGER, minimumRate: rate }));
    let taken = 0;
    client.socket.removeAllListeners("data").on("data", (chunk: Buffer) => (taken += chunk.length));
    client.socket.pause();
    client.send(get("/"));
    // Many checks of the server, and a fraction of the window.
    await sleep(300);
    client.socket.resume();
    await expect.poll(() => taken).toBeGreaterThan(BYTES);
  });

  it("is disconnected when it takes less than the minimum in a window, though it sends empty lines", async () => {
    const { listener, over } = large();
    const { client, taken } = await sipping(
      await serveWith(listener, { ...SHORT_LINGER, ...minimumRate(BYTES) }),
    );
    client.drip("\r\n", 50);
    await over;
    expect(taken()).toBeLessThan(BYTES);
  });

  it("stays connected while it waits for a response", async () => {
    const url = await serveWith((_, response) => void sleep(1000).then(() => response.end("late")), {
      ...SHORT_LINGER,
      ...minimumRate(BYTES),
    });
    const client = await Client.saying(url, get("/"));
    await client.hears(/late$/);
    expect(client.statuses).toEqual([200]);
  });
});
