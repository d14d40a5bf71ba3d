import type { Raw } from "./feature-model.js";

const rollUp: Raw = {
  semantic_model: "orders",
  group_by: { status: "status", ordered_on: { column: "month", grain: "month" } },
  measures: { amount: "amount" },
};

/** A change of the models with metrics, and what is said of it there and back. */
export const ROLL_UP_CHANGE: readonly [string, (manifest: Raw) => void, string, string] = [
  "a model becomes a roll-up",
  ({ nodes }) => {
    nodes["model.shop.orders_by_month"] = {
      ...nodes["model.shop.orders"],
      name: "orders_by_month",
      alias: "orders_by_month",
      columns: {},
      depends_on: { nodes: ["model.shop.orders"] },
      config: { materialized: "table", meta: { routewright: { rollup_of: rollUp } } },
    };
  },
  "roll-up-added model.shop.orders_by_month",
  "roll-up-removed model.shop.orders_by_month",
];
