/** The account page in a real browser, with a real issuer: from arrival to the first row, without scripts, on a phone, in the dark. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sendRequest } from "../support/http-client.js";
import { needs } from "../support/needs.js";
import { accountWorld, OPEN } from "../server/accounts/account-world.js";
import { openBrowser, suiteBrowser } from "./browser.js";
import { expectAccessible } from "./explorer/page.js";

const FOLDER = process.env["PICTURES"];

describe.skipIf(!needs("chromium"))("the account page", () => {
  const browser = suiteBrowser();

  /** Keeps a picture where one is asked for; the page must be as wide as its window and accessible. */
  async function look(page: Page, name: string): Promise<void> {
    for (const [width, height] of [
      [1280, 900],
      [390, 844],
    ] as const)
      for (const colorScheme of ["light", "dark"] as const) {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme });
        const isDark = (): Promise<unknown> =>
          page.evaluate('document.documentElement.classList.contains("dark-mode")');
        await expect.poll(isDark).toBe(colorScheme === "dark");
        if (FOLDER !== undefined) {
          mkdirSync(FOLDER, { recursive: true });
          const path = join(FOLDER, `account-${name}-${String(width)}-${colorScheme}.png`);
          await page.screenshot({ path, fullPage: true });
        }
        const wide = await page.evaluate("document.documentElement.scrollWidth");
        expect([name, width, wide]).toEqual([name, width, width]);
        await expectAccessible(page);
      }
    await page.setViewportSize({ width: 1280, height: 900 });
  }

  it("leads from arrival to the first row in a minute and three clicks of its own", async () => {
    const world = await accountWorld();
    const page = await browser.context.newPage();
    const problems: string[] = [];
    page.on("console", (message) => {
      // The issuer's page asks for an icon that it does not have.
      if (message.type() === "error" && message.location().url.startsWith(world.url))
        problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(error.message));
    let clicks = 0;
    const click = async (name: string, role: "link" | "button" = "button"): Promise<void> => {
      clicks++;
      await page.getByRole(role, { name }).click();
    };
    const arrival = performance.now();
    await page.goto(`${world.url}/explore`);
    await click("Get a key", "link");
    await page.getByText("Get a key for Shop data").waitFor();
    await click("Sign in", "link");
    await page.getByLabel("Name").fill("ann@example.com");
    await click("Sign in");
    await click("Create a key");
    const call = (await page.locator("pre.once").nth(1).textContent()) ?? "";
    const [, key = "", address = ""] = /X-API-Key: (\S+)' '([^']+)'/.exec(call) ?? [];
    let rows = "";
    await expect
      .poll(async () => (rows = (await sendRequest(world.url, new URL(address).pathname, { key })).text), {
        timeout: 90_000,
        interval: 100,
      })
      .toBe('[{"n":1}]');
    const seconds = (performance.now() - arrival) / 1000;
    console.log(
      `From arrival to the first row: ${seconds.toFixed(1)} s, ${String(clicks)} clicks, one of them at the issuer.`,
    );
    expect(rows).toBe('[{"n":1}]');
    expect([clicks, problems]).toEqual([4, []]);
    await look(page, "new-key");
    await page.goto(`${world.url}/account`);
    expect(await page.content()).not.toContain(key);
    await page.close();
  });

  it("is readable at every width and in both themes, with keys, people and use", async () => {
    const world = await accountWorld(OPEN, { USAGE_ENABLED: "true" });
    const page = await browser.context.newPage();
    await page.goto(`${world.url}/account`);
    await look(page, "welcome");
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByLabel("Name").fill("ben@example.com");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Create a key" }).waitFor();
    await look(page, "first");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.locator("pre.once").first().waitFor();
    const key = /sk_live_rw_[\w-]{49}/.exec(await page.content())?.[0] ?? "";
    const organization = (await page.locator("h2 small").textContent()) ?? "";
    const own = { requests: 250_000, bytes: 5_000_000_000 };
    await world.operate(`/organizations/${organization}`, { own }, "PATCH");
    await page.getByText("New key", { exact: true }).click();
    await page.getByLabel("Name", { exact: true }).fill("Notebook of the data team, in the cloud");
    await page.getByLabel("Limited to").fill("shop /v1/people/staff");
    await page.getByLabel("Last day").fill("2099-01-31");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.locator("pre.once").filter({ hasNotText: key }).first().waitFor();
    await page.locator("pre.once").first().waitFor();
    await page.getByRole("button", { name: "Make a link" }).click();
    const shown = page.locator("pre.once", { hasText: "/account/invitation?" });
    await shown.waitFor();
    await look(page, "invitation-link");
    const link = (await shown.textContent()) ?? "";
    await expect
      .poll(async () => (await sendRequest(world.url, "/v1/shop/sales", { key })).status, {
        timeout: 90_000,
        interval: 100,
      })
      .toBe(200);
    for (let i = 0; i < 40; i++)
      await sendRequest(world.url, i % 3 ? "/v1/shop/sales" : "/v1/people/staff", { key });
    await expect
      .poll(
        async () => {
          await page.goto(`${world.url}/account`);
          return page.content();
        },
        { timeout: 90_000, interval: 500 },
      )
      .toContain("/v1/shop/sales</th>");
    await expect
      .poll(() => page.content())
      .toMatch(/Requests left this month \(UTC\)<\/dt>\s*<dd>249,9\d\d of 250,000/);
    for (const details of await page.locator("summary").all()) await details.click();
    await look(page, "whole");
    const other = await openBrowser();
    const guest = await other.context.newPage();
    await guest.goto(link);
    await look(guest, "invitation");
    await other.close();
    await page.goto(`${world.url}/account?organization=none`);
    await look(page, "unknown");
    await page.close();
  });

  it("works without scripts", async () => {
    const world = await accountWorld();
    const context = await browser.context.browser()?.newContext({ javaScriptEnabled: false });
    const page = await (context ?? browser.context).newPage();
    await page.goto(`${world.url}/account`);
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByLabel("Name").fill("cat@example.com");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Create a key" }).click();
    await expect.poll(() => page.locator("pre.once").first().textContent()).toMatch(/^sk_live_rw_/);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Get a key for Shop data").waitFor();
    await context?.close();
  });
});
