/** Which chart is drawn first of a table. */
import { describe, expect, it } from "vitest";
import { chooseChart, NO_CHOICE } from "../../../runtime/pages/explorer/chart-choice.js";
import { namedChart } from "../../../runtime/pages/explorer/chart-text.js";
import { SHAPES } from "./chart-shapes.js";

describe("the chart that is chosen", () => {
  it.each(SHAPES)("of $columns", ({ resource, columns, rows, chart }) => {
    const described = columns.split("; ").map((column) => {
      const [, name = "", type = ""] = /^(\w+) (.*)$/.exec(column) ?? [];
      return { name, type: type === "null" ? null : type, description: "" };
    });
    const plan = chooseChart({ resource, columns: described, rows }, NO_CHOICE);
    expect(plan === null ? null : namedChart(plan)).toBe(chart);
  });
});
