import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { withReadBuffers } from "../../runtime/warehouse/clickhouse/read-buffer.js";
import { atEnd } from "../support/at-end.js";

const PIECES = ["a", "b", "c", "d"].map((letter) => letter.repeat(100_000));

it("what a connection has read stays as it was while it reads on, and over the next requests", async () => {
  let connections = 0;
  const server = http.createServer((_, response) => {
    void (async () => {
      for (const piece of PIECES) {
        response.write(piece);
        await pause(20);
      }
      response.end();
    })();
  });
  server.on("connection", () => connections++).listen(0, "127.0.0.1");
  atEnd(() => void server.close());
  await once(server, "listening");
  const agent = withReadBuffers(new http.Agent({ keepAlive: true }));
  atEnd(() => agent.destroy());
  const { port } = server.address() as AddressInfo;
  const read = async (pauseMs: number): Promise<Buffer[]> => {
    const [response] = (await once(http.get({ agent, host: "127.0.0.1", port }), "response")) as [
      http.IncomingMessage,
    ];
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      response.pause();
      setTimeout(() => response.resume(), pauseMs);
    });
    await once(response, "end");
    return chunks;
  };
  const bodies = [await read(0), await read(10), await read(0)];
  expect(bodies.map((chunks) => Buffer.concat(chunks).toString())).toEqual(Array(3).fill(PIECES.join("")));
  expect(connections).toBe(1);
});
