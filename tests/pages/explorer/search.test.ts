import { describe, expect, it } from "vitest";
import { Search, type Searchable } from "../../../runtime/pages/search.js";

function endpoint(path: string, more: Partial<Searchable> = {}): Searchable {
  return { path, category: "shop", description: "", columns: [], parameters: null, ...more };
}

const paths = (search: Search<Searchable>, query: string) => search.find(query).map(({ path }) => path);

describe("the search over endpoints", () => {
  const search = new Search([
    endpoint("/v1/shop/orders", { description: "What customers PAID." }),
    endpoint("/v1/shop/paid", { columns: [{ name: "day", description: "Day of İstanbul." }] }),
    endpoint("/v1/shop/refunds", {
      columns: [{ name: "paid_at", description: "" }],
      parameters: [{ name: "since" }],
    }),
  ]);

  it.each([
    ["", ["/v1/shop/orders", "/v1/shop/paid", "/v1/shop/refunds"]],
    ["paid", ["/v1/shop/paid", "/v1/shop/refunds", "/v1/shop/orders"]],
    ["PAID customers", ["/v1/shop/orders"]],
    ["since", ["/v1/shop/refunds"]],
    // The text is longer in lower case, and what stands behind it is found in its place.
    ["istanbul", []],
    ["i̇stanbul", ["/v1/shop/paid"]],
    ["since paid_at", ["/v1/shop/refunds"]],
    ["orders day", []],
    ["shop", ["/v1/shop/orders", "/v1/shop/paid", "/v1/shop/refunds"]],
    ["paid paid  paid", ["/v1/shop/paid", "/v1/shop/refunds", "/v1/shop/orders"]],
  ])("finds %j: %j", (query, found) => {
    expect(paths(search, query)).toEqual(found);
  });

  it("finds the same whether its texts were made before or not", () => {
    const many = Array.from({ length: 1234 }, (_, i) => endpoint(`/v1/shop/metric_${String(i)}`));
    const [late, early] = [new Search(many), new Search(many)];
    let chunks = 1;
    while (early.prepare()) chunks++;
    expect(chunks).toBe(3);
    expect(early.prepare()).toBe(false);
    for (const query of ["metric_1233", "metric_499", "metric_12", "shop"])
      expect([query, paths(late, query)]).toEqual([query, paths(early, query)]);
    expect(paths(late, "metric_12")).toHaveLength(1 + 10 + 34);
  });
});
