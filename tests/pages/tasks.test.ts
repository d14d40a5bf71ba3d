/** Twelve tasks of a consumer who has the first page of an API with 503 endpoints, a key and a mouse: no address is typed. */
import { readFileSync } from "node:fs";
import { get } from "node:http";
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { query } from "../support/database.js";
import { needs } from "../support/needs.js";
import { KEYS, serveManifest } from "../support/service.js";
import { suiteBrowser } from "./browser.js";
import { largeManifest } from "./catalogues.js";
import { untilFigures, visit } from "./explorer/page.js";

/** Seconds of a person's steps (Card, Moran and Newell, 1980): to think, to point, to press, to type a letter; to read a word. */
const [THINK, POINT, PRESS, TYPE, READ] = [1.35, 1.1, 0.2, 0.28, 0.25];

/** Does what a person does on a page, and adds up how long a person takes for it. */
class Reader {
  readonly page: Page;
  seconds = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async click(what: Locator): Promise<void> {
    this.seconds += THINK + POINT + PRESS;
    await what.click();
  }

  async type(what: Locator, text: string): Promise<void> {
    this.seconds += THINK + POINT + PRESS + text.length * TYPE;
    await what.fill(text);
  }

  async paste(what: Locator, text: string): Promise<void> {
    this.seconds += THINK + POINT + 2 * PRESS + TYPE;
    await what.fill(text);
  }

  async choose(what: Locator, value: string): Promise<void> {
    this.seconds += 2 * (THINK + POINT + PRESS);
    await what.selectOption(value);
  }

  /** Reads a text once it says what it has to. */
  async read(what: Locator, says: string | RegExp = /./): Promise<string> {
    await expect.poll(async () => (await what.innerText()).trim()).toMatch(says);
    const text = (await what.innerText()).trim();
    this.seconds += THINK + text.split(/\s+/).length * READ;
    return text;
  }

  /** Opens the endpoint of a title that a search finds. */
  async find(words: string, title: string): Promise<void> {
    await this.type(this.page.getByRole("searchbox"), words);
    // The list is read up to what fits.
    const shown = this.page.locator(".rows .title");
    await expect.poll(() => shown.allInnerTexts()).toContain(title);
    const titles = await shown.allInnerTexts();
    this.seconds +=
      titles
        .slice(0, titles.indexOf(title) + 1)
        .join(" ")
        .split(" ").length * READ;
    await this.click(this.page.locator(".rows a").filter({ hasText: title }).first());
  }

  async useKey(key: string): Promise<void> {
    await this.paste(this.page.getByLabel("API key, kept in this tab only"), key);
    await this.click(this.page.getByRole("button", { name: "Use key" }));
    await this.page
      .getByText(/\(tier\d\)/)
      .first()
      .waitFor();
  }

  async guide(section: string): Promise<Locator> {
    await this.click(this.page.getByRole("link", { name: "Guide", exact: true }));
    await this.click(this.page.locator("nav").getByRole("link", { name: section, exact: true }));
    return this.page.locator("section").filter({ has: this.page.getByRole("heading", { name: section }) });
  }
}

const VOLUME = "Volume per day, USD";
const PER_BRIDGE = "Volume per bridge and day, USD";

const only = async (sql: string): Promise<string> => String((await query(sql))[0]?.["value"]);
const ofAll = (value: string, more = ""): Promise<string> =>
  only(`SELECT (${value})::text AS value FROM analytics.api_bridges_volume_daily ${more}`);
const ofBridges = (value: string, more = ""): Promise<string> =>
  only(`SELECT (${value})::text AS value FROM analytics.api_bridges_volume_per_bridge_daily ${more}`);

const url = needs("chromium") ? await serveManifest(await largeManifest(), { RATE_LIMITS: "100000" }) : "";
if (url !== "") await untilFigures(url);

describe.skipIf(!needs("chromium"))("a consumer finds from the first page, within a minute,", () => {
  const browser = suiteBrowser();

  const task = (name: string, run: (reader: Reader) => Promise<void>): void =>
    it(name, async () => {
      const { page, problems } = await visit(browser.context, url, "/explore", { width: 1440 });
      await page.locator(".headline li").first().waitFor();
      const reader = new Reader(page);
      await run(reader);
      expect(reader.seconds).toBeLessThan(60);
      expect(problems).toEqual([]);
    });

  task("the latest volume of all bridges", async (reader) => {
    const figure = reader.page.locator(".headline li").first();
    await reader.read(figure, VOLUME);
    const exact = (await figure.locator(".number").getAttribute("title"))?.replaceAll(",", "");
    expect(exact).toBe(await ofAll("volume_usd", "ORDER BY date DESC LIMIT 1"));
  });

  task("the bridge that has moved most", async (reader) => {
    await reader.useKey(KEYS.tier3);
    await reader.find("volume per bridge", PER_BRIDGE);
    await reader.click(reader.page.getByRole("button", { name: "Chart", exact: true }));
    await reader.choose(reader.page.locator(".controls select").first(), "bridge");
    await reader.page.getByText("Computed from all rows.").waitFor();
    const largest = await ofBridges("bridge", "GROUP BY bridge ORDER BY sum(volume_usd) DESC LIMIT 1");
    await reader.read(reader.page.locator(".readout"), largest);
  });

  task("the rows of one bridge in a quarter", async (reader) => {
    await reader.useKey(KEYS.tier3);
    await reader.find("volume per bridge", PER_BRIDGE);
    for (const [name, value] of [
      ["bridge", "tidegate"],
      ["start_date", "2026-01-01"],
      ["end_date", "2026-03-31"],
    ] as const)
      await reader.type(reader.page.getByLabel(name, { exact: true }), value);
    await reader.click(reader.page.getByRole("button", { name: "Run" }));
    await reader.page.getByText("bridge is one of tidegate").waitFor();
    const rows = await ofBridges(
      "count(*)",
      "WHERE bridge = 'tidegate' AND date BETWEEN '2026-01-01' AND '2026-03-31'",
    );
    expect(await reader.read(reader.page.locator(".place"), `${rows} rows`)).toBe(`${rows} rows`);
  });

  task("all rows as a file for Excel", async (reader) => {
    await reader.find("volume per day", VOLUME);
    await reader.click(reader.page.getByRole("button", { name: "Download all rows" }));
    const download = reader.page.waitForEvent("download");
    await reader.click(reader.page.getByRole("button", { name: "Download CSV" }));
    const lines = readFileSync(await (await download).path(), "utf8")
      .trim()
      .split("\r\n");
    expect(String(lines.length - 1)).toBe(await ofAll("count(*)"));
  });

  task("the call of an endpoint in pandas", async (reader) => {
    await reader.find("volume per day", VOLUME);
    await reader.click(reader.page.getByRole("button", { name: "pandas" }));
    const code = reader.page.getByRole("region", { name: "Request as code" });
    await expect.poll(() => code.innerText()).toContain("import pandas");
    expect(await code.innerText()).toContain("/v1/bridges/volume/daily");
  });

  task("the values of a column", async (reader) => {
    await reader.useKey(KEYS.tier3);
    await reader.find("volume per bridge", PER_BRIDGE);
    await reader.click(reader.page.getByRole("button", { name: "Column bridge" }));
    const values = reader.page.getByRole("group", { name: "Values of bridge" });
    await values.getByRole("button").first().waitFor();
    await reader.read(values);
    const distinct = Number(await ofBridges("count(DISTINCT bridge)"));
    await expect.poll(() => values.getByRole("button").count()).toBe(distinct);
  });

  task("until which day the data are", async (reader) => {
    await reader.find("volume per day", VOLUME);
    await reader.page.locator(".rowsview").waitFor();
    await reader.read(reader.page.locator(".answer .facts"), `data until ${await ofAll("max(date)")}`);
  });

  task("how a key is sent", async (reader) => {
    const section = await reader.guide("Authenticate");
    await reader.read(section.locator("p").first(), "X-API-Key");
  });

  task("what to do about a 429", async (reader) => {
    const section = await reader.guide("Errors");
    const row = section.locator("tr").filter({ hasText: "429" });
    await reader.read(row, "Retry-After");
  });

  task("how all pages are read", async (reader) => {
    const section = await reader.guide("Page through all rows");
    await reader.read(section.locator("p").first(), 'rel="next"');
  });

  task("a chart for another page", async (reader) => {
    await reader.find("volume per day", VOLUME);
    await reader.click(reader.page.getByRole("button", { name: "Chart", exact: true }));
    await reader.click(reader.page.getByRole("button", { name: "Embed", exact: false }));
    const embedded = reader.page.getByRole("region", { name: "Embedded chart" });
    await expect.poll(() => embedded.innerText()).toMatch(/^<iframe /);
    const lines = await embedded.innerText();
    const [, address = ""] = /src="([^"]+)"/.exec(lines) ?? [];
    expect((await fetch(address.replaceAll("&amp;", "&"))).status).toBe(200);
  });

  task("how changes are followed", async (reader) => {
    const section = await reader.guide("Follow changes");
    const [, address = ""] = /'(http[^']+)'/.exec(await reader.read(section.locator(".code").first())) ?? [];
    expect((await fetch(address)).status).toBe(200);
  });

  it("while the first page loads at most 65 kB", async () => {
    const page = await browser.context.newPage();
    const loaded: string[] = [];
    page.on("requestfinished", (request) => loaded.push(request.url()));
    await page.goto(`${url}/explore`);
    await page.locator(".headline li").first().waitFor();
    await page.waitForLoadState("networkidle");
    await page.close();
    const addresses = loaded.filter((address) => address.startsWith(url));
    expect(addresses.length).toBeGreaterThan(8);
    const sizes = await Promise.all(addresses.map(compressedSize));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(65_000);
  });
});

/** Bytes of a body as they are sent. */
function compressedSize(address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(address, { headers: { "accept-encoding": "gzip" } }, (response) => {
      let bytes = 0;
      response.on("data", (part: Buffer) => (bytes += part.length));
      response.on("end", () => resolve(bytes));
    }).on("error", reject);
  });
}
