import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { sendRequest, post, refusal, statusAndBody } from "../../support/http-client.js";
import { idsOf, serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const key = KEYS.tier3;

describe("GET", () => {
  it("answers a legacy endpoint with the full table as a bare array", async () => {
    const reply = await sendRequest(url, "/v1/shop/legacy", { key });
    expect(reply.status).toBe(200);
    expect(reply.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect([...idsOf(reply.text)].sort()).toEqual([1, 2, 3, 4, 5]);
  });

  it("answers rows with every column in the relation's order and exact digits", async () => {
    const { text } = await sendRequest(url, "/v1/shop/filters?id=4", { key });
    expect(text).toBe(
      '[{"id":4,"day":"2024-01-04","at":"2024-01-04T12:00:00Z","status":"Held","label":"back\\\\slash","amount":18446744073709551615.00}]',
    );
  });

  it("has the body's length in bytes", async () => {
    const { text, headers } = await sendRequest(url, "/v1/shop/filters?id=5", { key });
    expect(text).toContain("Ünï 😀");
    expect(headers["content-length"]).toBe(String(Buffer.byteLength(text)));
  });

  it("answers an empty array where no row fits", async () => {
    expect(statusAndBody(await sendRequest(url, "/v1/shop/filters?status=none", { key }))).toEqual([200, []]);
  });

  it.each([
    "/v1/shop/legacy?limit=1",
    "/v1/shop/legacy?x=",
    "/v1/shop/legacy?=",
    "/v1/shop/legacy?sort_by=id",
  ])("refuses any parameter on a legacy endpoint: %s", async (target) => {
    expect(statusAndBody(await sendRequest(url, target, { key }))).toEqual(
      refusal(
        400,
        "This endpoint does not declare API parameters. Add meta.api to the dbt model to enable filters or pagination.",
      ),
    );
  });

  it.each(["/v1/shop/legacy?", "/v1/shop/filters?", "/v1/shop/filters?&&"])(
    "takes an empty query string for none: %s",
    async (target) => {
      expect((await sendRequest(url, target, { key })).status).toBe(200);
    },
  );

  it("takes no notice of a body", async () => {
    const reply = await sendRequest(url, "/v1/shop/filters?id=1", { key, body: '{"id": 2}' });
    expect(idsOf(reply.text)).toEqual([1]);
  });
});

it.each(["/v1/shop/legacy", "/v1/shop/envelope?limit=1", "/v1/shop/pages?limit=0", "/v1/none", "/", "/docs"])(
  "HEAD answers as GET does, without the body: %s",
  async (target) => {
    const head = await sendRequest(url, target, { key, method: "HEAD" });
    const get = await sendRequest(url, target, { key });
    expect(head.text).toBe("");
    expect(head.status).toBe(get.status);
    expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
    expect(head.headers["content-type"]).toBe(get.headers["content-type"]);
  },
);

describe("a method that a path does not have", () => {
  it.each([
    ["PUT", "/v1/shop/filters", "GET, HEAD, POST, QUERY, OPTIONS"],
    ["DELETE", "/v1/shop/filters", "GET, HEAD, POST, QUERY, OPTIONS"],
    ["PATCH", "/v1/shop/legacy", "GET, HEAD, OPTIONS"],
    ["POST", "/v1/shop/legacy", "GET, HEAD, OPTIONS"],
    ["POST", "/v1/shop/get_only", "GET, HEAD, OPTIONS"],
    ["TRACE", "/v1/shop/get_only", "GET, HEAD, OPTIONS"],
    ["POST", "/", "GET, HEAD, OPTIONS"],
    ["DELETE", "/health", "GET, HEAD, OPTIONS"],
    ["PUT", "/openapi.json", "GET, HEAD, OPTIONS"],
    ["POST", "/docs", "GET, HEAD, OPTIONS"],
    ["POST", "/redoc", "GET, HEAD, OPTIONS"],
    ["POST", "/metrics", "GET, HEAD, OPTIONS"],
  ])("is refused with the ones it has: %s %s", async (method, target, allow) => {
    const reply = await sendRequest(url, target, { key, method });
    expect(statusAndBody(reply)).toEqual(refusal(405, "Method Not Allowed"));
    expect(reply.headers.allow).toBe(allow);
  });

  it("is refused before its parameters are looked at, and after the tier", async () => {
    expect((await sendRequest(url, "/v1/shop/get_only?nonsense=1", { key, method: "POST" })).status).toBe(
      405,
    );
    expect((await sendRequest(url, "/v1/shop/tier1", { method: "DELETE" })).status).toBe(403);
  });
});

describe("a path that is not known", () => {
  it.each([
    "/v1/shop/none",
    "/v1/shop/filters/",
    "/v1/shop/Filters",
    "//v1/shop/filters",
    "/v1/shop/../shop/filters",
    "/v1/shop/%zz",
    "/v1/shop/filters%00",
    "/v1/shop/filters;x=1",
    "/v1",
    "/favicon.ico",
    "/nope",
    "/docs/nope",
    "/docs/a/b.js",
    "/redoc/nope",
    "/__proto__",
    "/v1/constructor",
  ])("is not found: %s", async (target) => {
    const reply = await sendRequest(url, target, { key });
    expect(statusAndBody(reply)).toEqual(refusal(404, "Not Found"));
    expect(reply.headers.allow).toBeUndefined();
  });

  it("is not found whatever the method and the parameters", async () => {
    expect(statusAndBody(await post(url, "/v1/none?x=1", "{", { key }))).toEqual(refusal(404, "Not Found"));
    expect(statusAndBody(await sendRequest(url, "/v1/none", { key, method: "DELETE" }))).toEqual(
      refusal(404, "Not Found"),
    );
  });
});

describe("the request target", () => {
  it("may have escapes where none are needed", async () => {
    expect((await sendRequest(url, "/v1/%73hop/f%69lters?%69d=1", { key })).status).toBe(200);
  });

  it("may be the whole address", async () => {
    const reply = await sendRequest(url, `${url}/v1/shop/filters?id=2`, { key });
    expect(idsOf(reply.text)).toEqual([2]);
    expect((await sendRequest(url, `${url}/health`, { key })).status).toBe(200);
    expect((await sendRequest(url, `${url}/docs`, { key })).status).toBe(200);
  });
});
