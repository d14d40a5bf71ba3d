import * as zlib from "node:zlib";
import { describe, expect, it } from "vitest";
import { KEYS, serveManifest } from "../../support/service.js";
import { compact, sendRequest, post } from "../../support/http-client.js";
import { bigTables, LONG } from "./big-table.js";

const { manifest } = await bigTables();
const url = await serveManifest(manifest);
const key = KEYS.tier3;

const accepting = (accept: string, target = "/v1/big/short") =>
  sendRequest(url, target, { key, headers: { accept } });

const CSV =
  'id,label,amount\r\n1,"label, ""1""",1000000000000\r\n2,"label, ""2""",2000000000000\r\n3,"label, ""3""",3000000000000\r\n';
const LINES = [1, 2, 3].map((i) =>
  JSON.stringify({ id: i, label: `label, "${String(i)}"`, amount: i * 1e12 }),
);

describe("Accept", () => {
  it.each([
    "text/csv",
    "text/csv; charset=utf-8",
    "TEXT/CSV",
    "text/*",
    "text/csv, */*;q=0.1",
    "application/json;q=0.5, text/csv",
  ])("gives CSV with a header record: %s", async (accept) => {
    const { status, headers, text } = await accepting(accept);
    expect([status, headers["content-type"], text]).toEqual([
      200,
      "text/csv; charset=utf-8; header=present",
      CSV,
    ]);
  });

  it("gives NDJSON, a row a line", async () => {
    const { headers, text } = await accepting("application/x-ndjson");
    expect(headers["content-type"]).toBe("application/x-ndjson; charset=utf-8");
    expect(text).toBe(LINES.map((line) => `${line}\n`).join(""));
  });

  it.each([
    "*/*",
    "application/json",
    "application/*",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "text/csv;q=0.5, application/json",
    "text/csv;q=0",
    "image/png",
    "nonsense",
    "",
    ";;,,q=",
  ])("gives JSON: %s", async (accept) => {
    const { status, headers, text } = await accepting(accept);
    expect([status, headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
    expect(compact(text)).toBe(`[${LINES.join(",")}]`);
  });

  it("is named in Vary", async () => {
    expect((await accepting("text/csv")).headers["vary"]).toBe("Accept, Accept-Encoding");
  });

  it("has no rows without a line, but for the header record of CSV", async () => {
    expect((await accepting("text/csv", "/v1/big/empty")).text).toBe("id,label,amount\r\n");
    expect((await accepting("application/x-ndjson", "/v1/big/empty")).text).toBe("");
  });

  it("leaves the envelope to JSON, and keeps the page", async () => {
    const ndjson = await accepting("application/x-ndjson", "/v1/big/long?limit=3");
    expect(ndjson.text).toBe(LINES.map((line) => `${line}\n`).join(""));
    expect((await accepting("text/csv", "/v1/big/long?limit=3")).text).toBe(CSV);
  });

  it("works for POST too", async () => {
    const { text } = await post(url, "/v1/big/long", { limit: 3 }, { key, headers: { accept: "text/csv" } });
    expect(text).toBe(CSV);
  });

  it("leaves errors as JSON", async () => {
    const { status, headers, text } = await accepting("text/csv", "/v1/big/short?x=1");
    expect([status, headers["content-type"]]).toEqual([400, "application/json; charset=utf-8"]);
    expect(JSON.parse(text)).toHaveProperty("detail");
  });

  it("streams CSV of any length", async () => {
    const { text } = await accepting("text/csv", `/v1/big/long?limit=${String(LONG)}`);
    const records = text.split("\r\n");
    expect(records).toHaveLength(LONG + 2);
    expect(records.at(-2)).toBe(`${String(LONG)},"label, ""${String(LONG)}""",${String(LONG)}000000000000`);
  });
});

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  br: zlib.brotliDecompressSync,
  gzip: zlib.gunzipSync,
};

describe("Accept-Encoding", () => {
  const encoded = (acceptEncoding: string, target = "/v1/big/middle") =>
    sendRequest(url, target, { key, headers: { "accept-encoding": acceptEncoding } });

  it.each([
    ["br", "br"],
    ["gzip", "gzip"],
    ["zstd, gzip;q=0.5", "gzip"],
    ["gzip, deflate, br", "br"],
    ["br;q=0.2, gzip", "gzip"],
    ["gzip;q=0, br", "br"],
    ["identity, GZIP", "gzip"],
    ["deflate,Br,gzip", "br"],
  ])("compresses a longer answer: %s", async (acceptEncoding, encoding) => {
    const plain = await encoded("identity");
    const { headers, bytes } = await encoded(acceptEncoding);
    expect(headers["content-encoding"]).toBe(encoding);
    expect(headers["content-length"]).toBe(String(bytes.length));
    expect(bytes.length).toBeLessThan(plain.bytes.length / 4);
    expect(DECODERS[encoding]?.(bytes).equals(plain.bytes)).toBe(true);
    expect(headers["etag"]).toBe(plain.headers["etag"]);
  });

  it.each(["br", "gzip"])("compresses a streamed answer: %s", async (encoding) => {
    const target = `/v1/big/long?limit=${String(LONG)}`;
    const { headers, bytes } = await encoded(encoding, target);
    expect(headers["content-encoding"]).toBe(encoding);
    const { items } = JSON.parse(DECODERS[encoding]?.(bytes).toString() ?? "") as { items: { id: number }[] };
    expect(items).toHaveLength(LONG);
  });

  it.each(["identity", "", "deflate", "*;q=0", "br;q=0", ";;;"])(
    "leaves an answer as it is: %s",
    async (acceptEncoding) => {
      expect((await encoded(acceptEncoding)).headers["content-encoding"]).toBeUndefined();
    },
  );

  it("leaves a short answer as it is", async () => {
    expect((await encoded("br, gzip", "/v1/big/short")).headers["content-encoding"]).toBeUndefined();
  });
});
