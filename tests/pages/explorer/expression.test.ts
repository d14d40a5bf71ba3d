/** Conditions with OR in the form, in charts, in the values that fields suggest, and in the address. */
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { expectAccessible, visit } from "./page.js";

const schema = await ownSchema(
  `CREATE TABLE @.sales AS SELECT i AS id, (ARRAY['north', 'south', 'west'])[1 + i % 3] AS region, i % 50 AS amount
    FROM generate_series(1, 3000) AS i`,
);
const sales = (name: string, more: object) => ({
  ...{ name, schema, alias: "sales", columns: { id: "int", region: "text", amount: "int" } },
  api: {
    allow_unfiltered: true,
    pagination: { enabled: true, default_limit: 30, max_limit: 300 },
    sort: [{ column: "id", direction: "ASC" }],
  },
  routewright: { filters: ["amount", "region"], ...more },
});
const url = await serveManifest(manifestOf([sales("sales", { filter: true }), sales("plain", {})]), {
  RATE_LIMITS: "10000",
});

const EXPRESSION = "region eq 'north' and (amount lt 5 or amount ge 48) or region eq 'west' and amount lt 5";

describe.skipIf(!needs("chromium"))("an endpoint with a filter expression", () => {
  const browser = suiteBrowser();

  it("has a field for it, whose conditions select rows, chart and suggestions, and stand in the address", async () => {
    const { page, problems } = await visit(browser.context, url, "/explore?endpoint=/v1/shop/sales");
    const field = page.getByLabel("filter", { exact: true });
    await expect.poll(() => field.getAttribute("placeholder")).toBe("amount gt 10 or region ne null");
    await field.fill(EXPRESSION);
    await page.getByRole("button", { name: "Run" }).click();
    // Each region has 20 rows of each of fifty amounts.
    await page.getByText("1–30 of 240").waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("p.filter")).toBe(EXPRESSION);
    await page.getByRole("button", { name: `Remove: ${EXPRESSION}` }).waitFor();
    await expectAccessible(page);
    await page.getByLabel("region", { exact: true }).focus();
    await expect
      .poll(() => page.locator("#filter-region-eq-values option").allTextContents())
      .toEqual(["north (140 rows)", "west (100 rows)"]);
    await page.getByRole("button", { name: "Chart", exact: true }).click();
    const names = () => page.locator(".plot .image text").allTextContents();
    await expect.poll(names).toEqual(expect.arrayContaining(["north", "west"]));
    expect(await names()).not.toContain("south");
    await page.getByRole("button", { name: `Remove: ${EXPRESSION}` }).click();
    await page.getByText("Active filters").waitFor({ state: "detached" });
    await expect.poll(() => new URL(page.url()).searchParams.has("p.filter")).toBe(false);
    expect(problems).toEqual([]);
  });

  it("says at the field what is wrong with it", async () => {
    const { page } = await visit(
      browser.context,
      url,
      "/explore?endpoint=/v1/shop/sales&p.filter=region%20eq",
    );
    await page.locator(".field-error").getByText("'filter' at position").waitFor();
    await expect
      .poll(() => page.getByLabel("filter", { exact: true }).getAttribute("aria-invalid"))
      .toBe("true");
  });

  it("alone has the field", async () => {
    const { page } = await visit(browser.context, url, "/explore?endpoint=/v1/shop/plain");
    await page.locator(".rowsview").waitFor();
    await expect.poll(() => page.getByLabel("filter", { exact: true }).count()).toBe(0);
  });
});
