import { expect, it } from "vitest";
import { leavesOf } from "../../runtime/core/model/aggregate/metric.js";
import { catalogueFrom } from "./catalogues.js";

it("a median is the percentile in the middle", () => {
  const measures = {
    middle: { agg: "median", column: "amount" },
    high: { agg: "percentile", column: "amount", p: 0.9 },
    total: { agg: "sum", column: "amount" },
  };
  const [entry] = catalogueFrom([
    {
      name: "api_orders",
      tags: ["production", "shop", "api:orders"],
      columns: { status: "text", amount: "numeric(18,2)" },
      api: { allow_unfiltered: true },
      routewright: { aggregate: { group_by: ["status"], measures } },
    },
  ]).entries;
  const found = entry?.aggregate?.measures.map(({ name, metric }) => [name, leavesOf(metric)[0]?.percentile]);
  expect(found).toEqual([
    ["middle", 0.5],
    ["high", 0.9],
    ["total", undefined],
  ]);
});
