import { describe, expect, it } from "vitest";
import { randomBytes } from "node:crypto";
import { sendRequest } from "../../support/http-client.js";
import { KEYS } from "../../support/service.js";
import { ownService } from "./own-service.js";

const service = await ownService({ RATE_LIMITS: "tier3=1000000" });
const MIB = 1024 * 1024;
const key = KEYS.tier3;
const path = "/v1/shop/orders";

/**
 * What a process keeps of different requests, whatever they are: code that was compiled, statistics, entries of caches. Caches that
 * were bounded by number kept 43 to 48 MB of 2,500 requests; those bounded in bytes keep up to 4.
 */
const MOST_KEPT = 12 * MIB;

/** Texts that no other request has: in a query string of 15 kB, and in a body of almost 1 MiB. */
const different = (count: number, bytes: number): readonly string[] =>
  Array.from({ length: count }, () => randomBytes(bytes / 2).toString("hex"));

async function inParallel(count: number, send: (i: number) => Promise<{ readonly status: number }>) {
  const statuses = new Set<number>();
  let next = 0;
  const sendNext = async (): Promise<void> => {
    for (let i; (i = next++) < count;) statuses.add((await send(i)).status);
  };
  await Promise.all(Array.from({ length: 8 }, sendNext));
  return [...statuses];
}

const callTool = (name: string, given: object) =>
  sendRequest(service.url, "/mcp", {
    method: "POST",
    key,
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } },
  });

/** Requests that have a text of their own, sent to a server that has answered some of them before. */
async function keptBytes(count: number, send: () => Promise<{ readonly status: number }>): Promise<number> {
  await inParallel(20, send);
  return service.keptBytes(async () => {
    expect(await inParallel(count, send)).toEqual([200]);
  });
}

describe("different requests leave little in memory", () => {
  const query = (): string => `${path}?any=${different(16, 940).join(",")}`;

  it.each([
    ["HEAD", {}],
    ["GET", { Range: "bytes=0-9" }],
    ["GET", {}],
    ["GET", { "If-None-Match": 'W/"abc"' }],
  ])("%s with a query of 15 kB and %j", async (method, headers) => {
    const send = () =>
      sendRequest(service.url, query(), { method, key, headers }).then(({ status }) => ({
        status: status === 206 ? 200 : status,
      }));
    expect(await keptBytes(1_250, send)).toBeLessThan(MOST_KEPT);
  });

  it("POST with a list of 100 kB", async () => {
    const send = () =>
      sendRequest(service.url, path, {
        method: "POST",
        key,
        headers: { "Content-Type": "application/json" },
        body: { any: different(100, 1_000) },
      });
    expect(await keptBytes(400, send)).toBeLessThan(MOST_KEPT);
  });

  it("the tool list_values with lists of 1,000 values", async () => {
    const send = () =>
      callTool("list_values", { path, column: "label", parameters: { any: different(1_000, 950) } });
    expect(await keptBytes(60, send)).toBeLessThan(MOST_KEPT);
  });

  it("the tool query_endpoint with lists of 1,000 values", async () => {
    const send = () => callTool("query_endpoint", { path, parameters: { any: different(1_000, 950) } });
    expect(await keptBytes(60, send)).toBeLessThan(MOST_KEPT);
  });

  it("requests whose chosen columns are named again and again", async () => {
    let i = 0;
    const columns = ["id", "day", "status", "label"];
    const send = () => {
      const chosen = (i++).toString(4).padStart(6, "0");
      const names = Array.from({ length: 900 }, (_, at) => columns[Number(chosen[at] ?? 0)]);
      return sendRequest(service.url, `${path}?fields=${names.join(",")}`, { key });
    };
    expect(await keptBytes(1_250, send)).toBeLessThan(MOST_KEPT);
  });
});
