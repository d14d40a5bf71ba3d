/** Which chart is drawn first of a table. */
import { describe, expect, it } from "vitest";
import { chooseChart, NO_CHOICE } from "../../../runtime/pages/explorer/chart-choice.js";
import { namedChart } from "../../../runtime/pages/explorer/chart-text.js";
import { SHAPES } from "./chart-shapes.js";

describe("the chart that is chosen", () => {
  it.each(SHAPES.map((shape) => [Object.keys(shape.columns).join(", "), shape] as const))(
    "of %s",
    (_, { resource, columns, descriptions = {}, rows, chart }) => {
      const described = Object.entries(columns).map(([name, type]) => ({
        ...{ name, type, description: descriptions[name] ?? "" },
      }));
      const plan = chooseChart({ resource, columns: described, rows }, NO_CHOICE);
      expect(plan === null ? null : namedChart(plan)).toBe(chart);
    },
  );
});
