/** Views that the browser keeps, and the keys of the explorer. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { needs } from "../../support/needs.js";
import { openBrowser } from "../browser.js";
import { expectAccessible, visit } from "./page.js";
import { startShop } from "./shop.js";

const { service } = await startShop();

const SALES = "/explore?endpoint=%2Fv1%2Fshop%2Fsales%2Fdaily";

describe.skipIf(!needs("chromium"))("the explorer", () => {
  const links = (page: Page) => page.locator(".views a").allTextContents();

  it("keeps the views that were opened last, and those that the reader saves, in the browser", async () => {
    const browser = await openBrowser();
    try {
      const { page, problems } = await visit(browser.context, service.url, `${SALES}&p.region=north`);
      await page.locator(".rowsview").waitFor();
      await page.getByRole("button", { name: "Save view" }).click();
      await page.getByRole("button", { name: "Forget view" }).waitFor();
      await page.goto(`${service.url}${SALES}&view=chart`);
      await page.locator(".plot").waitFor();
      await page.goto(`${service.url}/explore`);
      await expect
        .poll(() => links(page))
        .toEqual(["Sales per day · region is one of north", "Sales per day · chart"]);
      await expectAccessible(page);
      await page.getByRole("link", { name: "Sales per day · region is one of north" }).click();
      await page.locator(".rowsview").waitFor();
      await expect.poll(() => new URL(page.url()).searchParams.get("p.region")).toBe("north");
      await page.getByRole("button", { name: "Forget view" }).click();
      await page.getByRole("button", { name: "Save view" }).waitFor();
      // What another program has written there is not read.
      await page.evaluate(
        "localStorage.setItem('routewright.saved', '[{\"address\":\"javascript:alert(1)\"}]')",
      );
      await page.goto(`${service.url}/explore`);
      await expect.poll(() => page.getByRole("heading", { name: "Opened last" }).count()).toBe(1);
      await expect.poll(() => page.getByRole("heading", { name: "Saved views" }).count()).toBe(0);
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  it("suggests values that exist in the field of a named parameter, with their numbers of rows", async () => {
    const browser = await openBrowser();
    try {
      const { page, problems } = await visit(browser.context, service.url, SALES);
      const options = () => page.locator("#parameter-region-values option").allTextContents();
      await page.locator(".rowsview").waitFor();
      await expect.poll(() => options()).toEqual([]);
      await page.getByLabel("region", { exact: true }).focus();
      await expect
        .poll(async () => (await options()).sort())
        .toEqual(["north (100 rows)", "south (100 rows)", "west (100 rows)"]);
      // A bound need not be a value that exists.
      await expect.poll(() => page.getByLabel("start", { exact: true }).getAttribute("list")).toBeNull();
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  it("lists its keys, and does not take them from a field", async () => {
    const browser = await openBrowser();
    try {
      const { page, problems } = await visit(browser.context, service.url, "/explore");
      await page.getByRole("searchbox").waitFor();
      await page.keyboard.press("?");
      const dialog = page.getByRole("dialog", { name: "Keys" });
      await dialog.waitFor();
      await expectAccessible(page);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await page.keyboard.press("/");
      await page.keyboard.type("what?");
      await expect.poll(() => page.getByRole("searchbox").inputValue()).toBe("what?");
      await expect.poll(() => dialog.count()).toBe(0);
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
