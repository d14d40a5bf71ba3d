import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { sendRequest, post, refusal, statusAndBody } from "../../support/http-client.js";
import { idsOf, serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const key = KEYS.tier3;

const get = (search: string): Promise<readonly [number, unknown]> =>
  sendRequest(url, `/v1/shop/pages?${search}`, { key }).then(statusAndBody);
const ids = async (search: string): Promise<readonly number[]> =>
  idsOf((await sendRequest(url, `/v1/shop/pages?${search}`, { key })).text);

describe("a page", () => {
  it.each([
    ["", [1, 2]],
    ["limit=1", [1]],
    ["limit=3", [1, 2, 3]],
    ["offset=4", [5]],
    ["offset=5", []],
    ["limit=2&offset=1", [2, 3]],
    ["limit=", [1, 2]],
    ["limit=%20&offset=", [1, 2]],
    ["limit=%2B3", [1, 2, 3]],
    ["limit=+3", [1, 2, 3]],
    ["limit=003", [1, 2, 3]],
    ["limit=&limit=1", [1]],
    ["offset=0", [1, 2]],
    ["offset=-0", [1, 2]],
    ["offset=9007199254740991", []],
    ["limit=1&from=2024-01-03", [3]],
  ])("is what was asked for: ?%s", async (search, expected) => {
    expect(await ids(search)).toEqual(expected);
  });

  it.each([
    ["", '[{"id":4,"day":"2024-01-04"', "}]"],
    [".ndjson", '{"id":4,"day":"2024-01-04"', "}\n"],
    [".csv", "id,day,at,status,label,amount\r\n4,", "\r\n"],
  ])("holds nothing of the row behind it, which is not of ASCII: pages%s", async (suffix, start, end) => {
    const { text } = await sendRequest(url, `/v1/shop/pages${suffix}?limit=1&offset=3`, { key });
    expect(text.startsWith(start)).toBe(true);
    expect(text.endsWith(`18446744073709551615.00${end}`)).toBe(true);
  });

  it.each([
    ["limit=0", "'limit' must be >= 1."],
    ["limit=-1", "'limit' must be >= 1."],
    ["limit=4", "'limit' must be <= 3."],
    ["limit=99999999999999999999999", "'limit' must be <= 3."],
    ["limit=-99999999999999999999999", "'limit' must be >= 1."],
    ["offset=-1", "'offset' must be >= 0."],
    ["offset=9007199254740992", "'offset' must be <= 9007199254740991."],
    ...[
      "1.5",
      "1.0",
      "true",
      "1e1",
      "0x1",
      "NaN",
      "Infinity",
      "1,2",
      "--1",
      "one",
      "1 2",
      "١",
      "1;DROP",
    ].flatMap((value) => [
      [`limit=${encodeURIComponent(value)}`, `'limit' must be an integer.`],
      [`offset=${encodeURIComponent(value)}`, `'offset' must be an integer.`],
    ]),
    ["limit=1&limit=2", `'limit' must be an integer.`],
  ])("is refused: ?%s", async (search, detail) => {
    expect(await get(search)).toEqual(refusal(400, detail));
  });

  it.each([
    [{ limit: 3 }, [1, 2, 3]],
    [{ limit: "3", offset: "1" }, [2, 3, 4]],
    [{ limit: null, offset: null }, [1, 2]],
    [{ limit: "" }, [1, 2]],
  ])("can be asked for in a body: %j", async (body, expected) => {
    expect(idsOf((await post(url, "/v1/shop/pages", body, { key })).text)).toEqual(expected);
  });

  it.each([
    ['{"limit": true}', "'limit' must be an integer."],
    ['{"limit": 1.5}', "'limit' must be an integer."],
    ['{"limit": [1]}', "'limit' must be an integer."],
    ['{"limit": {}}', "'limit' must be an integer."],
    ['{"limit": 1e400}', "'limit' must be an integer."],
    ['{"offset": false}', "'offset' must be an integer."],
    ['{"limit": 0}', "'limit' must be >= 1."],
    ['{"limit": -1}', "'limit' must be >= 1."],
    ['{"offset": -1}', "'offset' must be >= 0."],
    ['{"limit": 12345678901234567890}', "'limit' must be <= 3."],
    ['{"offset": 9007199254740993}', "'offset' must be <= 9007199254740991."],
  ])("is refused in a body: %s", async (body, detail) => {
    expect(statusAndBody(await post(url, "/v1/shop/pages", body, { key }))).toEqual(refusal(400, detail));
  });
});

describe("an envelope", () => {
  const envelope = (search: string): Promise<readonly [number, unknown]> =>
    sendRequest(url, `/v1/shop/envelope?${search}`, { key }).then(statusAndBody);
  const pagination = async (search: string): Promise<unknown> => {
    const [, body] = await envelope(search);
    return (body as { pagination: unknown }).pagination;
  };

  it("holds the rows and their place, in this order", async () => {
    const { text } = await sendRequest(url, "/v1/shop/envelope?limit=1&id=1", { key });
    expect(text).toBe(
      '{"items":[{"id":1,"day":"2024-01-01","at":"2024-01-01T08:00:00Z","status":"Open","label":"a_b","amount":10.00}],"pagination":{"limit":1,"offset":0,"returned":1,"has_more":false}}',
    );
  });

  it.each([
    ["", { limit: 2, offset: 0, returned: 2, has_more: true }],
    ["limit=4", { limit: 4, offset: 0, returned: 4, has_more: true }],
    ["limit=5", { limit: 5, offset: 0, returned: 5, has_more: false }],
    ["limit=6", { limit: 6, offset: 0, returned: 5, has_more: false }],
    ["limit=2&offset=3", { limit: 2, offset: 3, returned: 2, has_more: false }],
    ["limit=2&offset=2", { limit: 2, offset: 2, returned: 2, has_more: true }],
    ["offset=99", { limit: 2, offset: 99, returned: 0, has_more: false }],
    ["status=none", { limit: 2, offset: 0, returned: 0, has_more: false }],
    ["offset=-0", { limit: 2, offset: 0, returned: 2, has_more: true }],
  ])("tells whether more rows follow: ?%s", async (search, expected) => {
    expect(await pagination(search)).toEqual(expected);
  });

  it("is empty where no row fits", async () => {
    expect((await envelope("status=none"))[1]).toMatchObject({ items: [] });
  });

  it("answers a POST too", async () => {
    const reply = await post(url, "/v1/shop/envelope", { limit: 1, offset: 4 }, { key });
    expect(statusAndBody(reply)[1]).toMatchObject({
      items: [{ id: 5 }],
      pagination: { limit: 1, offset: 4, returned: 1, has_more: false },
    });
  });

  it("leaves no row out and gives none twice when walked through", async () => {
    const seen: number[] = [];
    for (let offset = 0; ; offset += 2) {
      const [, body] = await envelope(`limit=2&offset=${String(offset)}`);
      const { items, pagination } = body as { items: { id: number }[]; pagination: { has_more: boolean } };
      seen.push(...items.map(({ id }) => id));
      if (!pagination.has_more) break;
    }
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });
});
