import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { freeMemory } from "../../../runtime/core/warehouse/free-memory.js";
import { begin, sendRequest } from "../../support/http-client.js";
import { byEngine, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

const [PAGES, ROWS] = [8, 1500];
const key = KEYS.tier3;
const filling = "repeat('x', 1000)";
const statement = `CREATE TABLE @.pages ${byEngine({
  postgres: `AS SELECT i / ${String(ROWS)} AS page, i AS id, ${filling} AS filling FROM generate_series(0, ${String(PAGES * ROWS - 1)}) i`,
  clickhouse: `ORDER BY id AS SELECT toInt32(intDiv(number, ${String(ROWS)})) AS page, toInt32(number) AS id, ${filling} AS filling FROM numbers(${String(PAGES * ROWS)})`,
})}`;
const schema = await ownTables({ postgres: statement, clickhouse: [statement] });
const api = {
  allow_unfiltered: true,
  parameters: [{ name: "page", column: "page", operator: "=", type: "string" }],
  sort: [{ column: "id", direction: "ASC" }],
};
const columns = { page: null, id: null, filling: null };
const url = await serveManifest(
  manifestOf([{ name: "pages", schema, tags: ["production", "freed", "api:pages"], columns, api }]),
);

const path = (page: number): string => `/v1/freed/pages?page=${String(page)}`;
const expected = (page: number) =>
  Array.from({ length: ROWS }, (_, i) => ({ page, id: page * ROWS + i, filling: "x".repeat(1000) }));
const pages = Array.from({ length: PAGES }, (_, page) => page);

describe("pages whose memory is freed once they are sent", () => {
  it("are whole for clients that read late, while others read theirs", async () => {
    const late = await Promise.all(pages.map((page) => begin(url + path(page), key)));
    for (let round = 0; round < 3; round++)
      for (const page of pages)
        expect(JSON.parse((await sendRequest(url, path(page), { key })).text)).toEqual(expected(page));
    for (const [page, response] of late.entries())
      expect(JSON.parse(await text(response))).toEqual(expected(page));
  });

  it("are whole for each of the callers that share one query, in any coding and in parts", async () => {
    const headers = [{}, { "Accept-Encoding": "gzip" }, { Range: "bytes=0-9" }, { Range: "bytes=10-" }, {}];
    for (const page of pages) {
      const replies = await Promise.all(
        headers.map((more) => sendRequest(url, path(page), { key, headers: more })),
      );
      const [whole, , first, rest, again] = replies.map((reply) => reply.text);
      expect(JSON.parse(whole ?? "")).toEqual(expected(page));
      expect([again, `${first ?? ""}${rest ?? ""}`]).toEqual([whole, whole]);
    }
  });
});

it("freed bytes are empty, and of parts of one memory all; the memory that small buffers share stays", () => {
  const body = Buffer.alloc(100_000);
  const parts = [body.subarray(0, 10), body.subarray(10), Buffer.from("small")];
  const before = process.memoryUsage().arrayBuffers;
  freeMemory(parts);
  expect(parts.map(({ length }) => length)).toEqual([0, 0, 5]);
  expect(process.memoryUsage().arrayBuffers).toBeLessThan(before);
});
