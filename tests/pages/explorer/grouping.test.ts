import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { inPay, payDatabase } from "../../metrics/pay-tables.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { expectAccessible, visit } from "./page.js";

interface Pay {
  readonly metrics: Readonly<Record<string, { config: { tags: readonly string[]; meta: object } }>>;
}

/** The project pay, in which two metrics share a path. */
const pay = JSON.parse(inPay("manifest.json")) as Pay;
const sharing = ["payments", "volume_usd"].map((name) => pay.metrics[`metric.pay.${name}`]!);
for (const { config } of sharing)
  Object.assign(config, {
    tags: ["production", "payments", "api:overview", "tier0"],
    meta: { routewright: { group_by: "all", filter: true } },
  });
const url = await serveManifest(pay, { DATABASE_URL: await payDatabase("UTC"), RATE_LIMITS: "100000" });

const OVERVIEW = "/explore?endpoint=/v1/payments/overview";

describe.skipIf(!needs("chromium"))("an endpoint of groups", () => {
  const browser = suiteBrowser();
  const open = (path: string, width = 1280) => visit(browser.context, url, path, { width });
  const chip = (page: Page, line: string, name: string) =>
    page.getByRole("group", { name: line, exact: true }).getByRole("button", { name, exact: true });
  const headers = (page: Page) => page.locator(".rowsview th[scope=col]").allTextContents();
  const pressed = (page: Page) => page.locator(".chips [aria-pressed=true]").allTextContents();
  const query = (page: Page) => new URL(page.url()).searchParams;

  it("has its metrics, groups and grains as chips, which a click adds and removes", async () => {
    const { page, problems } = await open(OVERVIEW);
    await expect.poll(() => headers(page)).toEqual(["payments", "volume_usd"]);
    await chip(page, "metric_time", "month").click();
    await expect.poll(() => headers(page)).toEqual(["metric_time__month", "payments", "volume_usd"]);
    await chip(page, "Group by", "merchant__region").click();
    await chip(page, "Metrics", "volume_usd").click();
    const grouped = ["metric_time__month", "merchant__region", "volume_usd"];
    await expect.poll(() => headers(page)).toEqual(grouped);
    await expect.poll(() => query(page).get("p.group_by")).toBe("metric_time__month,merchant__region");
    await expect.poll(() => query(page).get("p.metrics")).toBe("volume_usd");
    await page.reload();
    await expect.poll(() => headers(page)).toEqual(grouped);
    await expect.poll(() => pressed(page)).toEqual(["volume_usd", "merchant__region", "month"]);
    await chip(page, "metric_time", "month").click();
    await expect.poll(() => headers(page)).toEqual(["merchant__region", "volume_usd"]);
    await page.goBack();
    await expect.poll(() => headers(page)).toEqual(grouped);
    await expectAccessible(page);
    expect(problems).toEqual([]);
  });

  it("keeps them beside what the form filters, pages and sorts by", async () => {
    const { page } = await open(`${OVERVIEW}&p.group_by=metric_time__month&p.metrics=payments`);
    await expect.poll(() => headers(page)).toEqual(["metric_time__month", "payments"]);
    await page.getByLabel("start_date").fill("2026-02-01");
    await page.getByText("more parameters").click();
    await page.getByLabel("sort_by").selectOption("payments");
    await page.getByRole("button", { name: "Run" }).click();
    await expect.poll(() => query(page).get("p.start_date")).toBe("2026-02-01");
    await expect.poll(() => query(page).get("p.group_by")).toBe("metric_time__month");
    await expect.poll(() => query(page).get("p.sort_by")).toBe("payments");
    await expect.poll(() => headers(page)).toEqual(["metric_time__month", "payments"]);
    await chip(page, "Metrics", "payments").click();
    await expect.poll(() => query(page).get("p.sort_by")).toBeNull();
    await expect.poll(() => query(page).get("p.start_date")).toBe("2026-02-01");
  });

  it("compares results of the measures that are asked, by keyboard, and says so in words", async () => {
    const { page, problems } = await open(`${OVERVIEW}&p.group_by=metric_time__month`);
    const months = () => page.locator(".rowsview tbody tr").count();
    await expect.poll(months).toBeGreaterThan(2);
    const all = await months();
    await page.getByText("more parameters").click();
    await page.getByLabel("Operator of payments").focus();
    await page.keyboard.type("less");
    await page.keyboard.press("Tab");
    await page.keyboard.type("25");
    await page.keyboard.press("Enter");
    await expect.poll(() => query(page).get("p.payments[lt]")).toBe("25");
    await expect.poll(months).toBeLessThan(all);
    await page.getByRole("button", { name: "Remove: payments less than 25" }).waitFor();
    await expectAccessible(page);
    await page.reload();
    await expect.poll(() => page.getByLabel("payments", { exact: true }).inputValue()).toBe("25");
    // Another group keeps the condition, another measure does not.
    await chip(page, "Group by", "merchant__region").click();
    await expect.poll(() => headers(page)).toContain("merchant__region");
    await expect.poll(() => query(page).get("p.payments[lt]")).toBe("25");
    await chip(page, "Metrics", "volume_usd").click();
    await expect.poll(() => query(page).get("p.payments[lt]")).toBeNull();
    await expect.poll(() => headers(page)).toContain("volume_usd");
    await expect.poll(() => page.getByLabel("Operator of payments").count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it("compares them in the builder of filter too, each for itself", async () => {
    const { page, problems } = await open(`${OVERVIEW}&p.group_by=metric_time__month&p.metrics=payments`);
    await expect.poll(() => headers(page)).toEqual(["metric_time__month", "payments"]);
    const all = await page.locator(".rowsview tbody tr").count();
    const columns = (i: number) =>
      page.getByLabel("Column", { exact: true }).nth(i).locator("option").allTextContents();
    const text = () => page.getByLabel("filter", { exact: true }).inputValue();
    await page.getByRole("button", { name: "Add condition" }).click();
    await page.getByLabel("Column", { exact: true }).selectOption("payments");
    await page.getByLabel("Test", { exact: true }).selectOption({ label: "less than" });
    await page.getByLabel("Value", { exact: true }).fill("25");
    await expect.poll(text).toBe("payments lt 25");
    expect(await columns(0)).not.toContain("volume_usd");
    await page.getByRole("button", { name: "Run" }).click();
    await expect.poll(() => page.locator(".rowsview tbody tr").count()).toBeLessThan(all);
    await page.getByRole("button", { name: "Remove: payments lt 25" }).waitFor();
    await expect.poll(() => page.getByLabel("Column", { exact: true }).inputValue()).toBe("payments");
    // Lists of values have no results.
    await page.getByText("more parameters").click();
    const region = page.getByLabel("merchant__region", { exact: true });
    const listed = page.waitForResponse((response) => response.url().includes("column=merchant__region"));
    await region.focus();
    expect((await listed).status()).toBe(200);
    await page.getByRole("button", { name: "Add group" }).click();
    expect(await columns(1)).not.toContain("payments");
    await page
      .getByLabel("How the conditions of this group hold together")
      .first()
      .selectOption({ label: "any of these holds" });
    await expect.poll(() => columns(0)).toContain("payments");
    await page.getByLabel("Value", { exact: true }).nth(1).fill("2026-02-01");
    expect(problems).toEqual([]);
    await page.getByRole("button", { name: "Run" }).click();
    await page.locator(".field-error").getByText("payments").waitFor();
  });

  it("of a model compares results once groups are asked, and the form names a wrong value", async () => {
    const { page } = await open("/explore?endpoint=/v1/payments/payments&p.group_by=status");
    await expect.poll(async () => (await headers(page)).length).toBeGreaterThan(1);
    await page.getByText("more parameters").click();
    await page.getByLabel("volume_usd", { exact: true }).fill("many");
    await page.getByRole("button", { name: "Run" }).click();
    const wrong = page.locator("[name='volume_usd[gte]'][aria-invalid=true]");
    await wrong.waitFor();
    await wrong.fill("1000000000");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("No row matches.").waitFor();
    await chip(page, "Group by", "status").click();
    await expect.poll(() => query(page).toString()).not.toContain("volume_usd");
    await expect.poll(async () => (await headers(page)).length).toBeGreaterThan(10);
  });

  it("is used by keyboard: a chip keeps the focus when it is pressed", async () => {
    const { page } = await open(OVERVIEW);
    await expect.poll(() => headers(page)).toHaveLength(2);
    await chip(page, "metric_time", "month").focus();
    await page.keyboard.press("Space");
    await expect.poll(() => headers(page)).toHaveLength(3);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await expect.poll(() => query(page).get("p.group_by")).toBe("metric_time__month,metric_time__quarter");
    await page.keyboard.press("Enter");
    await expect.poll(() => query(page).get("p.group_by")).toBe("metric_time__month");
  });

  it.each([
    [
      "p.group_by=metric_time__month",
      /^line chart of payments, volume_usd by metric_time__month: \d+ points/,
    ],
    [
      "p.group_by=metric_time__week,merchant__region&p.metrics=volume_usd",
      /^line chart of volume_usd by metric_time__week, split by merchant__region: \d+ points/,
    ],
    [
      "p.group_by=merchant__region&p.metrics=payments",
      /^bar chart of payments by merchant__region: \d+ points/,
    ],
  ])("draws %s", async (parameters, name) => {
    const { page, problems } = await open(`${OVERVIEW}&view=chart&${parameters}`);
    await page.getByRole("img", { name }).waitFor();
    await expectAccessible(page);
    expect(problems).toEqual([]);
  });

  it("of a model has its rows until a chip is pressed", async () => {
    const { page } = await open("/explore?endpoint=/v1/payments/payments");
    await expect.poll(async () => (await headers(page)).length).toBeGreaterThan(10);
    await chip(page, "Measures", "volume_usd").click();
    await expect.poll(() => headers(page)).toEqual(["volume_usd"]);
    await chip(page, "created_at", "quarter").click();
    await expect.poll(() => headers(page)).toEqual(["created_at__quarter", "volume_usd"]);
  });

  it("of a saved query has no choice, and its rows as a table and a chart", async () => {
    const { page, problems } = await open("/explore?endpoint=/v1/payments/monthly_overview");
    await expect.poll(async () => (await headers(page)).length).toBeGreaterThan(1);
    await expect.poll(() => page.locator(".chips").count()).toBe(0);
    await page.getByRole("button", { name: "Chart" }).click();
    await page.getByRole("img", { name: /chart of/ }).waitFor();
    expect(problems).toEqual([]);
  });

  it.each(["light", "dark"] as const)("fits a phone, %s", async (colorScheme) => {
    const path = `${OVERVIEW}&p.group_by=metric_time__month&p.payments[lt]=1000&p.filter=payments%20ge%200`;
    const { page } = await visit(browser.context, url, path, { width: 390, colorScheme });
    await expect.poll(() => headers(page)).toHaveLength(3);
    await page.locator(".request > summary").click();
    await expect.poll(() => page.getByLabel("Operator of payments").inputValue()).toBe("lt");
    await page.getByLabel("Column", { exact: true }).waitFor();
    const width = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect(width).toBeLessThanOrEqual(390);
    await expectAccessible(page);
  });
});
