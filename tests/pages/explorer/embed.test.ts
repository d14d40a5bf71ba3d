/** A chart alone, in another page. */
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { visit } from "./page.js";

const schema = await ownSchema(
  "CREATE TABLE @.levels AS SELECT date '2026-01-01' + g AS day, (g * 7) % 11 AS amount FROM generate_series(0, 29) g",
);
const url = await serveManifest(
  manifestOf([{ name: "levels", schema, columns: { day: "date", amount: "integer" } }]),
);

describe.skipIf(!needs("chromium"))("an embedded chart", () => {
  const browser = suiteBrowser();

  it("has the theme and the title that its address chooses, and says its source", async () => {
    const address = "/explore/embed?endpoint=/v1/shop/levels";
    const { page } = await visit(browser.context, url, `${address}&theme=dark&title=Levels of tokens`);
    await page.getByRole("heading", { name: "Levels of tokens" }).waitFor();
    await page.getByText(`Source: Routewright Data API, ${new URL(url).host}`).waitFor();
    const drawn = async (): Promise<number> => (await page.locator(".plot svg").boundingBox())?.height ?? 0;
    await page.locator(".plot svg").waitFor();
    let usual = 0;
    await expect.poll(async () => (usual = await drawn())).toBeGreaterThan(0);
    await page.goto(`${url}${address}&height=150&theme=dark`);
    await page.locator(".plot svg").waitFor();
    // A chart is drawn again when its place changes: meanwhile there is none.
    await expect.poll(async () => usual - (await drawn())).toBe(150);
    const isDark = () => page.evaluate("document.documentElement.classList.contains('dark-mode')");
    await expect.poll(() => isDark()).toBe(true);
    for (const [theme, dark] of [
      ["light", false],
      ["auto", true],
    ] as const) {
      await page.emulateMedia({ colorScheme: "dark" });
      await page.goto(`${url}${address}&theme=${theme}`);
      await page.getByRole("heading", { name: "Levels" }).waitFor();
      await expect.poll(async () => [theme, await isDark()]).toEqual([theme, dark]);
    }
  });
});
