import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { starterManifest } from "../end-to-end/starter.js";
import { KEYS, serveManifest } from "../support/service.js";
import { needs } from "../support/needs.js";
import { openBrowser } from "./browser.js";

interface Visit {
  readonly page: Page;
  /** Addresses asked for, other than the service's own. */
  readonly foreign: readonly string[];
  /** What the browser complained of, refusals of the page's policy among it. */
  readonly complaints: readonly string[];
}

const isThere = needs("chromium");
const url = isThere ? await serveManifest(starterManifest()) : "";

describe.skipIf(!isThere)("in a browser", () => {
  let browser: Awaited<ReturnType<typeof openBrowser>>;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  async function visit(path: string): Promise<Visit> {
    const page = await browser.context.newPage();
    const foreign: string[] = [];
    const complaints: string[] = [];
    page.on("request", (request) => {
      const address = request.url();
      if (!address.startsWith(`${url}/`) && !/^(data|blob):/.test(address)) foreign.push(address);
    });
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(url + path);
    return { page, foreign, complaints };
  }

  it("/docs shows every operation and asks no other host for anything", async () => {
    const { page, foreign, complaints } = await visit("/docs");
    await page.locator(".opblock-tag").first().waitFor();
    for (const tag of ["bridges", "cards", "altchain"])
      expect(await page.locator(`#operations-tag-${tag}`).count()).toBe(1);
    expect(await page.title()).not.toBe("");
    await page.locator(".opblock-tag[data-tag=bridges]").click();
    await page.locator("#operations-bridges-get_bridges_volume_last_7d").waitFor();
    await page.waitForLoadState("networkidle");
    expect({ foreign, complaints }).toEqual({ foreign: [], complaints: [] });
  });

  it("/docs tries a public endpoint out and shows its rows", async () => {
    const { page, foreign, complaints } = await visit("/docs");
    await page.locator(".opblock-tag[data-tag=bridges]").click();
    const operation = page.locator("#operations-bridges-get_bridges_volume_last_7d");
    await operation.locator(".opblock-summary-control").click();
    await operation.getByRole("button", { name: "Try it out" }).click();
    await operation.getByRole("button", { name: "Execute" }).click();
    const answer = operation.locator(".live-responses-table");
    await answer.waitFor();
    expect(await answer.locator(".response-col_status").last().innerText()).toContain("200");
    expect(await answer.innerText()).toMatch(/"prev_value": -?\d/);
    expect(await answer.innerText()).toContain("x-ratelimit-remaining");
    expect({ foreign, complaints }).toEqual({ foreign: [], complaints: [] });
  });

  it("/docs takes a key and sends it", async () => {
    const { page } = await visit("/docs");
    await page.locator("button.authorize").click();
    await page.locator(".modal-ux input[type=text]").fill(KEYS.tier3);
    await page.locator(".modal-ux button.authorize").click();
    await page.locator(".modal-ux .btn-done").click();
    await page.locator(".opblock-tag[data-tag=altchain]").click();
    const operation = page.locator("#operations-altchain-get_altchain_altchain_card_active_users_last_7d");
    await operation.locator(".opblock-summary-control").click();
    await operation.getByRole("button", { name: "Try it out" }).click();
    await operation.getByRole("button", { name: "Execute" }).click();
    const answer = operation.locator(".live-responses-table");
    await answer.waitFor();
    expect(await answer.locator(".response-col_status").last().innerText()).toContain("200");
    expect(await answer.innerText()).toContain("as_of_date");
  });

  it("/redoc shows every operation and asks no other host for anything", async () => {
    const { page, foreign, complaints } = await visit("/redoc");
    await page.locator("#redoc h1").first().waitFor();
    const text = await page.locator("#redoc").innerText();
    expect(text).toContain("/v1/bridges/volume/last_7d");
    expect(text).toContain("/v1/altchain/altchain_card_activity_by_action/daily");
    await page.waitForLoadState("networkidle");
    expect({ foreign, complaints }).toEqual({ foreign: [], complaints: [] });
  });

  it("/redoc finds what is searched for", async () => {
    const { page, complaints } = await visit("/redoc");
    await page.locator("input[type=text]").fill("merchants");
    await page.locator("[role=search] ul li, [data-role='search:results'] li").first().waitFor();
    expect(await page.locator("[data-role='search:results']").innerText()).toMatch(/merchants/i);
    expect(complaints).toEqual([]);
  });
});
