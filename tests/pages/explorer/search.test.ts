import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Search, type Searchable } from "../../../runtime/pages/search.js";

const starter = JSON.parse(
  readFileSync(new URL("../../../generated/catalogue.json", import.meta.url), "utf8"),
) as {
  readonly endpoints: readonly (Omit<Searchable, "columns"> & {
    readonly columns: readonly { readonly name: string; readonly description?: string }[];
  })[];
};

function endpoint(path: string, more: Partial<Searchable> = {}): Searchable {
  return {
    path,
    title: "",
    category: "shop",
    description: "",
    synonyms: [],
    columns: [],
    parameters: null,
    ...more,
  };
}

function pathsFor(endpoints: readonly Searchable[], query: string, search = new Search(endpoints)) {
  const { found, complete } = search.find(query);
  return [found.map((i) => endpoints[i]?.path), complete] as const;
}

describe("the search over endpoints", () => {
  const endpoints = [
    endpoint("/v1/shop/orders/daily", { description: "What customers PAID." }),
    endpoint("/v1/shop/paid", { columns: [{ name: "dayOfSale", description: "Day in İstanbul." }] }),
    endpoint("/v1/shop/refunds", {
      columns: [{ name: "paid_at", description: "" }],
      parameters: [{ name: "since" }],
    }),
    endpoint("/v1/shop/crosschain", { synonyms: ["bridges"] }),
  ];
  const [orders, paid, refunds, crosschain] = endpoints.map(({ path }) => path);

  it.each([
    ["", [orders, paid, refunds, crosschain], 4],
    ["what is the", [orders, paid, refunds, crosschain], 4],
    ["paid", [paid, refunds, orders], 3],
    ["PAID customers", [orders, paid, refunds], 1],
    ["the customer who pays for an order?", [orders], 0],
    ["since", [refunds], 1],
    ["istanbul sales", [paid], 1],
    ["i̇stanbul", [paid], 1],
    ["refunding", [refunds], 1],
    ["per day", [orders, paid], 2],
    ["custom", [orders], 1],
    ["chain", [crosschain], 1],
    ["bridge", [crosschain], 1],
    ["refnds", [refunds], 1],
    ["weather", [], 0],
  ])("finds %j: %j, %d of them with every word", (query, found, complete) => {
    expect(pathsFor(endpoints, query)).toEqual([found, complete]);
  });

  it("finds the same whether it has indexed before or not", () => {
    const many = Array.from({ length: 110 }, (_, i) => endpoint(`/v1/shop/metric_${String(i)}`));
    const early = new Search(many);
    let chunks = 1;
    while (early.prepare()) chunks++;
    expect(chunks).toBe(5);
    expect(early.prepare()).toBe(false);
    for (const query of ["metric_109", "metric", "shop 12"])
      expect(pathsFor(many, query, early)).toEqual(pathsFor(many, query));
  });

  it.each([
    ["Which merchants earn the most with the card?", "/v1/cards/top_merchants/last_30d"],
    ["how much is spent in each country every month", "/v1/cards/spend_by_country/monthly"],
    ["number of bridges", "/v1/bridges/bridges_count/latest"],
    ["weekly bridge volume", "/v1/bridges/volume/weekly"],
    ["who operates the bridges", "/v1/bridges/registry/snapshot"],
    ["price of a token", "/v1/bridges/tokens"],
    ["are transfers relayed", "/v1/bridges/transactions"],
    ["transfers per hour", "/v1/bridges/transfers/hourly"],
    ["is the data fresh", "/v1/general/data_freshness/latest"],
    ["total volume since the beginning, of all time", "/v1/bridges/volume/all_time"],
    ["active users of the card", "/v1/altchain/altchain_card_active_users/last_7d"],
    ["net flow by bridge and token", "/v1/bridges/netflow_per_token_per_bridge/daily"],
  ])("finds for %j among the first three: %s", (question, path) => {
    const endpoints = starter.endpoints.map((each) => ({
      ...each,
      synonyms: [],
      columns: each.columns.map(({ name, description = "" }) => ({ name, description })),
    }));
    expect(pathsFor(endpoints, question)[0].slice(0, 3)).toContain(path);
  });
});
