/** Bars of facets: a click on one asks for what its rows have. */
import { expect, it } from "vitest";
import { barsOf } from "../../../runtime/pages/explorer/facet-bars.js";

const found = (texts: readonly string[]) => ({
  values: texts.map((value) => ({ value, rows: 1 })),
  more: false,
});

/** More than there are bars, so that each bar is a year. */
const MONTHS = Array.from({ length: 13 }, (_, i) => new Date(Date.UTC(2025, i)).toISOString().slice(0, 7));

it.each([
  ["", "9999-12-31"],
  ["T00:00:00Z", "9999-12-31T23:59:59.999Z"],
])("the last year that dates have ends with its last moment: %s", (time, to) => {
  const days = MONTHS.map((month) => `${month}-15${time}`);
  const bars = barsOf("time", found([...days, `9999-12-31${time}`]));
  expect(bars?.at(-1)).toMatchObject({ label: "9999", rows: 1, below: null, to });
  expect(bars?.[0]).toMatchObject({ label: "2025", rows: 12, to: time === "" ? "2025-12-31" : null });
});

it.each(["1850-06-01", "0044-03-15"])("a year long ago has a bar: %s", (day) => {
  const days = MONTHS.map((month) => `${month}-15`);
  const [first] = barsOf("time", found([day, ...days])) ?? [];
  const year = day.slice(0, 4);
  expect(first).toEqual({
    label: year,
    rows: 1,
    from: `${year}-01-01`,
    below: nextYear(year),
    to: `${year}-12-31`,
  });
});

function nextYear(year: string): string {
  return `${String(Number(year) + 1).padStart(4, "0")}-01-01`;
}
