import { describe, expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { KEYS } from "../../support/service.js";
import { read, serveOrders, url } from "./orders-by-odata.js";

await serveOrders();

const apply = (text: string, more = "", headers: Record<string, string> = {}) =>
  read(`/shop__sums?$apply=${text}${more}`, headers);

describe("$apply", () => {
  it.each([
    ["groupby((active),aggregate(n))", "group_by=active&measures=n"],
    ["groupby((active,status),aggregate(total,n))", "group_by=active,status&measures=total,n&limit=3"],
    ["aggregate(total,n)", "measures=total,n"],
    [
      "filter(status eq 'paid')/groupby((active), aggregate(n))",
      "group_by=active&measures=n&filter=status eq 'paid'",
    ],
    [
      "filter(status eq 'paid' or active)/filter(id gt 1)/aggregate(n)",
      "measures=n&filter=(status eq 'paid' or active) and (id gt 1)",
    ],
    [
      "filter(status ne 'void')/groupby((status),aggregate(n))/filter(n gt 1)",
      "group_by=status&measures=n&filter=status ne 'void'&n[gt]=1",
    ],
    ["groupby((status),aggregate(n))/topcount(2,n)", "group_by=status&measures=n&top=2&sort_by=n"],
    [
      "groupby((status),aggregate(n))/filter(n lt 9)/bottomcount(1,n)",
      "group_by=status&measures=n&n[lt]=9&top=1&sort_by=n&sort_direction=ASC",
    ],
  ])("%s has the groups of the endpoint", async (text, native) => {
    const { text: expected, status } = await sendRequest(url, `/v1/shop/sums?${encodeURI(native)}`, {
      key: KEYS.tier3,
    });
    expect(status).toBe(200);
    expect((await apply(text))["value"]).toEqual(JSON.parse(expected));
  });

  it("has totals behind groups by concat", async () => {
    const { value } = await apply("filter(id gt 1)/concat(groupby((active),aggregate(n)),aggregate(n))");
    expect(value).toEqual([{ active: false, n: 2 }, { active: true, n: 2 }, { n: 4 }]);
  });

  it("has no groups where none are asked for", async () => {
    expect((await apply("groupby((active),aggregate(n))", "&$top=0"))["value"]).toEqual([]);
  });

  it("has pages, an order and exact numbers", async () => {
    const first = await apply("groupby((status),aggregate(n))", "&$orderby=n desc&$top=4", {
      prefer: "maxpagesize=2",
    });
    expect(first["@odata.context"]).toBe(`${url}/odata/$metadata#Collection(Rows.shop__sums)(status,n)`);
    const next = first["@odata.nextLink"] as string;
    const second = await sendRequest(url, next.slice(url.length), { key: KEYS.tier3 });
    const rows = (JSON.parse(second.text) as { value: { n: number }[] }).value;
    expect([...(first["value"] as { n: number }[]), ...rows].map(({ n }) => n)).toEqual([2, 1, 1, 1]);
    const exact = await apply("aggregate(total)", "", { accept: "application/json;IEEE754Compatible=true" });
    expect(exact["value"]).toEqual([{ total: "9007199254741003" }]);
  });
});
