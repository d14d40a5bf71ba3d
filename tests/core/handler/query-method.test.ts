import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { refusal, sendRequest, statusAndBody } from "../../support/http-client.js";
import { idsOf, serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const key = KEYS.tier3;
const JSON_TYPE = { "content-type": "application/json" };

function ask(method: "POST" | "QUERY", path: string, body: string, headers: object = JSON_TYPE) {
  return sendRequest(url, path, { key, method, body, headers: { ...headers } });
}

describe("QUERY", () => {
  it.each([
    ["/v1/shop/filters", '{"id": 2}'],
    ["/v1/shop/filters", "{}"],
    ["/v1/shop/filters", '{"id": "x"}'],
    ["/v1/shop/filters", '{"none": 1}'],
    ["/v1/shop/filters", "{"],
    ["/v1/shop/filters", "[]"],
    ["/v1/shop/filters", ""],
    ["/v1/shop/filters?id=2", "{}"],
    ["/v1/shop/filters.csv", '{"id": [1, 2]}'],
    ["/v1/none", "{}"],
  ])("has the body and the errors of POST: %s %s", async (path, body) => {
    const [post, query] = [await ask("POST", path, body), await ask("QUERY", path, body)];
    expect(query.status).toBe(post.status);
    expect(query.text).toBe(post.text);
  });

  it("is kept by no cache in front", async () => {
    const reply = await ask("QUERY", "/v1/shop/filters", '{"id": 2}');
    expect(idsOf(reply.text)).toEqual([2]);
    expect(reply.headers["cache-control"]).toContain("no-store");
  });

  it("takes what says that it is JSON, and nothing else (RFC 10008)", async () => {
    const typed = (type: string) => ask("QUERY", "/v1/shop/filters", '{"id": 2}', { "content-type": type });
    for (const type of ["application/json", "application/json; charset=utf-8", "Application/JSON ;charset=x"])
      expect((await typed(type)).status).toBe(200);
    const others = [
      typed("text/plain"),
      typed("application/jsonp"),
      typed(""),
      ask("QUERY", "/v1/shop/filters", "{}", {}),
    ];
    for (const reply of await Promise.all(others)) {
      expect(statusAndBody(reply)).toEqual(
        refusal(415, "QUERY takes JSON: send Content-Type: application/json."),
      );
      expect(reply.headers["accept-query"]).toBe("application/json");
    }
  });

  it("is a method of the paths that take POST, and of no others", async () => {
    expect(statusAndBody(await ask("QUERY", "/v1/shop/get_only", "{}"))).toEqual(
      refusal(405, "Method Not Allowed"),
    );
    const none = await sendRequest(url, "/v1/shop/get_only", { key, method: "OPTIONS" });
    expect(none.headers["allow"]).toBe("GET, HEAD, OPTIONS");
    expect(none.headers["accept-query"]).toBeUndefined();
    const preflight = await sendRequest(url, "/v1/shop/filters", {
      method: "OPTIONS",
      headers: { origin: "https://app.example", "access-control-request-method": "QUERY" },
    });
    expect(preflight.headers["accept-query"]).toBe("application/json");
    expect(preflight.headers["access-control-allow-methods"]).toContain("QUERY");
  });

  it("asks for the values of a column as GET does", async () => {
    const path = "/v1/system/values";
    const byGet = await sendRequest(url, `${path}?path=/v1/shop/filters&column=status&id=2`, { key });
    const byQuery = await ask("QUERY", path, '{"path": "/v1/shop/filters", "column": "status", "id": 2}');
    expect(byQuery.status).toBe(200);
    expect(byQuery.text).toBe(byGet.text);
    expect((await ask("QUERY", `${path}?path=/v1/shop/filters`, "{}")).status).toBe(400);
    expect((await ask("QUERY", path, "{}", {})).status).toBe(415);
    expect((await ask("QUERY", path, '{"path": "/v1/none", "column": "x"}')).status).toBe(404);
    expect((await ask("POST", path, "{}")).headers["allow"]).toBe("GET, HEAD, QUERY, OPTIONS");
  });
});
