import { describe, expect, it } from "vitest";
import { suiteBrowser } from "../browser.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { visit } from "./page.js";

describe.skipIf(!needs("chromium"))("/explore with 2,000 endpoints", () => {
  const browser = suiteBrowser();

  it("lists the first 500, and finds any of them", async () => {
    const names = Array.from({ length: 2000 }, (_, i) => `metric_${String(i)}`);
    const many = manifestOf(
      names.map((name) => ({
        name,
        tags: ["production", "many", `api:${name}`],
        columns: { day: "date", value: "numeric" },
        description: `Metric ${name}.`,
      })),
    );
    const address = await serveManifest(many, { RATE_LIMITS: "10000" });
    const { page, problems } = await visit(browser.context, address, "/explore");
    await page.getByText("2,000 endpoints: the first 500 are listed").waitFor();
    expect(await page.locator(".rows a").count()).toBe(500);
    await page.getByRole("searchbox").fill("metric_1999");
    await expect.poll(() => page.locator(".rows .path").allTextContents()).toEqual(["many/metric_1999"]);
    await page.getByRole("searchbox").fill("");
    await page.getByRole("searchbox").press("ArrowDown");
    await page.keyboard.press("End");
    await expect.poll(() => page.evaluate("document.activeElement.innerText")).toContain("metric_1447");
    expect(problems).toEqual([]);
  });
});
