import type { Page, Request } from "playwright-core";
import { describe, expect, it } from "vitest";
import { suiteBrowser } from "../browser.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { expectAccessible, visit } from "./page.js";

const schema = await ownSchema("CREATE TABLE @.places AS SELECT 'Rome' AS city");
const url = await serveManifest(
  manifestOf([
    {
      name: "places",
      schema,
      tags: ["production", "constructor", "api:places"],
      columns: { city: "text" },
      api: {
        methods: ["GET", "POST"],
        allow_unfiltered: true,
        parameters: [
          { name: "constructor", column: "city", operator: "=", type: "string" },
          { name: "toString", column: "city", operator: "IN", type: "string_list" },
        ],
      },
    },
  ]),
);
const PLACES = "/explore?endpoint=%2Fv1%2Fconstructor%2Fplaces";

describe.skipIf(!needs("chromium"))("/explore in trouble", () => {
  const browser = suiteBrowser();
  const open = (path: string, key?: string) => visit(browser.context, url, path, { key });
  const alert = (page: Page) => page.getByRole("alert");

  it("takes names of an object's own members for names", async () => {
    const { page } = await open(`${PLACES}&p.__proto__=1`);
    await alert(page)
      .getByText(/^Unsupported query parameters: __proto__$/)
      .waitFor();
    const { page: second, problems } = await open(`${PLACES}&p.constructor=Rome&p.toString=Rome`);
    await second.locator(".rowsview").getByText("Rome").waitFor();
    await expect.poll(() => second.getByLabel("constructor", { exact: true }).inputValue()).toBe("Rome");
    const { page: third } = await open(PLACES);
    await third.locator(".rowsview").getByText("Rome").waitFor();
    await expect.poll(() => third.getByLabel("toString", { exact: true }).inputValue()).toBe("");
    const { page: start } = await open("/explore");
    await expect.poll(() => start.locator(".cards").innerText()).toMatch(/^Constructor\n1 endpoint\n/);
    expect(problems).toEqual([]);
  });

  it("says in words what the service refuses", async () => {
    const { page } = await open(`${PLACES}&p.constructor=a&p.constructor=b`);
    await alert(page).getByText("Parameter 'constructor' expects a single value.").waitFor();
    await expectAccessible(page);
    // The same request would fail again.
    await expect.poll(() => page.getByRole("button", { name: "Try again" }).count()).toBe(0);
  });

  it("leaves the public part where a key is wrong, in all documents of the tab, also after a reload", async () => {
    const { page } = await open("/explore");
    await page.getByLabel("API key").fill("sk_live_wrong");
    await page.getByRole("button", { name: "Use key" }).click();
    await alert(page)
      .getByText(/^Invalid API Key\. The public part is shown without it\./)
      .waitFor();
    await page.locator(".card").first().waitFor();
    // It can be corrected where it stands.
    await expect.poll(() => page.getByLabel("API key").inputValue()).toBe("sk_live_wrong");
    await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("key");
    await expectAccessible(page);
    for (const [path, part, words] of [
      ["/explore", ".card", "The public part is shown without it."],
      ["/guide", "#limits", "The guide is the public one"],
      ["/docs", ".opblock", "The public part is shown without it."],
      ["/redoc", "h1", "The public part is shown without it."],
    ] as const) {
      const { page: later } = await open(path, "sk_live_wrong");
      await later.locator(part).first().waitFor();
      await alert(later).getByText(words).waitFor();
      await expect.poll(() => later.evaluate("sessionStorage.getItem('routewright.key')")).toBe("");
    }
  });

  it.each([
    ["what it opens", KEYS.tier3],
    ["that it is wrong", "sk_live_wrong"],
  ])("keeps to the last key where the answer to an earlier one comes late: %s", async (_, first) => {
    const { page, problems } = await open("/explore");
    await page.locator(".card").first().waitFor();
    const isFirst = (request: Request): boolean => request.headers()["x-api-key"] === first;
    const { release, held } = holding();
    await page.route("**/v1/system/catalogue", async (route) => {
      if (isFirst(route.request())) await held;
      await route.continue();
    });
    const field = page.getByLabel("API key");
    const use = page.getByRole("button", { name: "Use key" });
    await field.fill(first);
    await use.click();
    await field.fill(KEYS.tier1);
    await use.click();
    await page.locator("#caller").getByText("(tier1)").waitFor();
    await page.locator("main:not([aria-busy])").waitFor();
    const late = page.waitForResponse((response) => isFirst(response.request()));
    release();
    await (await late).finished();
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 50))");
    await page.locator("#caller").getByText("(tier1)").waitFor();
    await expect.poll(() => page.evaluate("sessionStorage.getItem('routewright.key')")).toBe(KEYS.tier1);
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(problems.filter((problem) => !problem.includes("401") && !problem.includes("403"))).toEqual([]);
  });

  it("shows no rows of an earlier request while the next one runs, whatever is pressed", async () => {
    const { page, problems } = await open(PLACES);
    await page.locator(".rowsview").getByText("Rome").waitFor();
    const { release, held } = holding();
    await page.route("**/places.ndjson*", async (route) => {
      await held;
      await route.continue();
    });
    await page.getByLabel("constructor", { exact: true }).fill("Nowhere");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("Running …").waitFor();
    await page.getByRole("button", { name: "Dark theme" }).click();
    await page.getByText("Running …").waitFor();
    await expect.poll(() => page.locator(".rowsview").count()).toBe(0);
    release();
    await page.getByText("No row matches.").waitFor();
    expect(problems).toEqual([]);
  });

  it("says to wait a minute where a proxy refuses until a date", async () => {
    const { page } = await open("/explore");
    await page.route("**/places.ndjson*", (route) =>
      route.fulfill({
        status: 429,
        headers: { "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT" },
        json: { detail: "Rate limit exceeded" },
      }),
    );
    await page.locator(".rows a").first().click();
    await alert(page).getByText("Next: wait, and try again in a minute.").waitFor();
  });

  it.each(["ключ", "two\nlines"])("refuses a key that no header can hold: %j", async (key) => {
    const { page } = await open("/explore", key);
    await alert(page)
      .getByText(/^Invalid API Key\. The public part is shown without it\./)
      .waitFor();
    await expect.poll(() => page.getByText("Loading the catalogue").count()).toBe(0);
    await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("key");
  });

  it.each([
    ["**/v1/system/catalogue", "{", "/explore"],
    ["**/places.ndjson", '{"city":"Rome"}\n{"ci', PLACES],
  ])("says that a response is cut off: %s", async (address, body, path) => {
    const page = await browser.context.newPage();
    await page.route(address, (route) => route.fulfill({ status: 200, body }));
    await page.goto(url + path);
    await alert(page).getByText("The response is incomplete or is not JSON. Try again.").waitFor();
  });

  it("says that nothing answers, and works again when it does", async () => {
    const { page } = await open(PLACES);
    await page.locator(".rowsview").waitFor();
    await page.route("**/places.ndjson", (route) => route.abort());
    await page.getByRole("button", { name: "Run" }).click();
    await alert(page)
      .getByText("The service does not answer. Check the connection, then try again.")
      .waitFor();
    await page.unroute("**/places.ndjson");
    await page.getByRole("button", { name: "Run" }).click();
    await page.locator(".rowsview").getByText("Rome").waitFor();
  });

  it("says that there is no such endpoint", async () => {
    const { page } = await open("/explore?endpoint=/v1/constructor/none");
    await page.getByText("There is no such endpoint, or it needs a key of a higher tier.").waitFor();
    await expectAccessible(page);
  });

  it("works where the browser forbids storage", async () => {
    const page = await browser.context.newPage();
    for (const kind of ["localStorage", "sessionStorage"])
      await page.addInitScript(
        `Object.defineProperty(window, "${kind}", { get() { throw new DOMException("", "SecurityError"); } })`,
      );
    await page.goto(url + PLACES);
    await page.locator(".rowsview").getByText("Rome").waitFor();
    await page.getByRole("button", { name: "Dark theme" }).click();
    await expect.poll(() => page.evaluate("document.documentElement.className")).toBe("dark-mode");
  });

  it("says what to do where its script cannot be loaded", async () => {
    const page = await browser.context.newPage();
    await page.route("**/explore.js", (route) => route.abort());
    await page.goto(`${url}/explore`);
    const hint = page.getByText("If nothing appears, reload the page.");
    await hint.waitFor({ state: "attached" });
    await expect.poll(() => hint.isVisible()).toBe(false);
    // Ten seconds later.
    await page.evaluate("document.getAnimations().forEach((each) => (each.currentTime = 10_000))");
    await hint.waitFor();
  });
});

/** What waits until it is released. */
function holding(): { readonly release: () => void; readonly held: Promise<void> } {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  return { release, held };
}
