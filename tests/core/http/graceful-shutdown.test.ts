import type { RequestListener } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { listen, type RunningServer } from "../../../runtime/core/http/listen.js";
import { askRaw } from "../../support/http-client.js";

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/** Answers "done" after so many milliseconds, and says that it has the request. */
const after =
  (milliseconds: number, has: () => void = () => undefined): RequestListener =>
  (_, response) => {
    has();
    setTimeout(() => response.end("done"), milliseconds);
  };

interface Caller {
  readonly socket: Socket;
  /** All that came so far. */
  text(): string;
  readonly closed: Promise<string>;
}

async function callerOf({ url }: RunningServer): Promise<Caller> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const closed = new Promise<string>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
  atEnd(() => void socket.destroy());
  await new Promise((resolve) => socket.once("connect", resolve));
  return { socket, text: () => text, closed };
}

const bodies = (text: string): number => text.match(/done/g)?.length ?? 0;

describe("a server that stops", () => {
  it("answers a request that is on its way on a connection that was idle, and says that it closes", async () => {
    const server = await listen(after(0), "127.0.0.1", 0);
    const caller = await callerOf(server);
    caller.socket.write(GET);
    await expect.poll(() => bodies(caller.text())).toBe(1);
    expect(caller.text()).toMatch(/Connection: keep-alive/);
    const stopped = server.stop();
    await sleep(100);
    caller.socket.write(GET);
    expect(bodies(await caller.closed)).toBe(2);
    expect(caller.text()).toMatch(/Connection: close/);
    await stopped;
  });

  it("says that it closes with the answer that is under way", async () => {
    let requests = 0;
    const server = await listen(
      after(900, () => requests++),
      "127.0.0.1",
      0,
    );
    const caller = await callerOf(server);
    caller.socket.write(GET);
    await expect.poll(() => requests).toBe(1);
    const stopped = server.stop();
    expect(await caller.closed).toMatch(/^HTTP\/1.1 200 .*Connection: close.*done$/s);
    await stopped;
  });

  it("lets a request come in whole whose first part is there", async () => {
    const server = await listen(after(0), "127.0.0.1", 0);
    const caller = await callerOf(server);
    caller.socket.write(GET.slice(0, 10));
    await sleep(50);
    const stopped = server.stop();
    await sleep(200);
    caller.socket.write(GET.slice(10));
    expect(await caller.closed).toMatch(/^HTTP\/1.1 200 .*Connection: close.*done$/s);
    await stopped;
  });

  it("lets an answer go out whole that is read slowly", async () => {
    const size = 8 * 1024 * 1024;
    const server = await listen((_, response) => void response.end("x".repeat(size)), "127.0.0.1", 0);
    const caller = await callerOf(server);
    caller.socket.pause();
    caller.socket.write(GET);
    await sleep(100);
    const stopped = server.stop();
    await sleep(1200);
    caller.socket.resume();
    expect((await caller.closed).match(/x/g)).toHaveLength(size);
    await stopped;
  });

  it("closes connections that stay idle, used or not, and takes no new ones", async () => {
    const server = await listen(after(0), "127.0.0.1", 0);
    const used = await callerOf(server);
    const unused = await callerOf(server);
    used.socket.write(GET);
    await expect.poll(() => bodies(used.text())).toBe(1);
    const stopped = server.stop();
    await expect(askRaw(server.url, GET)).rejects.toThrow("ECONNREFUSED");
    expect([bodies(await used.closed), await unused.closed]).toEqual([1, ""]);
    await stopped;
  });

  it("has nothing to wait for without connections", async () => {
    await (await listen(after(0), "127.0.0.1", 0)).stop();
  });
});
