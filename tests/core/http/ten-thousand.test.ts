import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { SERVER_LIMITS } from "../../../runtime/core/http/server-limits.js";
import { sendRequest } from "../../support/http-client.js";
import { get } from "./client.js";
import { ownService } from "./own-service.js";

const COUNT = 10_000;
/** Connections that are opened at once: what waits to be accepted is bounded, too. */
const AT_ONCE = 200;

function openFiles(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]);
  } catch {
    return 0;
  }
}

/** Where this machine lets a process open so many; elsewhere it is not tried. */
const enough = openFiles() > COUNT + 1000;
if (!enough)
  console.warn(`Fewer than ${COUNT + 1000} open files are allowed: idle connections are not tried.`);

async function open(url: string, text: string): Promise<readonly Socket[]> {
  const port = Number(new URL(url).port);
  const sockets: Socket[] = [];
  while (sockets.length < COUNT) {
    const more = Array.from({ length: AT_ONCE }, () => createConnection(port, "127.0.0.1"));
    await Promise.all(more.map((socket) => once(socket, "connect")));
    for (const socket of more)
      socket
        .resume()
        .on("error", () => undefined)
        .write(text);
    sockets.push(...more);
  }
  return sockets;
}

describe.runIf(enough)("10,000 connections that do nothing", () => {
  it.each([
    ["after a request", get("/")],
    ["before the end of one", "GET / HTTP/1.1\r\nHost: x\r\nX-A: "],
  ])("%s take little memory, and keep nobody from being answered", async (_, text) => {
    const service = await ownService();
    let sockets: readonly Socket[] = [];
    const keptBytes = await service.keptBytes(async () => {
      sockets = await open(service.url, text);
    });
    expect(keptBytes / COUNT).toBeLessThan(16 * 1024);
    const { status } = await sendRequest(service.url, "/v1/shop/orders");
    expect(status).toBe(200);
    expect(sockets.filter(({ readable }) => readable).length).toBeLessThanOrEqual(SERVER_LIMITS.connections);
    for (const socket of sockets) socket.destroy();
  });
});
