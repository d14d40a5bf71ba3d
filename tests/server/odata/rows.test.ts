import { describe, expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { KEYS } from "../../support/service.js";
import { ask, idsIn, read, serveOrders, url } from "./orders-by-odata.js";

await serveOrders();

const EXACT = { accept: "application/json;odata.metadata=minimal;IEEE754Compatible=true" };

describe("rows of a set", () => {
  it("are those of the endpoint, under the names of properties", async () => {
    const native = await sendRequest(url, "/v1/shop/orders?limit=3", { key: KEYS.tier3 });
    const rows = (JSON.parse(native.text) as Record<string, unknown>[]).map(
      ({ "odd-name": odd, ...row }) => ({
        ...row,
        odd_x002D_name: odd,
      }),
    );
    const reply = await ask("/shop__orders");
    expect((JSON.parse(reply.text) as { value: unknown }).value).toEqual(rows);
    expect(reply.headers["odata-version"]).toBe("4.01");
    expect(reply.headers["content-type"]).toMatch(/^application\/json;odata\.metadata=minimal/);
    expect(reply.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  it.each([
    ["$filter=status eq 'paid'", [1, 4]],
    ["$filter=status ne 'paid'", [2, 3, 5]],
    ["$filter=odd_x002D_name eq 'it''s'", [2]],
    ["$filter=day ge 2024-03-01 and day lt 2025-01-01", [2, 5]],
    ["$filter=at ge 2024-03-01T00:00:00Z and at lt 2024-03-01T06:00:00Z", [2]],
    ["$filter=amount eq 12345678901234567890.123456789012345678", [3]],
    ["$filter=big eq 9007199254740993", [1]],
    ["$filter=active eq true and (year(day) eq 2025 or contains(status,'aid'))", [1, 3]],
    ["$filter=status eq @s or id eq @i&@s='held'&@i=2", [2, 5]],
    ["$filter=status eq '@s'&@s='held'", []],
    ["filter=status eq 'paid'&TOP=1", [1]],
    ["status_is=paid&$filter=id gt 1", [4]],
    ["$orderby=day desc", [3, 2, 5]],
    ["$orderby=amount", [4, 5, 2]],
    ["$orderby=day desc,id asc", [3, 2, 5]],
    ["$orderby=id", [1, 2, 3]],
    ["$top=2&$skip=3", [4, 5]],
    ["$top=0", []],
  ])("of %s", async (query, ids) => {
    expect(idsIn(await read(`/shop__orders?${query}`))).toEqual(ids);
  });

  it("have the properties that $select names, where the endpoint gives a choice", async () => {
    const body = await read("/shop__orders?$select=day,odd_x002D_name&$top=1");
    expect(body["@odata.context"]).toBe(`${url}/odata/$metadata#shop__orders(day,odd_x002D_name)`);
    expect(body["value"]).toEqual([{ day: "2024-02-29", odd_x002D_name: "x" }]);
    const whole = await read("/shop__whole()?$select=id&$top=1");
    expect(whole["@odata.context"]).toBe(`${url}/odata/$metadata#Collection(Rows.shop__whole)`);
    expect(Object.keys((whole["value"] as object[])[0] ?? {})).toHaveLength(11);
  });

  it("are all counted where $top asks for fewer, also without pages", async () => {
    expect(await read("/shop__whole()?$count=true&$top=1")).toMatchObject({ "@odata.count": 5 });
    expect(await read("/shop__whole()?$count=true&$top=1")).not.toHaveProperty("@odata.nextLink");
  });

  it("have long numbers as strings where a client asks for IEEE754Compatible, and numbers else", async () => {
    const [exact] = (await read("/shop__orders?$filter=id eq 3&$count=true", EXACT))["value"] as object[];
    expect(exact).toMatchObject({
      id: 3,
      big: "-1",
      amount: "12345678901234567890.123456789012345678",
      ratio: 2.5,
    });
    const { text } = await ask("/shop__orders?$top=1", { key: KEYS.tier3, headers: EXACT });
    expect(text).toContain('"big":"9007199254740993"');
    expect((await read("/shop__orders?$count=true", EXACT))["@odata.count"]).toBe("5");
    expect((await ask("/shop__orders?$top=1")).text).toContain('"big":9007199254740993');
  });

  it("are counted", async () => {
    const body = await read("/shop__orders?$filter=status eq 'paid'&$top=1&$count=true");
    expect([body["@odata.count"], idsIn(body)]).toEqual([2, [1]]);
    expect((await ask("/shop__orders/$count?$filter=status eq 'paid'")).text).toBe("2");
    expect((await ask("/shop__whole/$count")).text).toBe("5");
    expect((await read("/shop__orders?$top=0&$count=true"))["@odata.count"]).toBe(5);
  });

  it("are found by their key", async () => {
    const row = await read("/shop__orders(4)?$select=id,day");
    expect(row).toEqual({
      "@odata.context": `${url}/odata/$metadata#shop__orders(id,day)/$entity`,
      id: 4,
      day: "1999-12-31",
    });
    expect(await read("/shop__orders(id=4)")).toMatchObject({ id: 4, status: "paid" });
    expect((await ask("/shop__orders(99)")).status).toBe(404);
    for (const key of ["1 or id eq 2", "x", "'1'", "id=1,id=2", "null", "day=2024-01-01", "1,2"])
      expect([key, (await ask(`/shop__orders(${key})`)).status]).toEqual([key, 400]);
  });

  it("have properties at paths of their own, and their values as texts", async () => {
    expect(await read("/shop__orders(4)/status")).toEqual({
      "@odata.context": `${url}/odata/$metadata#shop__orders(4)/status`,
      value: "paid",
    });
    expect(await read("/shop__orders(id=1)/tags")).toMatchObject({ value: ["a", "b"] });
    const amount = await ask("/shop__orders(3)/amount");
    expect(amount.text).toMatch(/"value":12345678901234567890\.123456789012345678\}$/);
    const exact = await ask("/shop__orders(1)/big", { key: KEYS.tier3, headers: EXACT });
    expect(exact.text).toContain('"value":"9007199254740993"');
    const bare = await ask("/shop__orders(1)/id?$format=application/json;odata.metadata=none");
    expect(bare.text).toBe('{"value":1}');
    const texts = ["(2)/odd_x002D_name", "(1)/big", "(2)/active", "(1)/day", "(3)/amount"].map(
      async (path) => (await ask(`/shop__orders${path}/$value`)).text,
    );
    expect(await Promise.all(texts)).toEqual([
      ...["it's", "9007199254740993", "false", "2024-02-29"],
      "12345678901234567890.123456789012345678",
    ]);
    const accept = { key: KEYS.tier3, headers: { accept: "text/plain" } };
    const text = await ask("/shop__orders(1)/status/$value", accept);
    expect([text.status, text.headers["content-type"], text.text]).toEqual([
      ...[200, "text/plain;charset=utf-8", "paid"],
    ]);
    const tag = text.headers.etag ?? "";
    const again = { key: KEYS.tier3, headers: { "if-none-match": tag } };
    expect((await ask("/shop__orders(1)/status/$value", again)).status).toBe(304);
    expect((await ask("/shop__orders(1)/status", again)).status).toBe(200);
  });

  it("have no content where a property is null", async () => {
    for (const path of ["/shop__orders(3)/status", "/shop__orders(3)/status/$value"]) {
      const { status, text, headers } = await ask(path);
      expect([path, status, text, headers["odata-version"]]).toEqual([path, 204, "", "4.01"]);
    }
  });

  it("come without metadata where a client asks for none", async () => {
    const { text, headers } = await ask(
      "/shop__orders?$format=application/json;odata.metadata=none&$top=1&$select=id",
    );
    expect(JSON.parse(text)).toEqual({ value: [{ id: 1 }] });
    expect(headers["content-type"]).toContain("odata.metadata=none");
  });
});

describe("pages", () => {
  async function walk(path: string, headers: Record<string, string> = {}) {
    const pages: unknown[] = [];
    let next: string | undefined = `${url}/odata/${encodeURI(path)}`;
    while (next !== undefined && pages.length < 20) {
      const reply = await sendRequest(url, next.slice(url.length), { key: KEYS.tier3, headers });
      const body = JSON.parse(reply.text) as Record<string, unknown>;
      if (reply.status !== 200) throw new Error(reply.text);
      pages.push(idsIn(body));
      next = body["@odata.nextLink"] as string | undefined;
    }
    return pages;
  }

  it.each([
    [
      "shop__orders",
      [
        [1, 2, 3],
        [4, 5],
      ],
    ],
    ["shop__orders?$top=4", [[1, 2, 3], [4]]],
    ["shop__orders?$top=3", [[1, 2, 3]]],
    ["shop__orders?$skip=1&$count=true", [[2, 3, 4], [5]]],
    ["shop__orders?$orderby=day desc&$filter=id gt 1", [[3, 2, 5], [4]]],
    [
      "shop__orders_daily()",
      [
        [1, 2, 3],
        [4, 5],
      ],
    ],
    ["shop__orders_daily?$top=4&$skip=1", [[2, 3, 4], [5]]],
    ["shop__whole()", [[1, 2, 3, 4, 5]]],
  ])("of %s follow each other by @odata.nextLink", async (path, pages) => {
    expect(await walk(path)).toEqual(pages);
  });

  it("are as small as a client prefers, and no larger than the endpoint's", async () => {
    expect(await walk("shop__orders", { prefer: "odata.maxpagesize=2" })).toEqual([[1, 2], [3, 4], [5]]);
    expect(await walk("shop__orders", { prefer: "respond-async, maxpagesize=1000" })).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    const { headers } = await ask("/shop__orders", { key: KEYS.tier3, headers: { prefer: "maxpagesize=2" } });
    expect(headers["preference-applied"]).toBe("odata.maxpagesize=2");
  });

  it("of another filter or of nobody are refused", async () => {
    const { "@odata.nextLink": next } = await read("/shop__orders?$filter=id gt 0");
    const token = new URL(next as string).searchParams.get("$skiptoken") ?? "";
    expect((await ask(`/shop__orders?$filter=id gt 1&$skiptoken=${token}`)).status).toBe(400);
    expect((await ask(`/shop__orders?$skiptoken=x`)).status).toBe(400);
    expect((await ask(`/shop__orders?$filter=id gt 0&$skip=1&$skiptoken=${token}`)).status).toBe(400);
  });
});

describe("entity tags", () => {
  it("are of one form of the rows", async () => {
    const tagOf = async (path: string, headers: Record<string, string> = {}) =>
      (await ask(path, { key: KEYS.tier3, headers })).headers.etag ?? "";
    const tag = await tagOf("/shop__orders");
    const again = await ask("/shop__orders", { key: KEYS.tier3, headers: { "if-none-match": tag } });
    expect([again.status, again.text]).toEqual([304, ""]);
    expect(await tagOf("/shop__orders", EXACT)).not.toBe(tag);
    expect(await tagOf("/shop__orders?$top=2")).not.toBe(tag);
  });
});
