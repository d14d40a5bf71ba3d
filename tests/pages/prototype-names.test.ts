import { describe, expect, it } from "vitest";
import { needs } from "../support/needs.js";
import { PROTOTYPE_NAMES, prototypeNames, rowsPath } from "../support/prototype-names.js";
import { serveManifest } from "../support/service.js";
import { suiteBrowser } from "./browser.js";
import { visit } from "./explorer/page.js";

const url = await serveManifest(await prototypeNames());

describe.skipIf(!needs("chromium"))("names of Object.prototype, in a browser", () => {
  const browser = suiteBrowser();

  it("/redoc shows the endpoints", async () => {
    const { page, problems } = await visit(browser.context, url, "/redoc");
    await page.locator("#redoc h1").first().waitFor();
    await page.waitForLoadState("networkidle");
    const text = await page.locator("#redoc").innerText();
    expect(PROTOTYPE_NAMES.map(rowsPath).filter((path) => !text.includes(path))).toEqual([]);
    expect(problems).toEqual([]);
  });

  it("/docs lists the categories", async () => {
    const { page, problems } = await visit(browser.context, url, "/docs");
    await page.locator(".opblock-tag").first().waitFor();
    const listed = await page
      .locator(".opblock-tag")
      .evaluateAll((tags) => tags.map((tag) => tag.getAttribute("data-tag")));
    expect(listed).toEqual(expect.arrayContaining(PROTOTYPE_NAMES.map((name) => name.toLowerCase())));
    expect(problems).toEqual([]);
  });

  it("/guide opens", async () => {
    const { page, problems } = await visit(browser.context, url, "/guide");
    await page.getByText("All addresses begin with").waitFor();
    await page.waitForLoadState("networkidle");
    expect(problems).toEqual([]);
  });

  it.each(PROTOTYPE_NAMES)("/explore shows the rows of %s", async (name) => {
    const { page, problems } = await visit(
      browser.context,
      url,
      `/explore?endpoint=${encodeURIComponent(rowsPath(name))}`,
    );
    await page.getByText(`${name} 1`).first().waitFor();
    expect(problems).toEqual([]);
  });
});
