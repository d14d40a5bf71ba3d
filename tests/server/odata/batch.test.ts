import { describe, expect, it } from "vitest";
import { byEngine, ownTables } from "../../support/engines.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { ask, serveOrders, url } from "./orders-by-odata.js";

await serveOrders();

interface Part {
  readonly id: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: {
    readonly value?: readonly { readonly id: number }[];
    readonly error?: { readonly code: string };
  };
}

const send = (body: unknown, headers: Record<string, string> = {}, key: string = KEYS.tier3) =>
  ask("/$batch", { key, method: "POST", body, headers: { "content-type": "application/json", ...headers } });

const get = (id: string, path: string, headers: object = {}) => ({ id, method: "GET", url: path, headers });

async function partsOf(requests: readonly object[], headers: Record<string, string> = {}, key?: string) {
  const reply = await send({ requests }, headers, key);
  if (reply.status !== 200) throw new Error(`${String(reply.status)} ${reply.text}`);
  return (JSON.parse(reply.text) as { responses: readonly Part[] }).responses;
}

const GO_ON = { prefer: "odata.continue-on-error" };

describe("$batch", () => {
  it("answers each read as by itself", async () => {
    const parts = await partsOf([
      get("a", "shop__orders?$filter=status%20eq%20'paid'&$select=id"),
      get("b", "/odata/shop__orders/$count"),
      get("c", `${url}/odata/shop__orders(2)?$select=id`),
      get("d", "shop__orders?$top=1&$select=big", { Accept: "application/json;IEEE754Compatible=true" }),
      get("e", "shop__whole()"),
    ]);
    expect(parts.map(({ id, status }) => [id, status])).toEqual(
      ["a", "b", "c", "d", "e"].map((id) => [id, 200]),
    );
    const [a, b, c, d, e] = parts.map(({ body }) => body);
    expect(a?.value).toEqual([{ id: 1 }, { id: 4 }]);
    expect(b).toBe("5");
    expect(c).toMatchObject({ id: 2 });
    expect(d?.value).toEqual([{ big: "9007199254740993" }]);
    expect(e?.value).toHaveLength(5);
    const single = await ask("/shop__orders?$filter=status eq 'paid'&$select=id");
    expect(a).toEqual(JSON.parse(single.text));
  });

  it("stops at the first error, unless the client prefers to go on", async () => {
    const requests = [get("1", "shop__none"), get("2", "shop__orders?$top=1")];
    expect((await partsOf(requests)).map(({ id, status }) => [id, status])).toEqual([["1", 404]]);
    const all = await partsOf(requests, GO_ON);
    expect(all.map(({ id, status }) => [id, status])).toEqual([
      ["1", 404],
      ["2", 200],
    ]);
    expect(all[0]?.body?.error?.code).toBe("notFound");
  });

  it("has the tier, list and organization of its key, which no request in it changes", async () => {
    const requests = [
      get("1", "shop__paid", { "X-API-Key": KEYS.tier3, Authorization: `Bearer ${KEYS.tier3}` }),
      get("2", "shop__mine?$select=id"),
    ];
    const [paid, mine] = await partsOf(requests, GO_ON, KEYS.tier1);
    expect([paid?.status, paid?.body?.error?.code]).toEqual([403, "tierTooLow"]);
    expect(mine?.body?.value).toEqual([{ id: 1 }, { id: 4 }]);
    const anonymous = await ask("/$batch", {
      ...{ method: "POST", body: { requests: [get("1", "shop__paid")] } },
      headers: { "content-type": "application/json" },
    });
    expect([anonymous.status, anonymous.headers["www-authenticate"]]).toEqual([
      401,
      expect.stringMatching(/^Basic /),
    ]);
  });

  it("counts each of its reads against the window", async () => {
    const left = async () =>
      Number((await ask("/shop__orders?$top=1", { key: KEYS.tier2 })).headers["x-ratelimit-remaining"]);
    const before = await left();
    await partsOf(
      [get("1", "shop__orders"), get("2", "shop__orders"), get("3", "shop__orders")],
      {},
      KEYS.tier2,
    );
    expect(await left()).toBe(before - 4);
  });

  it("knows entity tags, and answers documents", async () => {
    const [first] = await partsOf([get("1", "shop__orders?$top=1")]);
    const again = await partsOf(
      [get("1", "shop__orders?$top=1", { "If-None-Match": first?.headers["etag"] }), get("2", "")],
      {
        "accept-encoding": "gzip",
      },
    );
    expect(again.map(({ status }) => status)).toEqual([304, 200]);
    expect(again[1]?.body?.value?.length).toBe(8);
  });

  it.each([
    ["none", { requests: [] }, 400],
    ["no list", {}, 400],
    ["a list", [], 400],
    ["no JSON", "{", 400],
    ["more than 20", { requests: Array.from({ length: 21 }, (_, i) => get(String(i), "shop__orders")) }, 400],
    ["two of an id", { requests: [get("1", "shop__orders"), get("1", "shop__orders")] }, 400],
    ["null", { requests: [null] }, 405],
    ["a number as id", { requests: [{ ...get("1", "x"), id: 1 }] }, 400],
    ["a write", { requests: [{ ...get("1", "shop__orders"), method: "POST" }] }, 405],
    ["a group", { requests: [{ ...get("1", "shop__orders"), atomicityGroup: "g" }] }, 501],
    ["a body", { requests: [{ ...get("1", "shop__orders"), body: {} }] }, 501],
    ["depth", `{"requests":${"[".repeat(5000)}`, 400],
  ])("of %s is refused", async (_, body, status) => {
    const reply = await send(body);
    expect([reply.status, reply.text.length < 1000]).toEqual([status, true]);
  });

  it("holds no batch and no path of another service", async () => {
    const urls = [
      "$batch",
      "../v1/shop/orders",
      "/v1/shop/orders",
      "http://x/v1/system/usage",
      "\u0000",
      "%",
      "//",
      "",
    ];
    const parts = await partsOf(
      urls.map((path, i) => get(String(i), path)),
      GO_ON,
    );
    expect(parts.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404, 404, 200]);
  });
});

/** Serves a note with this text. */
async function serveNote(text: string): Promise<string> {
  const columns = byEngine({
    postgres: { id: "integer", note: "text" },
    clickhouse: { id: "Int32", note: "String" },
  });
  const bytes = Buffer.from(text).toString("hex");
  const schema = await ownTables({
    postgres: `CREATE TABLE @.notes AS SELECT 1 AS id, convert_from('\\x${bytes}', 'UTF8') AS note`,
    clickhouse: [
      "CREATE TABLE @.notes (id Int32, note String) ENGINE = MergeTree ORDER BY id",
      `INSERT INTO @.notes SELECT 1, unhex('${bytes}')`,
    ],
  });
  const api = {
    ...{ allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }] },
    pagination: { enabled: true, default_limit: 2, max_limit: 3 },
  };
  const routewright = { cursor: true, fields: true, filters: ["id"] };
  return serveManifest(manifestOf([{ name: "notes", schema, columns, key: "id", api, routewright }]));
}

const MIXED = { "content-type": 'Multipart/Mixed; charset=utf-8; boundary="b 1"' };

/** A part with a request, as clients write it. */
const partWith = (request: string, type = "application/http", more = "") =>
  `--b 1\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: binary\r\n${more}\r\n${request}\r\n\r\n`;

/** What stands before each part of a response. */
function delimiterOf({ headers }: Reply): string {
  const [, boundary = ""] =
    /^multipart\/mixed; boundary=([\w-]{1,70})$/.exec(headers["content-type"] ?? "") ?? [];
  expect(boundary).not.toBe("");
  return `--${boundary}`;
}

describe("$batch as multipart/mixed", () => {
  it("has the responses of JSON", async () => {
    const requests = [
      get("x", "shop__orders?$filter=status%20eq%20'paid'&$select=id"),
      get("2", `${url}/odata/shop__orders/$count`),
      get("3", "shop__none"),
    ];
    const parts = await partsOf(requests, GO_ON);
    const body = `preamble\r\n${requests
      .map(({ id, url: path }) =>
        partWith(`GET ${path} HTTP/1.1`, undefined, id === "x" ? "Content-ID: x\r\n" : ""),
      )
      .join("")}--b 1--\r\nepilogue`;
    for (const sent of [body, body.replaceAll("\r\n", "\n")]) {
      const reply = await send(sent, { ...MIXED, ...GO_ON });
      const [, ...answered] = reply.text.split(delimiterOf(reply));
      expect(answered.pop()).toBe("--\r\n");
      for (const [i, part] of answered.entries()) {
        const [, head = "", text = "", ...rest] = part.split("\r\n\r\n");
        expect(part).toContain(`Content-ID: ${parts[i]!.id}\r\n`);
        expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${String(parts[i]!.status)} \\w`));
        const isText = typeof parts[i]!.body === "string";
        expect([isText ? text.trim() : JSON.parse(text), rest]).toEqual([parts[i]!.body, []]);
        expect(head).toContain(`content-length: ${String(Buffer.byteLength(text) - 2)}`);
      }
    }
  });

  it.each([
    ["no end", partWith("GET shop__orders HTTP/1.1"), 400],
    ["another boundary", "--c\r\n\r\n--c--", 400],
    ["no part", "--b 1--", 400],
    ["a boundary that goes on", "--b 1x\r\n\r\n--b 1--", 400],
    ["a change set", `${partWith("--c", "multipart/mixed; boundary=c")}--b 1--`, 501],
    ["a write", `${partWith("DELETE shop__orders(1) HTTP/1.1")}--b 1--`, 405],
    ["no request", `${partWith("")}--b 1--`, 405],
    ["21 requests", `${partWith("GET shop__orders HTTP/1.1").repeat(21)}--b 1--`, 400],
    [
      "one name twice",
      `${partWith("GET shop__orders HTTP/1.1", undefined, "Content-ID: a\r\n").repeat(2)}--b 1--`,
      400,
    ],
    ["100,000 begins", "--b 1\r\n".repeat(100_000), 400],
  ])("is refused with %s", async (_, body, status) => {
    const reply = await send(body, MIXED);
    expect([reply.status, reply.text.length < 1000]).toEqual([status, true]);
  });

  it("has each value in its part, also one that was written to end it", async () => {
    const first = await send(`${partWith("GET shop__orders HTTP/1.1")}--b 1--`, MIXED);
    const ending = `x\r\n${delimiterOf(first)}\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{}`;
    const service = await serveNote(ending);
    const requests = ["shop__notes(1)/note/$value", "shop__notes/$count"];
    const body = `${requests.map((path) => partWith(`GET ${path} HTTP/1.1`)).join("")}--b 1--`;
    const reply = await sendRequest(service, "/odata/$batch", { method: "POST", headers: MIXED, body });
    const [, ...parts] = reply.text.split(delimiterOf(reply));
    expect(parts).toHaveLength(3);
    expect(parts[0]).toContain(ending);
    expect(parts[1]).toMatch(/\r\n\r\n1\r\n$/);
  });

  it("without a boundary is refused, and the parts of a key's own rows stay its own", async () => {
    expect((await send("--\r\n\r\n----", { "content-type": "multipart/mixed" })).status).toBe(400);
    const reply = await send(
      `${partWith(`GET shop__mine?$select=id HTTP/1.1\r\nX-API-Key: ${KEYS.tier3}`)}--b 1--`,
      MIXED,
      KEYS.tier1,
    );
    expect(reply.text.replaceAll("\n", "")).toContain('"value":[{"id":1},{"id":4}]');
  });
});
