/** The first page: what an API shows of itself to someone who has never seen it. */
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { suiteBrowser } from "../browser.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { generateInto, KEYS, ownFolder, serveManifest, startFolder } from "../../support/service.js";
import { expectAccessible, untilFigures, visit } from "./page.js";

const schema = await ownSchema(`
  CREATE TABLE @.sales AS SELECT date '2026-01-01' + i AS day, i AS order_id, i * 1000.5 AS amount
    FROM generate_series(0, 99) AS i;
  CREATE TABLE @.stock AS SELECT 1234567 AS pieces, 2.5 AS change_pct, date '2026-02-01' AS as_of_date;
  CREATE TABLE @.wages AS SELECT 'ann' AS name, 7 AS amount`);

const LOGO = `data:image/svg+xml;base64,${Buffer.from(
  `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><script>alert(1)</script><rect width="20" height="20"/></svg>`,
).toString("base64")}`;
const ABOUT = {
  description: "What shops sold, by day. <b>Checked</b> by `dbt`.",
  contact: "mailto:data@shop.example",
  termsOfService: "https://shop.example/terms",
  logo: LOGO,
  accent: "#8a1253",
};

const MANIFEST = manifestOf([
  {
    name: "sales",
    schema,
    tags: ["production", "shop", "api:sales", "granularity:daily"],
    columns: { day: "date", order_id: "int", amount: "numeric" },
    routewright: { filters: ["day"] },
    api: {
      allow_unfiltered: true,
      pagination: { enabled: true, default_limit: 10, max_limit: 500 },
      sort: [{ column: "day", direction: "DESC" }],
    },
  },
  {
    name: "stock",
    schema,
    tags: ["production", "warehouse", "api:stock"],
    columns: { pieces: "int", change_pct: "numeric", as_of_date: "date" },
  },
  {
    name: "wages",
    schema,
    tags: ["production", "staff", "tier2", "api:wages"],
    columns: { name: "text", amount: "int" },
  },
]) as { docs?: unknown };
MANIFEST.docs = { "doc.test.a": { name: "category_shop", block_contents: "Tills, by `day`." } };

const folder = join(ownFolder(), "generated");
generateInto(folder, MANIFEST, { about: ABOUT });
const service = await startFolder(folder, { RATE_LIMITS: "10000" });
service.recordBuilds([{ node: "model.test.sales", completedAt: Date.now() - 7_200_000, rows: 100 }]);
const { url } = service;
await untilFigures(url);

describe.skipIf(!needs("chromium"))("the first page of /explore", () => {
  const browser = suiteBrowser();
  const open = (options: Parameters<typeof visit>[3] = {}) =>
    visit(browser.context, url, "/explore", options);
  const card = (page: Page, name: string) => page.locator(".card").filter({ has: page.getByText(name) });
  const wordsOf = async (page: Page, name: string) => (await card(page, name).innerText()).split(/\s*\n\s*/);
  /** Paths of rows that are asked for from now on. */
  const asked = (page: Page, pattern: RegExp): readonly string[] => {
    const paths: string[] = [];
    page.on("request", (request) => {
      const { pathname, search } = new URL(request.url());
      if (pattern.test(pathname)) paths.push(pathname + search);
    });
    return paths;
  };
  const readsOf = (page: Page) => asked(page, /^\/v1\/(?!system)/);
  const documentsOf = (page: Page) => asked(page, /figures/);

  it("shows each category with its text, its freshness and a live number of a public endpoint", async () => {
    const { page, problems } = await open();
    await card(page, "shop").locator("svg").waitFor();
    await expect
      .poll(() => wordsOf(page, "shop"))
      .toEqual([
        ...["Shop", "1 endpoint", "Tills, by day.", "Sales per day", "Built 2 hours ago"],
        ...["99K", "amount, 2026-04-10 · Sales per day"],
      ]);
    await expect.poll(() => card(page, "shop").locator(".number").getAttribute("title")).toBe("99,049.5");
    const points = await card(page, "shop").locator("polyline").getAttribute("points");
    expect(points?.split(" ")).toHaveLength(60);
    await card(page, "warehouse").getByText("1.2M").waitFor();
    await expect
      .poll(() => wordsOf(page, "warehouse"))
      .toEqual([...["Warehouse", "1 endpoint", "Stock", "1.2M", "pieces, 2026-02-01 · Stock"]]);
    await expect
      .poll(() => wordsOf(page, "staff"))
      .toEqual(["Staff", "1 endpoint", "Wages by name", "Needs Premium."]);
    await expectAccessible(page);
    await card(page, "shop").getByRole("button").click();
    await page.getByRole("heading", { name: "Shop", level: 2 }).waitFor();
    await expect.poll(() => page.locator(".about-api").innerText()).toBe("Tills, by day. Sales per day");
    await page.goBack();
    await card(page, "shop").getByRole("link").click();
    await page.locator(".rowsview").waitFor();
    expect(problems).toEqual([]);
  });

  it("begins with the numbers that the operator chooses, each with its change, else with those that change with time", async () => {
    const words = async (page: Page) =>
      (await page.locator(".headline li").allInnerTexts()).map((text) => text.split(/\s*\n\s*/));
    const headline = [
      { path: "/v1/shop/sales/daily", column: "amount", parameters: { "day[lte]": "2026-01-31" } },
      { path: "/v1/warehouse/stock", column: "pieces" },
    ];
    const chosen = join(ownFolder(), "generated");
    generateInto(chosen, MANIFEST, { about: { ...ABOUT, headline } });
    const own = await startFolder(chosen);
    await untilFigures(own.url);
    const { page, problems } = await visit(browser.context, own.url, "/explore");
    await page.locator(".headline svg").waitFor();
    await expect
      .poll(() => words(page))
      .toEqual([
        ["Sales per day", "30K", "2026-01-31 · +3.4% on 2026-01-30"],
        ["Stock", "1.2M", "2026-02-01 · +2.5% on the period before"],
      ]);
    await page.getByRole("searchbox").fill("wages");
    await expect.poll(() => page.locator(".headline").isVisible()).toBe(false);
    const { page: unchosen } = await open();
    await unchosen.locator(".headline svg").waitFor();
    await expect
      .poll(() => words(unchosen))
      .toEqual([
        ["Sales per day", "99K", "2026-04-10 · +1% on 2026-04-09"],
        ["Stock", "1.2M", "2026-02-01 · +2.5% on the period before"],
      ]);
    await expectAccessible(unchosen);
    await unchosen.locator(".headline a").first().click();
    await unchosen.locator(".rowsview").waitFor();
    expect(problems).toEqual([]);
  });

  it("runs its first call and shows the answer", async () => {
    const { page } = await open();
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.waitFor();
    expect(JSON.parse(await answer.innerText())).toHaveLength(5);
    await page.getByText(/^200 · \d+ ms$/).waitFor();
  });

  it("reads all figures from one document once, when one comes into sight", async () => {
    const { page } = await open({ width: 390 });
    await page.getByRole("searchbox").waitFor();
    await page.setViewportSize({ width: 390, height: 200 });
    await page.waitForLoadState("networkidle");
    const [reads, documents] = [readsOf(page), documentsOf(page)];
    await page.reload();
    await page.locator(".card").first().waitFor();
    await page.waitForLoadState("networkidle");
    expect([reads, documents]).toEqual([[], []]);
    await card(page, "shop").locator(".figure").scrollIntoViewIfNeeded();
    await card(page, "shop").locator("svg").waitFor();
    await card(page, "warehouse").locator(".figure").scrollIntoViewIfNeeded();
    await card(page, "warehouse").getByText("1.2M").waitFor();
    await page.getByRole("region", { name: "First call" }).scrollIntoViewIfNeeded();
    await page.mouse.wheel(0, 400);
    await page.getByRole("region", { name: "Answer" }).waitFor();
    // Only the first call is a request of the caller.
    expect([reads, documents]).toEqual([["/v1/shop/sales/daily?limit=5"], ["/explore/figures.json"]]);
    // Neither typing nor coming back reads them again.
    await page.setViewportSize({ width: 390, height: 900 });
    await page.getByRole("searchbox").fill("sales");
    await page.getByRole("searchbox").fill("");
    await card(page, "shop").locator("svg").waitFor();
    await page.getByRole("region", { name: "First call" }).scrollIntoViewIfNeeded();
    await page.mouse.wheel(0, 400);
    await page.getByRole("region", { name: "Answer" }).waitFor();
    expect([reads.length, documents.length]).toEqual([1, 1]);
  });

  it("has the search in the middle, which keeps its focus while it narrows the list", async () => {
    const { page } = await open({ width: 390 });
    const search = page.getByRole("searchbox");
    await search.fill("wage");
    await search.pressSequentially("s");
    await expect.poll(() => search.inputValue()).toBe("wages");
    await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("search");
    await expect.poll(() => page.locator(".rows .path").allTextContents()).toEqual(["staff/wages"]);
    // On a phone what is found follows the search.
    await expect.poll(() => page.locator(".card").first().isVisible()).toBe(false);
    const row = await page.locator(".rows a").first().boundingBox();
    expect(row && row.y < 600).toBe(true);
    await page.locator(".rows a").first().click();
    await page.getByRole("heading", { name: "Wages", level: 2 }).waitFor();
    await page.getByRole("button", { name: "All endpoints" }).click();
    await page.keyboard.press("/");
    await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("search");
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await expectAccessible(page);
  });

  it("says how to get a key to callers that lack one, and nothing false to others", async () => {
    const { page } = await open();
    const start = page.locator(".welcome");
    await start.getByText("1 endpoint needs a key. Ask for one: data@shop.example.").waitFor();
    const links = () =>
      start
        .getByRole("link", { name: /data@|Terms/ })
        .evaluateAll((all) => all.map((each) => each.getAttribute("href")));
    await expect.poll(() => links()).toEqual([ABOUT.contact, ABOUT.termsOfService]);
    const { page: partner } = await open({ key: KEYS.tier1 });
    await partner.getByText("1 endpoint needs another key. Ask for one:").waitFor();
    const { page: premium } = await open({ key: KEYS.tier2 });
    await premium.getByText("Your key opens every endpoint. Questions: data@shop.example.").waitFor();
    const plain = await serveManifest(MANIFEST, { CATALOGUE: "allowed" });
    const { page: unsaid } = await visit(browser.context, plain, "/explore");
    await unsaid.getByText("1 endpoint needs a key. Enter it above").waitFor();
    expect(await unsaid.locator(".welcome").innerText()).not.toMatch(/Ask|Terms|operator/);
  });

  it.each(["light", "dark"] as const)(
    "has the operator's description, logo and accent: %s",
    async (colorScheme) => {
      const { page, problems } = await open({ colorScheme });
      await page.getByText("What shops sold, by day. <b>Checked</b> by dbt.").waitFor();
      await expect.poll(() => page.evaluate(`document.querySelector("header img").naturalWidth`)).toBe(20);
      const color = await page.evaluate<string>(
        `getComputedStyle(document.querySelector(".welcome a[href^=mailto]")).color`,
      );
      if (colorScheme === "light") expect(color).toBe("rgb(138, 18, 83)");
      else expect(color).not.toBe("rgb(138, 18, 83)");
      await expectAccessible(page);
      expect(problems).toEqual([]);
      const description = page.locator("meta[name=description]");
      await expect.poll(() => description.getAttribute("content")).toBe(ABOUT.description);
    },
  );
});

it("the OpenAPI document and the catalogue name the operator", async () => {
  const read = async (path: string) => (await fetch(url + path)).json() as Promise<Record<string, unknown>>;
  expect((await read("/openapi.json"))["info"]).toMatchObject({
    description: expect.stringMatching(/^What shops sold, by day\. <b>Checked<\/b> by `dbt`\.\n\nRead-only/),
    contact: { email: "data@shop.example" },
    termsOfService: ABOUT.termsOfService,
    "x-logo": { url: LOGO },
  });
  expect(await read("/v1/system/catalogue")).toMatchObject({
    about: {
      description: ABOUT.description,
      contact: ABOUT.contact,
      terms_of_service: ABOUT.termsOfService,
    },
    categories: [
      { name: "shop", description: "Tills, by `day`." },
      { name: "staff", description: "" },
      { name: "warehouse", description: "" },
    ],
  });
});
