import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { suiteBrowser } from "../browser.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { expectAccessible, measureLineage, output, visit } from "./page.js";
import { needs } from "../../support/needs.js";
import { HOSTILE, startShop } from "./shop.js";

const { manifest, service } = await startShop();
const { url } = service;

const SALES = "/explore?endpoint=%2Fv1%2Fshop%2Fsales%2Fdaily";

describe.skipIf(!needs("chromium"))("/explore", () => {
  const browser = suiteBrowser();
  const open = (path: string, key?: string) => visit(browser.context, url, path, { key });
  const rows = (page: Page) => page.locator(".rowsview tbody tr");
  const paths = async (page: Page): Promise<string[]> => page.locator(".rows .path").allTextContents();

  it("finds endpoints by words in paths, columns and descriptions, and by filter", async () => {
    const { page, problems } = await open("/explore", KEYS.tier3);
    await page.getByText("5 endpoints").first().waitFor();
    const search = page.getByRole("searchbox");
    await page.keyboard.press("/");
    await page.keyboard.type("REGION sales");
    await expect.poll(() => paths(page)).toEqual(["shop/sales/daily"]);
    await search.fill("nothing like it");
    await page.getByText("No endpoint matches.").waitFor();
    await search.fill("");
    await page.getByLabel("Tier").selectOption("tier2");
    await expect.poll(() => paths(page)).toEqual(["wages"]);
    await expect.poll(() => page.locator(".rows .category").allTextContents()).toEqual(["Staff"]);
    await expect.poll(() => new URL(page.url()).search).toBe("?tier=tier2");
    await page.getByLabel("Tier").selectOption("");
    // A card of the start panel says the same as the filter beside it.
    await page.locator(".cards").getByRole("button", { name: "shop" }).click();
    await expect.poll(() => page.getByLabel("Category").inputValue()).toBe("shop");
    await expect.poll(() => paths(page)).toEqual(["by_region", "sales/daily"]);
    await page.getByRole("button", { name: "Show all endpoints" }).click();
    await expect.poll(() => page.getByLabel("Category").inputValue()).toBe("");
    await page.getByLabel("Category").selectOption("shop");
    await expect.poll(() => paths(page)).toEqual(["by_region", "sales/daily"]);
    await page.goto(`${url}/explore?category=staff&q=wages`);
    await expect.poll(() => page.getByLabel("Category").inputValue()).toBe("staff");
    await expect.poll(() => search.inputValue()).toBe("wages");
    expect(problems).toEqual([]);
  });

  it("shows an endpoint with real rows, its columns, build and lineage, by keyboard alone", async () => {
    service.recordBuilds([{ node: "model.test.sales", completedAt: Date.now() - 7_200_000, rows: 300 }]);
    const { page, problems } = await open("/explore");
    await page.getByRole("searchbox").press("ArrowDown");
    // The head of the next category lies between.
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("heading", { name: "Sales per day" }).waitFor();
    await expect.poll(() => rows(page).count()).toBe(30);
    await expect.poll(() => rows(page).first().innerText()).toBe("2026-01-01\tnorth\t10.5\t9007199254740993");
    const facts = page.locator("dl.facts");
    await expect.poll(() => facts.innerText()).toMatch(/Last build\s+2 hours ago, 300 rows/);
    const described = page.locator("table.columns").filter({ hasText: "Type" }).last();
    await expect
      .poll(() => described.locator("tbody tr").allTextContents())
      .toEqual([
        "daydate, may be null2026-01-01",
        "regiontext, may be nullnorth",
        "amountnumber, may be null10.5",
        "idwhole number, may be null9007199254740993",
      ]);
    const lineage = page.getByRole("img", { name: /What sales is made from: 2 nodes/ });
    await expect
      .poll(() => lineage.locator("text:not(.kind)").allTextContents())
      .toEqual(["regions", "shop.orders", "sales"]);
    await page.goBack();
    await page.getByRole("heading", { name: "Routewright Data API" }).last().waitFor();
    expect(problems).toEqual([]);
  });

  it("draws lineage whose edges pass by the nodes between", async () => {
    const { page } = await open("/explore?endpoint=/v1/geo/places");
    await page.getByRole("img", { name: /What places is made from: 3 nodes/ }).waitFor();
    await expect.poll(() => measureLineage(page)).toEqual({ nodes: 4, edges: 6, pointsInNodes: 0 });
  });

  it("opens a row to show its whole content, by click and by keyboard", async () => {
    const { page, problems } = await open(`${SALES}&p.region=south`);
    await rows(page).nth(1).locator("td").last().click();
    const whole = page.locator(".rowsview .whole");
    await expect
      .poll(() => whole.innerText())
      .toMatch(
        /day Copy\s+2026-01-02\s+region Copy\s+south\s+amount Copy\s+52.5\s+id Copy\s+9007199254740997/,
      );
    await expectAccessible(page);
    await rows(page).nth(1).locator("td").last().click();
    await expect.poll(() => whole.count()).toBe(0);
    await rows(page).first().locator(".opener").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const opened = page.locator("tbody [aria-expanded=true]");
    await expect.poll(() => opened.getAttribute("aria-label")).toBe("Row 2: all values");
    await whole.getByRole("button", { name: "Copy id" }).waitFor();
    expect(problems).toEqual([]);
  });

  it("begins with the address, a call to copy and the way to a key, and follows search and category", async () => {
    const { page, problems } = await open("/explore");
    const start = page.locator(".welcome");
    await expect.poll(() => start.getByRole("region", { name: "Base address" }).innerText()).toBe(url);
    const call = await start.getByRole("region", { name: "First call" }).innerText();
    expect(call).toBe(`curl '${url}/v1/geo/places?limit=5'`);
    expect(JSON.parse(await output("sh", "-c", `${call} -s`))).toHaveLength(4);
    await start.getByText("Enter it above, and send it in the header X-API-Key.").waitFor();
    await start.getByRole("button", { name: "shop" }).click();
    await expect.poll(() => start.innerText()).toContain(`curl '${url}/v1/shop/sales/daily?limit=5'`);
    await expect.poll(() => start.getByRole("heading", { level: 2 }).innerText()).toBe("Shop");
    await expectAccessible(page);
    await start.getByRole("button", { name: "Show all endpoints" }).click();
    await page.getByRole("searchbox").fill("wages");
    await expect.poll(() => start.innerText()).toMatch(/1 endpoint\.[^]*2 endpoints need a key\./);
    expect(problems).toEqual([]);
  });

  /** Whether Run can be seen when the long form begins at the top. */
  async function isRunInSight(page: Page, height: number): Promise<boolean> {
    await page.evaluate(`document.querySelector("form.try").scrollIntoView()`);
    const box = await page.getByRole("button", { name: "Run" }).boundingBox();
    return box !== null && box.y >= 0 && box.y + box.height <= height;
  }

  it("tries a request with filters, as code, as JSON, as CSV, and shows the limits left", async () => {
    const { page, problems } = await open(SALES);
    await expect
      .poll(() => page.locator("#parameter-region-about").innerHTML())
      .toBe("Regions, such as <code>north</code>. Separate values by commas.");
    await page.getByLabel("region", { exact: true }).fill("south,west");
    await page.getByLabel("start", { exact: true }).fill("2026-01-05");
    await page.getByLabel("limit", { exact: true }).fill("4");
    await page.getByRole("button", { name: "Run" }).click();
    await expect.poll(() => rows(page).count()).toBe(4);
    await expect.poll(() => rows(page).first().innerText()).toMatch(/^2026-01-05\tsouth/);
    await expect.poll(() => page.locator(".answer").innerText()).toMatch(/[\d,]+ of 10,000 requests left/);
    const request = "/v1/shop/sales/daily?region=south&region=west&start=2026-01-05&limit=4";
    await expect.poll(() => page.locator(".samples .code").innerText()).toBe(`curl -fsS '${url}${request}'`);
    await page.getByRole("button", { name: "Python" }).click();
    await expect.poll(() => page.locator(".samples .code").innerText()).toContain("session.get(");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download all rows" }).click();
    for (const [name, ending] of [
      ["Open in Excel", "odc"],
      ["Open in Power BI", "pbids"],
    ] as const)
      await expect
        .poll(() => page.getByRole("link", { name }).getAttribute("href"))
        .toBe(`${url}/odata/connection.${ending}?path=%2Fv1%2Fshop%2Fsales%2Fdaily`);
    await page.getByRole("button", { name: "Download CSV" }).click();
    const file = readFileSync(await (await download).path(), "utf8");
    const [header, first, ...others] = file.split("\r\n");
    expect(header).toBe("\ufeffday,region,amount,id");
    expect(first).toBe('2026-01-05,"south",73.5,9007199254741006');
    // All rows from that day on, not the four of the page.
    expect(others.filter((line) => line !== "")).toHaveLength(191);
    expect((await download).suggestedFilename()).toBe("shop-sales-daily.csv");
    const bar = page.locator(".answer .facts");
    await expect.poll(() => bar.innerText()).toMatch(/^1–4 of 192 /);
    await expect.poll(() => page.getByRole("button", { name: "Previous page" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Next page" }).click();
    await expect.poll(() => rows(page).first().innerText()).toMatch(/^2026-01-07/);
    await expect.poll(() => bar.innerText()).toMatch(/^5–8 of 192 /);
    await page.getByRole("button", { name: "Previous page" }).click();
    await expect.poll(() => rows(page).first().innerText()).toMatch(/^2026-01-05/);
    await page.getByRole("button", { name: "Next page" }).click();
    await expect.poll(() => rows(page).first().innerText()).toMatch(/^2026-01-07/);
    await page.getByRole("button", { name: "JSON" }).click();
    await expect
      .poll(() => page.getByRole("region", { name: "Rows as JSON" }).innerText())
      .toMatch(
        /^\[\n {2}\{\n {4}"day": "2026-01-07",\n {4}"region": "\w+",\n {4}"amount": [\d.]+,\n {4}"id": 90071992547410\d\d\n/,
      );
    expect(problems).toEqual([]);
  });

  it("sends a list, and shows it as code that runs", async () => {
    const { page, problems } = await open("/explore?endpoint=%2Fv1%2Fgeo%2Fplaces&p.city=Paris,Rome");
    await expect.poll(() => rows(page).allInnerTexts()).toEqual(["Paris\t1", "Rome\t4"]);
    const cities = page.getByLabel("city", { exact: true });
    await cities.fill(`Paris, it's`);
    await page.getByLabel("limit", { exact: true }).fill("1");
    await page.getByRole("button", { name: "Run" }).click();
    await expect.poll(() => rows(page).allInnerTexts()).toEqual(["Paris\t1"]);
    await expect.poll(() => new URL(page.url()).searchParams.getAll("p.city")).toEqual(["Paris", "it's"]);
    const code = page.locator(".samples .code");
    await expect
      .poll(async () => output("sh", "-c", `${await code.innerText()} -s`))
      .toBe('[{"city":"Paris","n":1}]');
    await page.getByRole("button", { name: "JavaScript" }).click();
    const script = `${await code.innerText()}\nconsole.log(JSON.stringify(rows));`;
    const printed = await output(process.execPath, "--input-type=module", "-e", script);
    expect(JSON.parse(printed)).toEqual([{ city: "Paris", n: 1 }]);
    await page.getByRole("button", { name: "Python" }).click();
    await expect.poll(() => code.innerText()).toMatch(/session\.get\("http.*", timeout=30\)/);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download all rows" }).click();
    await page.getByRole("button", { name: "Download CSV" }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe("geo-places.csv");
    expect(readFileSync(await file.path(), "utf8")).toBe('\ufeffcity,n\r\n"Paris",1\r\n');
    await page.getByLabel("n", { exact: true }).fill("soon");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").waitFor();
    await expectAccessible(page);
    expect(problems.filter((text) => !text.includes("400 (Bad Request)"))).toEqual([]);
  });

  it("offers the values that a dbt test accepts, and waits for a parameter that is required", async () => {
    const { page, problems } = await open("/explore?endpoint=%2Fv1%2Fshop%2Fby_region", KEYS.tier3);
    await page.getByText("Rows need a filter: one of region, regions.").waitFor();
    // A page size is no filter.
    await page.goto(`${page.url()}&p.limit=5`);
    await page.getByText("Rows need a filter: one of region, regions.").waitFor();
    await page.goBack();
    await page
      .getByRole("group", { name: "region", exact: true })
      .getByRole("button", { name: "north" })
      .click();
    await expect.poll(() => rows(page).count()).toBeGreaterThan(10);
    await page.goBack();
    await page.getByText("Rows need a filter: one of region, regions.").waitFor();
    const regions = page.getByLabel("region", { exact: true }).locator("option");
    await expect.poll(() => regions.allInnerTexts()).toEqual(["(any)", "north", "south", "west"]);
    await page.locator("select[name=regions]").selectOption(["north", "west"]);
    await page.getByRole("button", { name: "Run" }).click();
    await expect.poll(() => rows(page).count()).toBeGreaterThan(10);
    await expect.poll(() => new URL(page.url()).searchParams.getAll("p.regions")).toEqual(["north", "west"]);
    await expectAccessible(page);
    expect(problems).toEqual([]);
  });

  it("opens a link to a chart as it was", async () => {
    const { page, problems } = await open(`${SALES}&p.limit=300&view=chart&y=amount&series=region`);
    const chart = page.getByRole("img", {
      name: /^line chart of amount by day, split by region: 100 points/,
    });
    await chart.waitFor();
    // Without a pointer it has the values of the last point.
    await expect
      .poll(() => page.locator(".readout").innerText())
      .toMatch(/^2026-04-10\s+(north|south|west) /);
    const legend = await chart.locator("svg text").allTextContents();
    expect(legend).toEqual(expect.arrayContaining(["amount", "north", "south", "west"]));
    await page.locator(".controls select").last().selectOption("-");
    await page.getByRole("img", { name: /^line chart of sum of amount by day: 100 points/ }).waitFor();
    await page.getByText("Several rows share a point: their sum is drawn.").waitFor();
    const address = page.url();
    expect(address).toContain("view=chart&y=amount&series=-");
    const { page: second } = await open(address.slice(url.length));
    await second.getByRole("img", { name: /^line chart of sum of amount by day: 100 points/ }).waitFor();
    await expect
      .poll(() => second.locator(".plot svg path").getAttribute("d"))
      .toMatch(/^M[\d.]+,[\d.]+(L[\d.]+,[\d.]+){99}$/);
    expect(problems).toEqual([]);
  });

  it.each([
    ["shop/sales/daily&series=-", /^line chart of sum of amount by day: 100 points.* their sum is drawn/],
    ["shop/sales/daily&p.limit=1", /^amount 10\.5; region north; day 2026-01-01 Of 1 row; there are more\.$/],
  ] as const)("draws %s truthfully", async (path, name) => {
    const { page, problems } = await open(`/explore?view=chart&endpoint=/v1/${path}`);
    await page.getByRole("img", { name }).waitFor();
    expect(problems).toEqual([]);
  });

  it("clears the form without a request", async () => {
    const { page, problems } = await open(`${SALES}&p.region=south`);
    await rows(page).first().waitFor();
    const before = page.url();
    await page.getByRole("button", { name: "Clear" }).click();
    await expect.poll(() => page.getByLabel("region", { exact: true }).inputValue()).toBe("");
    expect(page.url()).toBe(before);
    await expect.poll(() => rows(page).count()).toBe(30);
    expect(problems).toEqual([]);
  });

  it("takes a key for this tab alone, and shows what it opens", async () => {
    const { page, problems } = await open("/explore?endpoint=%2Fv1%2Fstaff%2Fwages");
    await page.getByText("Needs Premium (tier2): enter a key of this tier").waitFor();
    await page.getByText("No key").waitFor();
    await expect
      .poll(() => page.locator("dl.facts").innerText())
      .toMatch(/Last build\s+not shown with this key\s+Tests\s+not shown/);
    await page.getByText("Takes no parameters: the whole table.").waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Run" }).count()).toBe(0);
    await expectAccessible(page);
    await page.getByLabel("API key").fill(KEYS.tier2);
    await page.getByRole("button", { name: "Use key" }).click();
    await page.locator("#caller").getByText("Premium (tier2)").waitFor();
    await expect.poll(() => rows(page).allInnerTexts()).toEqual(["ann\t7"]);
    expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain("sk_live");
    const { page: other } = await open("/explore");
    await other.getByText("2 endpoints need a key.").waitFor();
    await page.getByRole("button", { name: "Forget key" }).click();
    await page.getByText("Needs Premium (tier2)").waitFor();
    await expect.poll(() => page.evaluate("sessionStorage.getItem('routewright.key')")).toBe("");
    expect(problems).toEqual([]);
  });

  it("with CATALOGUE=allowed shows nothing that the key may not call", async () => {
    const address = await serveManifest(manifest, { CATALOGUE: "allowed" });
    for (const [path, part] of [
      ["/explore", ".welcome"],
      ["/docs", ".opblock"],
    ] as const) {
      const { page } = await visit(browser.context, address, path);
      await page.locator(part).first().waitFor();
      expect(await page.content()).not.toContain("wages");
      const { page: premium } = await visit(browser.context, address, path, { key: KEYS.tier2 });
      await premium.locator(part).first().waitFor();
      await expect.poll(() => premium.content()).toContain("wages");
    }
  });

  it("runs nothing that a manifest says", async () => {
    const { page, problems } = await open("/explore?endpoint=%2Fv1%2Fstaff%2Fhostile");
    await page.getByText(HOSTILE).first().waitFor();
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(await page.locator("img, svg[onload], main script").count()).toBe(0);
    await expect.poll(() => page.locator(".lineage title").first().textContent()).toContain(HOSTILE);
    expect(problems).toEqual([]);
  });

  it.each([
    ["the catalogue", "/explore"],
    ["an endpoint", SALES],
    ["a chart", `${SALES}&view=chart`],
    ["rows as JSON", `${SALES}&view=json`],
  ])("has no accessibility violation: %s, light and wide, dark and narrow", async (_, path) => {
    const { page, problems } = await open(path, KEYS.tier3);
    await page.locator(path === "/explore" ? ".welcome" : ".result").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Dark theme" }).click();
    // Colours change over some frames.
    await page.waitForTimeout(300);
    await expect.poll(() => page.evaluate("document.documentElement.className")).toBe("dark-mode");
    await page.setViewportSize({ width: 390, height: 844 });
    await expectAccessible(page);
    // All tests share the browser's profile.
    await page.evaluate("localStorage.clear()");
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(problems).toEqual([]);
  });

  it("goes from list to endpoint and back on a phone, with Run in sight", async () => {
    const { page } = await open("/explore");
    await page.setViewportSize({ width: 390, height: 500 });
    await page.locator(".rows").getByText("sales/daily").click();
    await page.getByRole("heading", { name: "Sales per day" }).waitFor();
    await expect.poll(() => page.getByRole("searchbox").isVisible()).toBe(false);
    await rows(page).first().waitFor();
    // The form is one line above the rows, until it is opened.
    await expect.poll(() => page.getByRole("button", { name: "Run" }).isVisible()).toBe(false);
    await page.getByText("Filters and page (4)").click();
    expect(await isRunInSight(page, 500)).toBe(true);
    await page.setViewportSize({ width: 1440, height: 400 });
    expect(await isRunInSight(page, 400)).toBe(true);
    await page.setViewportSize({ width: 390, height: 500 });
    await page.getByRole("button", { name: "All endpoints" }).click();
    await page.getByRole("searchbox").waitFor();
  });

  it("sends less than 57.6 kB on the first visit, and no code of charts", async () => {
    const { page } = await open("/explore");
    await page.locator(".welcome").waitFor();
    const sizes = await page.evaluate<number>(
      `performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation")).reduce((sum, each) => sum + each.encodedBodySize, 0)`,
    );
    expect(sizes).toBeGreaterThan(10_000);
    expect(sizes).toBeLessThan(57_600);
    expect(await page.evaluate(`JSON.stringify(performance.getEntries())`)).not.toContain("chart");
  });
});
