import { describe, expect, it } from "vitest";
import { suiteBrowser } from "../browser.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { visit } from "./page.js";

describe.skipIf(!needs("chromium"))("/explore with 2,000 endpoints", () => {
  const browser = suiteBrowser();

  it("lists all of them, and finds any", async () => {
    const schema = await ownSchema("CREATE TABLE @.metric AS SELECT date '2026-01-01' AS day, 1.5 AS value");
    const names = Array.from({ length: 2000 }, (_, i) => `metric_${String(i)}`);
    const many = manifestOf(
      names.map((name) => ({
        ...{ name, schema, alias: "metric" },
        tags: ["production", "many", `api:${name}`],
        columns: { day: "date", value: "numeric" },
        description: `Metric ${name}.`,
      })),
    );
    const address = await serveManifest(many, { RATE_LIMITS: "10000" });
    const { page, problems } = await visit(browser.context, address, "/explore");
    await page.locator(".list").getByText("2,000 endpoints", { exact: true }).waitFor();
    await expect.poll(() => page.locator(".rows a").count()).toBe(2000);
    await page.getByRole("searchbox").fill("metric_1999");
    await expect.poll(() => page.locator(".rows .path").allTextContents()).toEqual(["many/metric_1999"]);
    await page.getByRole("searchbox").fill("");
    await page.getByRole("searchbox").press("ArrowDown");
    await page.keyboard.press("End");
    await expect.poll(() => page.evaluate("document.activeElement.innerText")).toContain("metric_999");
    expect(problems).toEqual([]);
  });
});
