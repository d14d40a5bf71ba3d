import type { RequestListener } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { readBody } from "../../../runtime/core/http/body.js";
import { Client, get, SENDER, serveWith } from "./client.js";

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `/${i}`);
const all = (paths: readonly string[]): string => paths.map((path) => get(path)).join("");
const bodies = (client: Client): readonly string[] => client.said.match(/\/\d+(?=HTTP|$)/g) ?? [];

/** Responds with the path after a while, and counts concurrent requests. */
function waiting(): { readonly listener: RequestListener; readonly most: () => number } {
  let open = 0;
  let most = 0;
  const listener: RequestListener = (request, response) => {
    most = Math.max(most, ++open);
    void sleep(5).then(() => {
      open--;
      response.end(request.url);
    });
  };
  return { listener, most: () => most };
}

describe("pipelined requests", () => {
  it("are answered in order", async () => {
    const { listener } = waiting();
    const client = await Client.saying(await serveWith(listener, {}), all(names(20)));
    await client.hears(/\/19$/);
    expect(bodies(client)).toEqual(names(20));
  });

  it("may have bodies", async () => {
    const url = await serveWith((request, response) => {
      void readBody(request, SENDER).then((body) =>
        response.end(body.kind === "text" ? body.text : body.kind),
      );
    }, {});
    const post = (text: string): string =>
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    const client = await Client.saying(url, post("/1") + post("/2") + post("/3"));
    await client.hears(/\/3$/);
    expect(bodies(client)).toEqual(["/1", "/2", "/3"]);
  });

  it("close the connection past a limit", async () => {
    const { listener, most } = waiting();
    const client = await Client.saying(await serveWith(listener, { pipelined: 10 }), all(names(1000)));
    await client.closed;
    expect(bodies(client)).toEqual([]);
    expect(most()).toBeLessThanOrEqual(10);
  });

  it("get no error for invalid input behind them: the connection closes", async () => {
    const { listener } = waiting();
    const client = await Client.saying(await serveWith(listener, {}), `${all(names(3))}nonsense\r\n\r\n`);
    await client.closed;
    expect(client.statuses).toEqual([]);
  });

  it("end with one that has `Connection: close`", async () => {
    const { listener } = waiting();
    const last = get("/1", "Connection: close\r\n");
    const client = await Client.saying(await serveWith(listener, {}), get("/0") + last + get("/2"));
    await client.closed;
    expect(bodies(client)).toEqual(["/0", "/1"]);
  });
});
