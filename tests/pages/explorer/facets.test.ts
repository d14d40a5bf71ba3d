/** Counts of values beside the rows, and conditions in groups, as a reader uses them: by click, by keys, and on a phone. */
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { expectAccessible, visit } from "./page.js";

const schema = await ownSchema(
  `CREATE TABLE @.sales AS SELECT i AS id, (ARRAY['north', 'south', 'west', NULL])[1 + i % 4] AS region, i % 50 AS amount,
      date '2025-11-01' + i % 200 AS day FROM generate_series(1, 2000) AS i`,
);
const COLUMNS = { id: "int", region: "text", amount: "int", day: "date" };
const url = await serveManifest(
  manifestOf([
    {
      ...{ name: "sales", schema, alias: "sales", columns: COLUMNS },
      api: {
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: 30, max_limit: 300 },
        sort: [{ column: "id", direction: "ASC" }],
      },
      routewright: { filters: ["amount", "region", "day"], filter: true },
    },
  ]),
  { RATE_LIMITS: "10000" },
);

/** `PICTURES=<folder>` keeps pictures. */
const FOLDER = process.env["PICTURES"];

const PAGE = "/explore?endpoint=/v1/shop/sales";

describe.skipIf(!needs("chromium"))("an endpoint's facets", () => {
  const browser = suiteBrowser();

  it("count values, and a click selects some, a range, or none", async () => {
    const { page, problems } = await visit(browser.context, url, PAGE);
    await page.getByText("Values and their rows").click();
    const region = page.getByRole("group", { name: "Values of region" });
    const texts = () => region.getByRole("button").allTextContents();
    await expect.poll(texts).toEqual(["north500", "south500", "west500", "null500"]);
    await region.getByRole("button", { name: "north" }).click();
    await page.getByText("1–30 of 500").waitFor();
    // Its own condition does not narrow it.
    await expect.poll(texts).toEqual(["north500", "south500", "west500", "null500"]);
    await region.getByRole("button", { name: "west" }).click();
    await page.getByText("1–30 of 1,000").waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("p.region[in]")).toBe("north,west");
    const amount = page.getByRole("group", { name: "Values of amount" });
    await amount.getByRole("button", { name: "20 to 25: 120 rows" }).click();
    await page.getByText("1–30 of 120").waitFor();
    await expectAccessible(page);
    // The keyboard selects too, and keeps its place.
    await region.getByRole("button", { name: "west" }).press("Enter");
    await page.getByText("1–30 of 60").waitFor();
    await expect
      .poll(() => page.evaluate<string>("document.activeElement.getAttribute('data-facet')"))
      .toBe("region west");
    await amount.getByRole("button", { name: "20 to 25" }).click();
    await region.getByRole("button", { name: "north" }).click();
    await page.getByText("1–30 of 2,000").waitFor();
    const day = page.getByRole("group", { name: "Values of day" });
    await day.getByRole("button", { name: "2026-02: 280 rows" }).click();
    await page.getByText("1–30 of 280").waitFor();
    expect(problems).toEqual([]);
  });

  it("stand beside conditions in groups, which keys build and a text shows", async () => {
    const { page, problems } = await visit(browser.context, url, PAGE, { width: 390 });
    await page.getByText("Filters and page").click();
    const conditions = page.getByRole("group", { name: "Conditions", exact: true });
    await conditions.getByRole("button", { name: "Add condition" }).press("Enter");
    const first = conditions.getByRole("group", { name: "Condition on amount" });
    await expect
      .poll(() => page.evaluate<string>("document.activeElement.getAttribute('aria-label')"))
      .toBe("Column");
    await first.getByLabel("Test").selectOption("at least");
    await first.getByLabel("Value").fill("4x");
    const field = page.getByLabel("filter", { exact: true });
    expect(
      await page.evaluate<string>("document.querySelector('.condition-value input').validationMessage"),
    ).toBe("Enter an integer.");
    await first.getByLabel("Value").fill("40");
    await expect.poll(() => field.inputValue()).toBe("amount ge 40");
    await conditions.getByRole("button", { name: "Add group" }).press("Enter");
    const inner = page.getByRole("group", { name: "Group of conditions, level 2" });
    await inner
      .getByLabel("How the conditions of this group hold together")
      .selectOption("none of these holds");
    await inner.getByLabel("Column").selectOption("region");
    await inner.getByLabel("Test").selectOption("is one of");
    await inner.getByLabel("Value").fill("north, west");
    await inner.getByRole("button", { name: "Add condition" }).press("Enter");
    await inner
      .getByRole("group", { name: "Condition on amount" })
      .getByLabel("Column")
      .selectOption("month of day");
    await inner.getByRole("group", { name: "Condition on day" }).getByLabel("Value").fill("2");
    const text = "amount ge 40 and not (region in ('north', 'west') or month(day) eq 2)";
    await expect.poll(() => field.inputValue()).toBe(text);
    await expectAccessible(page);
    const widths = await page.evaluate<readonly number[]>(
      "[document.documentElement.scrollWidth, innerWidth]",
    );
    expect(widths[0]).toBeLessThanOrEqual(widths[1]!);
    await page.getByRole("button", { name: "Run" }).press("Enter");
    await page.getByText(/^1–30 of/).waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("p.filter")).toBe(text);
    await inner.getByRole("button", { name: "Remove this group" }).press("Enter");
    await expect.poll(() => field.inputValue()).toBe("amount ge 40");
    await field.fill("region eq 'west' or amount");
    await field.press("Tab");
    await page.getByText("These conditions cannot be shown as groups.").waitFor();
    await field.fill("region eq 'west' or amount lt 5");
    await field.press("Tab");
    await expect.poll(() => conditions.getByLabel("Column").count()).toBe(2);
    expect(problems).toEqual([]);
  });

  it.each([
    ["light", 1280],
    ["dark", 1280],
    ["dark", 390],
  ] as const)("and conditions are accessible in %s at %d pixels", async (colorScheme, width) => {
    const filter =
      "amount ge 4 and (region ne null or month(day) in (1, 2) and not (region eq null or day lt 2025-11-03))";
    const address = `${PAGE}&${new URLSearchParams({ "p.filter": filter, "p.amount[gte]": "5", "p.amount[lt]": "10" }).toString()}`;
    const { page, problems } = await visit(browser.context, url, address, { colorScheme, width });
    if (width < 761) await page.getByText("Filters and page").click();
    await page.getByText("Values and their rows").click();
    await page.locator(".facet-bars").nth(1).waitFor();
    await page.locator(".condition").nth(4).waitFor();
    if (FOLDER !== undefined)
      await page.screenshot({ path: `${FOLDER}/facets-${colorScheme}-${String(width)}.png`, fullPage: true });
    await expectAccessible(page);
    const [wide] = await page.evaluate<readonly number[]>("[document.documentElement.scrollWidth]");
    expect([wide, problems]).toEqual([width, []]);
  });
});
