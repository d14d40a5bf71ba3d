import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { sendRequest, post } from "../../support/http-client.js";
import { idsOf, serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const key = KEYS.tier3;

describe("the end of a path names the format", () => {
  it.each([
    ["csv", "text/csv"],
    ["ndjson", "application/x-ndjson"],
    ["json", "application/json"],
  ])(".%s, whatever Accept says", async (suffix, type) => {
    const headers = { accept: type === "text/csv" ? "application/json" : "text/csv" };
    const { status, headers: sent } = await sendRequest(url, `/v1/shop/legacy.${suffix}`, { key, headers });
    expect([status, sent["content-type"]?.split(";")[0]]).toEqual([200, type]);
  });

  it("together with parameters, on POST and escaped", async () => {
    const { text } = await sendRequest(url, "/v1/shop/filters.csv?id=2", { key });
    expect(text.split("\r\n")[1]).toMatch(/^2,"?2024-01-02"?,/);
    expect((await post(url, "/v1/shop/filters.ndjson", { id: 2 }, { key })).text).toMatch(
      /^\{"id":2,.*\}\n$/,
    );
    expect((await sendRequest(url, "/v1/shop/legac%79.csv", { key })).headers["content-type"]).toMatch(
      "text/csv",
    );
  });

  it.each(["/v1/shop/legacy.xml", "/v1/shop/legacy.csv.csv", "/v1/shop/none.csv", "/v1/shop/.csv"])(
    "%s is no address",
    async (path) => expect((await sendRequest(url, path, { key })).status).toBe(404),
  );

  it("%2F is not a slash", async () =>
    expect((await sendRequest(url, "/v1/shop%2Flegacy", { key })).status).toBe(404));

  it("gives a part of the body to a request for a range", async () => {
    const whole = await sendRequest(url, "/v1/shop/legacy.csv", { key });
    const bytes = Buffer.from(whole.text);
    const part = async (range: string, more: object = {}) => {
      const headers = { range, "accept-encoding": "gzip", ...more };
      const reply = await sendRequest(url, "/v1/shop/legacy.csv", { key, headers });
      return [reply.status, reply.headers["content-range"], reply.text];
    };
    const all = String(bytes.length);
    const of = (first: number, last: number) => [
      206,
      `bytes ${String(first)}-${String(last)}/${all}`,
      bytes.subarray(first, last + 1).toString(),
    ];
    expect(await part("bytes=0-3")).toEqual(of(0, 3));
    expect(await part("bytes=5-99999999")).toEqual(of(5, bytes.length - 1));
    expect(await part("bytes=7-")).toEqual(of(7, bytes.length - 1));
    expect(await part("bytes=-4")).toEqual(of(bytes.length - 4, bytes.length - 1));
    for (const range of ["bytes=0-1,4-5", "bytes=", "bytes=-", "bytes=9-2", "rows=0-1"])
      expect(await part(range)).toEqual([200, undefined, whole.text]);
    expect(await part("bytes=0-3", { "if-range": whole.headers["etag"] })).toEqual([
      200,
      undefined,
      whole.text,
    ]);
  });

  it("refuses a range behind the body, whose length it names", async () => {
    const path = "/v1/shop/legacy.csv";
    const { text, headers } = await sendRequest(url, path, { key });
    const bytes = Buffer.byteLength(text);
    const detail = `The body has ${String(bytes)} bytes: the range begins behind them.`;
    for (const range of [
      `bytes=${String(bytes)}-`,
      "bytes=99999999-",
      "bytes=99999999-999999999",
      "bytes=-0",
    ]) {
      const reply = await sendRequest(url, path, { key, headers: { range } });
      expect([range, reply.status, reply.headers["content-range"], reply.text]).toEqual([
        range,
        416,
        `bytes */${String(bytes)}`,
        JSON.stringify({ detail }),
      ]);
    }
    const whole = async (more: object, method = "GET") => {
      const reply = await sendRequest(url, path, {
        key,
        method,
        headers: { range: "bytes=99999999-", ...more },
      });
      return [reply.status, reply.text];
    };
    expect(await whole({ "if-range": headers["etag"] })).toEqual([200, text]);
    expect(await whole({}, "HEAD")).toEqual([200, ""]);
  });

  it("gives the whole of an empty body", async () => {
    const ask = async (range: string) => {
      const target = "/v1/shop/filters.ndjson?id=-1";
      const { status, headers } = await sendRequest(url, target, { key, headers: { range } });
      return [status, headers["content-range"]];
    };
    expect(await ask("bytes=-5")).toEqual([200, undefined]);
    expect(await ask("bytes=0-")).toEqual([416, "bytes */0"]);
  });
});

describe("a page that is not the last names the next one", () => {
  const next = (headers: Record<string, unknown>): string | null =>
    /^<(.*)>; rel="next"$/.exec(typeof headers["link"] === "string" ? headers["link"] : "")?.[1] ?? null;

  it.each(["/v1/shop/pages", "/v1/shop/pages.csv", "/v1/shop/pages.ndjson", "/v1/shop/envelope?limit=2"])(
    "%s, until all rows are read",
    async (first) => {
      const pages: string[] = [];
      for (let target: string | null = first; target !== null;) {
        const { status, headers, text } = await sendRequest(url, target, { key });
        expect(status).toBe(200);
        pages.push(text);
        target = next(headers);
      }
      expect(pages.length).toBe(3);
      if (first === "/v1/shop/pages") expect(pages.flatMap(idsOf)).toEqual([1, 2, 3, 4, 5]);
    },
  );

  it("also when the last page is full", async () => {
    expect(next((await sendRequest(url, "/v1/shop/pages?limit=2&offset=3", { key })).headers)).toBeNull();
  });

  it("with the same parameters, of a POST too", async () => {
    const { headers } = await post(
      url,
      "/v1/shop/pages",
      { any: ["Open", "Closed", "OPEN"], limit: 1 },
      { key },
    );
    const target = next(headers) ?? "";
    expect(target).toBe("/v1/shop/pages?any=Open&any=Closed&any=OPEN&limit=1&offset=1");
    expect(idsOf((await sendRequest(url, target, { key })).text)).toEqual([2]);
  });
});

it("leaves CSV cells exact, unless CSV_ESCAPE_FORMULAS is set", async () => {
  const { CELLS, serveFormulas } = await import("./formulas.js");
  const csv = (header: string, cellOf: (cell: readonly [string, boolean]) => string): string =>
    `${header}\r\n${CELLS.map((cell, i) => `${String(-1 - i)},"${cellOf(cell)}"\r\n`).join("")}`;
  expect(await serveFormulas({})).toBe(csv("=n,v", ([text]) => text));
  expect(await serveFormulas({ CSV_ESCAPE_FORMULAS: "true" })).toBe(
    csv("'=n,v", ([text, isFormula]) => (isFormula ? `'${text}` : text)),
  );
});
