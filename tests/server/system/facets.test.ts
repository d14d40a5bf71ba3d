import { describe, expect, it } from "vitest";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { serveOrdersWithValues } from "./orders-with-values.js";

const { url } = await serveOrdersWithValues();

const ask = (query: string, key?: string): Promise<Reply> =>
  sendRequest(url, `/v1/system/values?${query}`, key === undefined ? {} : { key: `sk_live_${key}` });

const of = (path: string, column: string, more = ""): string =>
  `path=/v1/shop/${path}&column=${column}${more}`;

/** The values of several columns, each as a request for it alone has them. */
async function facets(query: string, key?: string): Promise<unknown> {
  const { status, text } = await ask(query, key);
  if (status !== 200) return `${String(status)} ${text}`;
  return (JSON.parse(text) as { facets: unknown }).facets;
}

async function each(path: string, filters: Readonly<Record<string, string>>, key?: string): Promise<unknown> {
  const pairs = Object.entries(filters).map(async ([column, more]) => {
    const { status, text } = await ask(of(path, column, more), key);
    expect(status, text).toBe(200);
    return [column, JSON.parse(text)] as const;
  });
  return Object.fromEntries(await Promise.all(pairs));
}

describe("the values of several columns", () => {
  it("are counted without the conditions on each itself, and with all others", async () => {
    const conditions = "&country[in]=DE,AT&org[eq]=acme&id[lte]=40";
    expect(await facets(`path=/v1/shop/orders&columns=country,org,paid${conditions}`)).toEqual(
      await each("orders", {
        country: "&org[eq]=acme&id[lte]=40",
        org: "&country[in]=DE,AT&id[lte]=40",
        paid: conditions,
      }),
    );
  });

  it("keep a group with OR, and leave the other conditions of an expression out that stand under AND", async () => {
    const expression = (text: string) => `&filter=${encodeURIComponent(text)}`;
    const either = "(country eq 'AT' or id lt 9)";
    expect(
      await facets(
        `path=/v1/shop/expression&columns=country,org${expression(`country ne 'DE' and org eq 'acme' and ${either}`)}`,
      ),
    ).toEqual(
      await each("expression", {
        country: expression(`org eq 'acme' and ${either}`),
        org: expression(`country ne 'DE' and ${either}`),
      }),
    );
  });

  it("are of the caller's own rows", async () => {
    for (const key of ["acme", "globex", "all"])
      expect(await facets("path=/v1/shop/own&columns=country,org&country[eq]=DE", key)).toEqual(
        await each("own", { country: "", org: "&country[eq]=DE" }, key),
      );
  });

  it("keep their own condition where the endpoint requires one", async () => {
    expect(await facets("path=/v1/shop/filtered&columns=country,org&country[eq]=DE")).toEqual(
      await each("filtered", { country: "&country[eq]=DE", org: "&country[eq]=DE" }),
    );
    expect(await facets("path=/v1/shop/filtered&columns=country")).toMatch(/^400 /);
  });

  it("are of groups where the endpoint serves no rows", async () => {
    expect(await facets("path=/v1/shop/grouped&columns=country,day__month&country[eq]=DE")).toEqual(
      await each("grouped", { country: "", day__month: "&country[eq]=DE" }),
    );
  });

  it("are one request of the window and one line of the log, of at most ten columns, none of them private", async () => {
    const before = await ask("path=/v1/shop/orders&columns=country", "counted");
    const after = await ask("path=/v1/shop/orders&columns=country,org,paid,day", "counted");
    const left = ({ headers }: Reply): number => Number(headers["x-ratelimit-remaining"]);
    expect(left(before) - left(after)).toBe(1);
    const names = Array.from({ length: 11 }, (_, i) => `c${String(i)}`).join(",");
    expect(await facets(`path=/v1/shop/orders&columns=${names}`)).toBe(
      `400 {"detail":"Parameter 'columns' allows at most 10 values."}`,
    );
    expect(await facets("path=/v1/shop/orders&columns=country,email")).toMatch(
      /^400 .*Parameter 'columns' must be among: /,
    );
    expect(await facets("path=/v1/shop/orders&columns=")).toMatch(/^400 /);
    expect(await facets("path=/v1/shop/orders&columns=country&column=org")).toMatch(/^400 /);
    expect(await facets("path=/v1/shop/orders&columns=country&prefix=D")).toMatch(/^400 /);
    expect(await facets("path=/v1/shop/locked&columns=country")).toMatch(/^403 /);
    expect(await facets("path=/v1/shop/orders&columns=country,country")).toEqual(
      await each("orders", { country: "" }),
    );
  });

  it("come by QUERY with a list", async () => {
    const body = { path: "/v1/shop/orders", columns: ["country", "org"], country: { in: ["DE", "AT"] } };
    const headers = { "content-type": "application/json" };
    const { status, text } = await sendRequest(url, "/v1/system/values", { method: "QUERY", body, headers });
    expect([status, JSON.parse(text).facets]).toEqual([
      200,
      await each("orders", { country: "", org: "&country[in]=DE,AT" }),
    ]);
  });
});
