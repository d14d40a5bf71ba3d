/** What the first page says of the endpoints, by the starter's catalogue. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { CatalogueEndpoint } from "../../../runtime/pages/catalogue-body.js";
import { answersOf } from "../../../runtime/pages/explorer/answers.js";
import { headlineEndpoints } from "../../../runtime/pages/live-endpoint.js";

const CATALOGUE = new URL("../../../generated/catalogue.json", import.meta.url);
const { endpoints } = JSON.parse(readFileSync(CATALOGUE, "utf8")) as {
  readonly endpoints: readonly CatalogueEndpoint[];
};

describe("a category", () => {
  const answers = (category: string) => answersOf(endpoints.filter((each) => each.category === category));

  it("says what is counted, the most frequent first, by what, and per which periods", () => {
    expect(answers("bridges")).toBe(
      "Volume, netflow, inflow, outflow … by source, target or token, per hour, day or week",
    );
    expect(answers("cards")).toBe(
      "Merchants, payers, spend, top merchants by category, merchant or country, per month",
    );
    expect(answers("general")).toBe("Data freshness by dataset");
  });

  it("does not repeat its own name", () => {
    expect(answers("altchain")).toBe("Card activity, card active users by action, per day or week");
  });

  it("names metrics by their labels, and groups of sums", () => {
    const metrics = {
      ...endpoints[0],
      ...{ resource: "sales", category: "shop", granularity: null, columns: [] },
      aggregate: {
        of: "metrics",
        measures: [{ name: "revenue_usd" }, { name: "orders", label: "Orders" }],
        groups: [{ name: "country" }, { name: "metric_time", grains: ["day"] }],
      },
    } as unknown as CatalogueEndpoint;
    expect(answersOf([metrics])).toBe("Revenue USD, Orders by country");
  });
});

it("the first page begins with numbers that change: by time, then those that say their change", () => {
  const open = { callable: true, deprecation_date: null, require_any_of: [], tier: "tier0" } as const;
  const none = { sort: [], pagination: null };
  const shown = headlineEndpoints(endpoints.map((each) => ({ ...none, ...each, ...open })));
  expect(shown.map(({ path }) => path)).toEqual([
    "/v1/bridges/volume/daily",
    "/v1/altchain/altchain_card_active_users/last_7d",
    "/v1/bridges/netflow/last_7d",
  ]);
});
