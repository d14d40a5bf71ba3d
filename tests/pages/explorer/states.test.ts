/** What the explorer says where there are many endpoints, no rows, no access or no room. */
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { expectAccessible, visit } from "./page.js";

const schema = await ownSchema(`
  CREATE TABLE @.sales AS SELECT date '2026-06-30' - i / 10 AS day, (ARRAY['north', 'south', 'west'])[1 + i % 3] AS region, i * 1.5 AS amount
    FROM generate_series(0, 199) AS i;
  CREATE TABLE @.numbers AS SELECT ${Array.from({ length: 12 }, (_, i) => `${String(i)} AS n${String(i)}`).join(", ")}`);
const columns = { day: "date", region: "text", amount: "numeric" };
const WORDS = ["deposits", "refunds", "swaps", "vaults"];
const url = await serveManifest(
  manifestOf([
    {
      ...{ name: "sales", schema, columns },
      api: {
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: 20, max_limit: 100 },
        sort: [{ column: "day", direction: "DESC" }],
      },
    },
    {
      ...{ name: "by_region", schema, alias: "sales", columns },
      api: {
        parameters: [
          { name: "from", column: "day", operator: ">=", type: "date" },
          { name: "region", column: "region", operator: "=", type: "string" },
        ],
        require_any_of: ["from", "region"],
      },
    },
    {
      ...{ name: "wages", schema, alias: "sales", columns, description: "Wages by region." },
      tags: ["production", "shop", "tier2", "api:wages"],
    },
    ...WORDS.flatMap((word) =>
      Array.from({ length: 12 }, (_, i) => ({
        ...{ name: `${word}_${String(i)}`, schema, alias: "numbers", columns: { [`n${String(i)}`]: "int" } },
        ...{ tags: ["production", "large", `api:${word}_${String(i)}`], description: "A number." },
      })),
    ),
    { name: "alone", schema, alias: "sales", columns, tags: ["production", "large", "api:alone"] },
  ]),
  { RATE_LIMITS: "60" },
);

describe.skipIf(!needs("chromium"))("the explorer", () => {
  const browser = suiteBrowser();
  const open = (path: string, width = 1280) => visit(browser.context, url, path, { width });

  it("lists a large category by subjects, which a click or a key opens, and says what tells rows apart", async () => {
    const { page, problems } = await open("/explore");
    const group = (name: string) => page.locator(".group", { hasText: name });
    await group("deposits").waitFor();
    await expect.poll(() => page.locator(".subject").allTextContents()).toEqual([...WORDS, "other"]);
    await expect.poll(() => group("swaps").getAttribute("data-count")).toBe("12");
    const large = page.locator(".rows a[href*='%2Flarge%2F']");
    await expect.poll(() => large.count()).toBe(0);
    await group("swaps").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => large.count()).toBe(12);
    await expect.poll(() => group("swaps").getAttribute("aria-expanded")).toBe("true");
    await expect.poll(() => large.nth(0).innerText()).toMatch(/^Swaps 0\s+swaps_0\s+n0: A number\.$/);
    await expectAccessible(page);
    await group("large").click();
    await expect.poll(() => page.locator(".subject").count()).toBe(0);
    // A search ranks across groups, and an open endpoint opens its own.
    await page.getByRole("searchbox").fill("vaults_7");
    await expect.poll(() => large.count()).toBeGreaterThan(0);
    await page.goto(`${url}/explore?endpoint=/v1/large/vaults_7`);
    await expect.poll(() => page.locator("[aria-current=true] .path").innerText()).toBe("vaults_7");
    await expect.poll(() => large.count()).toBe(12);
    expect(problems).toEqual([]);
  });

  it("says the latest day of the data beside the time of the build", async () => {
    const { page } = await open("/explore?endpoint=/v1/shop/sales");
    await expect.poll(() => page.locator(".answer .facts").innerText()).toMatch(/data until 2026-06-30 /);
    // Another order does not show it.
    await page.goto(`${url}/explore?endpoint=/v1/shop/sales&p.offset=20`);
    await page.locator(".rowsview").waitFor();
    expect(await page.locator(".answer .facts").innerText()).not.toContain("until");
  });

  it("offers values of the database where a filter is required", async () => {
    const { page, problems } = await open("/explore?endpoint=/v1/shop/by_region");
    const regions = page.getByRole("group", { name: "region", exact: true });
    await regions.getByRole("button").nth(2).waitFor();
    expect((await regions.getByRole("button").allInnerTexts()).sort()).toEqual(["north", "south", "west"]);
    await expectAccessible(page);
    await regions.getByRole("button", { name: "south" }).click();
    await page.locator(".rowsview tbody tr").first().waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("p.region")).toBe("south");
    expect(problems).toEqual([]);
  });

  it("shows the columns of a locked endpoint in words, no rows, and the way to a key", async () => {
    const { page } = await open("/explore?endpoint=/v1/shop/wages");
    await page.getByText("Needs Premium (tier2): enter a key of this tier at the top of the page.").waitFor();
    await page.getByText("To get a key, ask the operator of this API.").waitFor();
    await expect
      .poll(() => page.locator("table.columns tbody tr").allTextContents())
      .toContain("daydate, may be null");
    await expect.poll(() => page.locator(".rowsview").count()).toBe(0);
  });

  it("has its form in one line on a phone, above the rows", async () => {
    const { page } = await open("/explore?endpoint=/v1/shop/sales", 390);
    await page.locator(".rowsview").waitFor();
    const box = await page.locator(".rowsview").boundingBox();
    expect(box?.y).toBeLessThan(600);
    await page.getByText("Filters and page (2)").click();
    await page.getByRole("button", { name: "Run" }).waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 1280, height: 900 });
    await expect.poll(() => page.getByText("Filters and page").isVisible()).toBe(false);
  });

  it("names similar paths where there is no such endpoint, and what to do at the limit", async () => {
    const { page } = await open("/explore?endpoint=/v1/large/vaults");
    await page.getByText("Similar paths:").waitFor();
    await page.getByRole("button", { name: "/v1/large/vaults_0", exact: true }).click();
    await page.getByRole("heading", { name: "Vaults 0" }).waitFor();
    for (let i = 0; i < 70; i++) await fetch(`${url}/v1/shop/sales?limit=1`);
    await page.goto(`${url}/explore?endpoint=/v1/shop/sales`);
    await page.getByText(/^Next: wait, and try again in \d+ s\. A key has a limit of its own/).waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await expectAccessible(page);
  });
});
