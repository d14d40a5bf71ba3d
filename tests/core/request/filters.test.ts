import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { sendRequest, post, refusal, statusAndBody } from "../../support/http-client.js";
import { idsOf, serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const key = KEYS.tier3;

const get = (search: string): Promise<readonly [number, unknown]> =>
  sendRequest(url, `/v1/shop/filters?${search}`, { key }).then(statusAndBody);
const ids = async (search: string): Promise<readonly number[]> =>
  idsOf((await sendRequest(url, `/v1/shop/filters?${search}`, { key })).text);
const posted = async (body: unknown): Promise<readonly number[]> =>
  idsOf((await post(url, "/v1/shop/filters", body, { key })).text);

it.each([
  ["= is exact, letter case included", "status=Open", [1]],
  ["= compares integers", "id=04", [4]],
  ["= keeps every digit", "amount=18446744073709551615.00", [4]],
  ["= takes a comma for part of the value", "status=Open,Closed", []],
  ["= takes % for itself", "status=%25", []],
  ["= with case lower ignores the case on both sides", "status_lower=oPEn", [1, 3]],
  ["= with case upper ignores the case on both sides", "status_upper=open", [1, 3]],
  ["ILIKE finds a part, in any letter case", "label=XB", [3]],
  ["ILIKE takes _ for itself", "label=a_b", [1]],
  ["ILIKE takes a backslash for itself", "label=k%5Cs", [4]],
  ["ILIKE with % is used as given", "label=a%25", [1, 2, 3]],
  ["ILIKE with % at the front must fit the end", "label=%25b", [1, 2, 3]],
  ["ILIKE with % alone fits every text", "label=%25", [1, 2, 3, 4, 5]],
  ["ILIKE with % still takes _ and \\ for themselves", "label=%25_%25", [1]],
  ["ILIKE reads beyond ASCII", "label=ünï 😀".replace(/[^=\w]/gu, encodeURIComponent), [5]],
  [">= includes the day", "from=2024-01-04", [4, 5]],
  ["<= includes the day", "to=2024-01-02", [1, 2]],
  [">= and <= together are a range", "from=2024-01-02&to=2024-01-03", [2, 3]],
  [">= on a time begins with the day", "at_from=2024-01-03", [3, 4, 5]],
  ["<= on a time ends with the day", "at_to=2024-01-02", [1, 2]],
  ["IN takes a comma-separated value", "any=Open,Closed", [1, 2]],
  ["IN takes the name again", "any=Open&any=Closed", [1, 2]],
  ["IN takes both at once", "any=Open,Closed&any=Held", [1, 2, 4]],
  ["IN takes one value", "any=Held", [4]],
  ["IN with a case ignores it on both sides", "any_lower=OPEN,cLoSeD", [1, 2, 3]],
  ["filters are joined by AND", "status=Open&id=2", []],
])("an operator %s: ?%s", async (_, search, expected) => {
  expect(await ids(search)).toEqual(expected);
});

describe("a value", () => {
  it.each([
    ["is trimmed", "status=%20Open%09", [1]],
    ["is trimmed within a list", "any=%20Open%20,%20Closed", [1, 2]],
    ["that is empty counts as absent", "status=&id=2", [2]],
    ["that is blank counts as absent", "status=%20&id=2", [2]],
    ["that is empty beside another of the same name is left out", "id=&id=2", [2]],
    ["that is empty within a list is left out", "any=,Open,,", [1]],
    ["of a list that is empty counts as absent", "any=,&id=2", [2]],
  ])("%s: ?%s", async (_, search, expected) => {
    expect(await ids(search)).toEqual(expected);
  });

  it.each(["status=Open&status=Closed", "id=1&id=1", "from=2024-01-01&from=2024-01-02"])(
    "given twice is refused where one is asked for: ?%s",
    async (search) => {
      const name = search.slice(0, search.indexOf("="));
      expect(await get(search)).toEqual(refusal(400, `Parameter '${name}' expects a single value.`));
    },
  );

  it("list may have as many values as max_items, and no more", async () => {
    const tooMany = refusal(400, "Parameter 'any' allows at most 3 values.");
    expect(await ids("any=Open,Closed,Held")).toEqual([1, 2, 4]);
    expect(await get("any=a,b,c,d")).toEqual(tooMany);
    expect(await get("any=a,b&any=c,d")).toEqual(tooMany);
    expect(
      statusAndBody(await post(url, "/v1/shop/filters", { any: ["a", "b", "c", "d"] }, { key })),
    ).toEqual(tooMany);
  });

  it("list without max_items may have 1,000 values", async () => {
    const many = Array.from({ length: 999 }, (_, i) => `v${String(i)}`);
    expect(await posted({ any_lower: [...many, "open"] })).toEqual([1, 3]);
  });

  it.each([
    "2024-02-30",
    "2023-02-29",
    "2024-13-01",
    "2024-00-10",
    "2024-1-1",
    "20240101",
    "2024-01-01T00:00:00Z",
    "0000-01-01",
    "+2024-01-01",
    "today",
    "infinity",
    "2024-01-01'",
    "٢٠٢٤-٠١-٠١",
  ])("is no date: %s", async (date) => {
    const wrong = refusal(400, "Parameter 'from' must be a date in YYYY-MM-DD format.");
    expect(await get(`from=${encodeURIComponent(date)}`)).toEqual(wrong);
    expect(statusAndBody(await post(url, "/v1/shop/filters", { from: date }, { key }))).toEqual(wrong);
  });

  it.each(["0001-01-01", "2024-02-29", "2000-02-29"])("is a date: %s", async (date) => {
    expect((await get(`from=${date}`))[0]).toBe(200);
  });

  it("with the one character that no text can hold is refused", async () => {
    const detail = "Parameter 'status' must not contain the character U+0000.";
    expect(await get("status=a%00b")).toEqual(refusal(400, detail));
    expect((await post(url, "/v1/shop/filters", { any: ["\0"] }, { key })).status).toBe(400);
  });

  it("may hold bytes that are no UTF-8 and half characters", async () => {
    expect(await get("status=%ff%fe")).toEqual([200, []]);
    expect((await post(url, "/v1/shop/filters", '{"status": "\\ud83d"}', { key })).status).toBe(200);
  });
});

describe("a name that is not declared", () => {
  it.each([
    ["x=1", "x"],
    ["zeta=1&alpha=2&Beta=3", "Beta, alpha, zeta"],
    ["x=1&x=2", "x"],
    ["x=", "x"],
    ["limit=1", "limit"],
    ["offset=1&limit=1", "limit, offset"],
    ["STATUS=Open", "STATUS"],
    ["__proto__=1", "__proto__"],
    ["status[]=1", "status[]"],
    ["status=Open&constructor=1", "constructor"],
    ["=1&x=2", "'', x"],
  ])("is refused, several in order: ?%s", async (search, names) => {
    expect(await get(search)).toEqual(refusal(400, `Unsupported query parameters: ${names}`));
  });

  it("is refused in a body", async () => {
    const nameless = statusAndBody(await post(url, "/v1/shop/filters", { "": 1 }, { key }));
    expect(nameless).toEqual(refusal(400, "Unsupported body fields: ''"));
    const reply = await post(
      url,
      "/v1/shop/filters",
      '{"zeta": 1, "alpha": null, "__proto__": {"status": "Open"}}',
      { key },
    );
    expect(statusAndBody(reply)).toEqual(refusal(400, "Unsupported body fields: __proto__, alpha, zeta"));
  });

  it("repeats at most a thousand characters of undeclared names", async () => {
    const body = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`name_${String(i)}`, 1]));
    const reply = await post(url, "/v1/shop/filters", body, { key });
    expect(reply.status).toBe(400);
    expect(reply.text).toMatch(/^\{"detail":"Unsupported body fields: name_0, name_1, .{960,1000} …"\}$/);
  });

  it("is reported before a wrong value", async () => {
    expect(await get("from=never&x=1")).toEqual(refusal(400, "Unsupported query parameters: x"));
  });
});
