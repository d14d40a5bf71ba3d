import { get, type IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { KEYS, serveManifest } from "../../support/service.js";
import { ask, idsIn, MANIFEST, serveOrders, url } from "./orders-by-odata.js";
import { sendRequest } from "../../support/http-client.js";

await serveOrders();

const codeOf = (text: string): unknown => (JSON.parse(text) as { error: { code: unknown } }).error.code;

describe("what is not offered", () => {
  it.each([
    ["shop__orders?$filter=status", 400],
    ["shop__orders?$filter=nope eq 1", 400],
    ["shop__orders?$filter=tags eq 'a'", 400],
    ["shop__orders?$filter=odd-name eq 'x'", 400],
    ["shop__orders?$filter=length(status) eq 4", 501],
    ["shop__orders?$filter=contains(tolower(status),'x')", 501],
    ["shop__orders?$filter=cast(id,Edm.String) eq '1'", 501],
    ["shop__orders?$filter=id add 1 eq 2", 501],
    ["shop__orders?$filter=tags/any(t:t eq 'a')", 501],
    ["shop__orders?$filter=id eq 1&$filter=id eq 2", 400],
    ["shop__orders?$filter=id eq 1&filter=id eq 2", 400],
    ["shop__orders?$top=1&$TOP=2", 400],
    ["shop__orders?$select=nope", 400],
    ["shop__orders?$orderby=nope", 400],
    ["shop__orders?$orderby=id sideways", 400],
    ["shop__orders?$orderby=status", 501],
    ["shop__orders?$orderby=id desc,day", 501],
    ["shop__orders?$top=-1", 400],
    ["shop__orders?$top=1.5", 400],
    ["shop__orders?$top=99999999999999999999", 400],
    ["shop__orders?$count=maybe", 400],
    ["shop__orders?$expand=x", 501],
    ["shop__orders?$search=x", 501],
    ["shop__orders?$apply=aggregate(n)", 501],
    ["shop__sums?$apply=aggregate($count as n)", 501],
    ["shop__sums?$apply=aggregate(big with sum as n)", 501],
    ["shop__sums?$apply=groupby((status))", 501],
    ["shop__sums?$apply=topcount(2,n)", 501],
    ["shop__sums?$apply=groupby((rollup(status,active)),aggregate(n))", 501],
    ["shop__sums?$apply=groupby((status,rollup($all,active)),aggregate(n))", 501],
    ["shop__sums?$apply=groupby((rollup($all)),aggregate(n))", 501],
    ["shop__sums?$apply=groupby((rollup($all,nope)),aggregate(n))", 400],
    ["shop__sums?$apply=groupby((rollup($all,status)),aggregate(n))/topcount(2,n)", 501],
    ["shop__sums?$apply=groupby((rollup($all,status)),aggregate(n))/filter(status eq 'paid')", 501],
    ["shop__sums?$apply=groupby((status),aggregate(n))/filter(active eq true)", 501],
    ["shop__sums?$apply=groupby((status),aggregate(n))/filter(n gt 1 or id eq 1)", 501],
    ["shop__sums?$apply=groupby((status),aggregate(n))/filter(total gt 1)", 501],
    ["shop__sums?$apply=aggregate(n)&totals=true", 400],
    ["shop__sums?$apply=aggregate(n)/filter(n gt 1)", 501],
    ["shop__sums?$apply=aggregate(nope)", 400],
    ["shop__sums?$apply=groupby((nope),aggregate(n))", 400],
    ["shop__sums?$apply=filter(nope eq 1)/aggregate(n)", 400],
    ["shop__sums?$apply=filter(status eq 'a') or (status eq 'b')/aggregate(n)", 501],
    ["shop__sums?$apply=aggregate(n)&$filter=status eq 'paid'", 400],
    ["shop__sums?$apply=concat(aggregate(n),aggregate(n),aggregate(n))", 501],
    ["shop__sums?$apply=concat(aggregate(n),groupby((status,active),aggregate(n)))", 501],
    ["shop__sums?$apply=concat(groupby((active),aggregate(n)),aggregate(n))&$top=2", 501],
    ["shop__sums?$apply=concat(groupby((active),aggregate(n)),aggregate(n))&$skip=1", 501],
    ["shop__sums?$apply=concat(groupby((active),aggregate(n)),aggregate(n))&$orderby=n", 501],
    ["shop__sums?$apply=aggregate(n)&group_by=active", 400],
    ["shop__sums?$apply=aggregate(n)&limit=1", 400],
    ["shop__sums?$apply=groupby((active),aggregate(n))&$orderby=n desc,active", 501],
    ["shop__sums?$apply=groupby((active),aggregate(n))&$orderby=n sideways", 400],
    ["shop__sums?$apply=", 501],
    ["shop__sums(1)?$apply=aggregate(n)", 400],
    ["shop__orders?$nonsense=1", 400],
    ["shop__orders?nope=1", 400],
    ["shop__orders?limit=1", 400],
    ["shop__orders?$format=atom", 406],
    ["shop__orders(1)/$count", 404],
    ["shop__orders/$value", 404],
    ["shop__orders/1", 404],
    ["shop__orders/id", 404],
    ["shop__orders(1)/nope", 404],
    ["shop__orders(1)/odd-name", 404],
    ["shop__orders(1)/$value", 404],
    ["shop__orders(1)/id/nope", 404],
    ["shop__orders(1)/id/$value/$value", 404],
    ["shop__orders(1)/tags/$value", 501],
    ["shop__orders(99)/id", 404],
    ["shop__orders(1 or id eq 2)/id", 400],
    ["shop__orders(1)/id?$select=id", 400],
    ["shop__orders(1)/id/$value?$format=json", 400],
    ["shop__orders_daily(1)/id", 404],
    ["shop__orders(1)?$top=1", 400],
    ["shop__orders_daily?$filter=id eq 1", 501],
    ["shop__orders_daily(1)", 404],
    ["shop__whole()?$skip=1", 501],
    ["shop__needy", 400],
    ["%00", 404],
    ["%", 404],
  ])("is refused in OData's form: %s", async (path, status) => {
    const reply = await sendRequest(url, `/odata/${encodeURI(path).replace(/%25(00)?$/, "%$1")}`, {
      key: KEYS.tier3,
    });
    expect([path, reply.status, reply.text]).toEqual([path, status, reply.text]);
    const { error } = JSON.parse(reply.text) as { error: { code: string; message: string } };
    expect(error.message).not.toMatch(/'(?:filter|cursor|limit|offset|sort_by|sort_direction)'/);
    expect(reply.headers["odata-version"]).toBe("4.01");
  });

  it("is a method that changes rows", async () => {
    const post = await ask("/shop__orders", { key: KEYS.tier3, method: "POST", body: {} });
    expect([post.status, post.headers.allow, codeOf(post.text)]).toEqual([
      405,
      "GET, HEAD, OPTIONS",
      "methodNotAllowed",
    ]);
  });
});

describe("versions", () => {
  it.each([
    [{ "odata-maxversion": "4.0" }, 200, "4.0"],
    [{ "odata-maxversion": "4.01" }, 200, "4.01"],
    [{ "odata-maxversion": "4.0;NetFx" }, 200, "4.0"],
    [{ "odata-maxversion": "5.0", maxdataserviceversion: "3.0;NetFx" }, 200, "4.01"],
    [{ "odata-maxversion": "3.0" }, 400, "4.01"],
    [{ "odata-version": "5.0" }, 400, "4.01"],
    [{ "odata-maxversion": "x" }, 400, "4.01"],
  ])("of %o", async (headers, status, version) => {
    const reply = await ask("/shop__orders", { key: KEYS.tier3, headers });
    expect([reply.status, reply.headers["odata-version"]]).toEqual([status, version]);
  });

  it("a client that reads no JSON gets 406", async () => {
    for (const accept of [
      "application/atom+xml",
      "application/json;q=0",
      'application/json;profile="a,b";q=0',
    ])
      expect((await ask("/shop__orders", { key: KEYS.tier3, headers: { accept } })).status).toBe(406);
    const accept =
      "application/json;odata.metadata=minimal;q=1.0,application/json;odata=minimalmetadata;q=0.9,application/atomsvc+xml;q=0.8,text/plain;q=0.7";
    expect((await ask("/shop__orders", { key: KEYS.tier3, headers: { accept } })).status).toBe(200);
  });
});

describe("access", () => {
  const basic = (password: string) => ({
    headers: { authorization: `Basic ${Buffer.from(`anyone:${password}`).toString("base64")}` },
  });

  it("a missing or unknown key is asked for with Basic, below /odata alone", async () => {
    for (const question of [{}, basic("sk_live_nobody"), basic("")]) {
      const reply = await ask("/shop__paid", question);
      expect(reply.status).toBe(401);
      expect(reply.headers["www-authenticate"]).toMatch(/^Basic realm=/);
      expect(reply.headers["access-control-allow-credentials"]).toBeUndefined();
    }
    const { text } = await ask("/shop__paid", {});
    expect(codeOf(text)).toBe("missingKey");
    expect(text).toMatch(/password of Basic authentication.*X-API-Key/);
    const native = await sendRequest(url, "/v1/shop/paid");
    expect([native.status, native.headers["www-authenticate"]]).toEqual([403, undefined]);
    const other = await sendRequest(url, "/v1/shop/paid", basic(KEYS.tier3));
    expect(other.status).toBe(403);
  });

  it("the password of Basic is the key, with its tier, list and organization", async () => {
    expect((await ask("/shop__paid", basic(KEYS.tier2))).status).toBe(200);
    expect((await ask("/shop__paid", basic(KEYS.tier1))).status).toBe(403);
    expect((await ask("/shop__paid", basic("sk_live_listed"))).status).toBe(403);
    expect((await ask("/shop__orders", basic("sk_live_listed"))).status).toBe(200);
    const mine = await ask("/shop__mine?$filter=id gt 0 or id lt 0", basic(KEYS.tier3));
    expect(idsIn(JSON.parse(mine.text) as Record<string, unknown>)).toEqual([1, 4]);
    expect((await ask("/shop__mine/$count", basic(KEYS.tier3))).text).toBe("2");
    for (const path of ["", "/status", "/status/$value"]) {
      expect((await ask(`/shop__mine(1)${path}`, basic(KEYS.tier3))).status).toBe(200);
      expect((await ask(`/shop__mine(2)${path}`, basic(KEYS.tier3))).status).toBe(404);
      expect((await ask(`/shop__paid(1)${path}`, basic(KEYS.tier1))).status).toBe(403);
      expect((await ask(`/shop__paid(1)${path}`, basic("sk_live_listed"))).status).toBe(403);
    }
  });

  it("a request counts against the window of its key", async () => {
    // No other test asks with it: its window begins here.
    const left = async () =>
      Number((await ask("/shop__orders?$top=1", basic(KEYS.tier0))).headers["x-ratelimit-remaining"]);
    const before = await left();
    expect(await left()).toBe(before - 1);
  });
});

describe("headers", () => {
  it.each(["/", "/$metadata", "/shop__orders?$top=1", "/shop__orders?$top=x", "/nope"])(
    "of %s that pages of other origins may read are one line",
    async (path) => {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get(`${url}/odata${path}`, resolve).on("error", reject);
      });
      response.resume();
      const { rawHeaders } = response;
      const lines = rawHeaders.filter(
        (_, i) => rawHeaders[i - 1]?.toLowerCase() === "access-control-expose-headers",
      );
      expect(lines).toEqual([expect.stringMatching(/\bETag\b.*\bOData-Version\b/)]);
    },
  );
});

describe("with CATALOGUE=allowed", () => {
  it("documents and errors name nothing that the caller may not call", async () => {
    const hidden = await serveManifest(MANIFEST, { CATALOGUE: "allowed" });
    for (const path of ["/", "/$metadata", "/$metadata?$format=json"]) {
      expect((await sendRequest(hidden, `/odata${path}`)).status).toBe(401);
      const low = await sendRequest(hidden, `/odata${path}`, { key: KEYS.tier1 });
      expect([low.status, low.text.includes("shop__orders"), low.text.includes("paid")]).toEqual([
        200,
        true,
        false,
      ]);
      const high = await sendRequest(hidden, `/odata${path}`, { key: KEYS.tier3 });
      expect(high.text).toContain("shop__paid");
    }
    for (const path of ["shop__paid", "shop__paid(1)", "shop__paid/$count", "shop__nope"]) {
      const { status, text } = await sendRequest(hidden, `/odata/${path}`, { key: KEYS.tier1 });
      expect([path, status, codeOf(text)]).toEqual([path, 404, "notFound"]);
    }
  });
});

describe("hostile texts", () => {
  const long = "x".repeat(9000);
  it.each([
    ["$filter", "(".repeat(4000)],
    ["$filter", `${"not ".repeat(2000)}active`],
    ["$filter", `id in (${"1,".repeat(3000)}1)`],
    ["$filter", `status eq '${"'".repeat(4000)}`],
    ["$filter", "id eq @a&@a=@a"],
    ["$filter", `@a@a@a@a${"@a".repeat(200)}&@a=${"@a".repeat(100)}`],
    ["$orderby", `${"id,".repeat(3000)}id`],
    ["$orderby", long],
    ["$select", `${"nope,".repeat(2000)}nope`],
    ["$select", long],
    ["$apply", "(".repeat(9000)],
    ["$apply", `${"filter(a)/".repeat(900)}aggregate(n)`],
    ["$skiptoken", long],
    ["$skiptoken", "../../etc/passwd"],
  ])("of %s are refused: %.20s", async (option, text) => {
    const reply = await ask(`/shop__orders?${option}=${text}`);
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.status).toBeLessThan(502);
    expect(reply.text.length).toBeLessThan(3000);
  });
});
