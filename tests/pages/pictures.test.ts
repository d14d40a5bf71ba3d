/** Every page at every width, in both themes, with few endpoints and with many: `PICTURES=<folder>` keeps the pictures. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { databaseUrl } from "../support/database.js";
import { needs } from "../support/needs.js";
import { KEYS, startFolder, startManifest } from "../support/service.js";
import { suiteBrowser } from "./browser.js";
import { largeManifest } from "./catalogues.js";
import { expectAccessible, untilFigures, visit } from "./explorer/page.js";

const GENERATED = fileURLToPath(new URL("../../generated", import.meta.url));
const VOLUME = "/explore?endpoint=/v1/bridges/volume_per_bridge/daily";

/** Addresses, and the first row, field or figure of each, which stands in the first screen of a phone. */
const PAGES = {
  start: ["/explore", ".headline li"],
  category: ["/explore?category=bridges", ".rows a"],
  search: ["/explore?q=volume", ".rows a"],
  table: [VOLUME, ".rowsview tbody tr"],
  chart: [`${VOLUME}&view=chart`, ".plot"],
  bars: [`${VOLUME}&view=chart&x=bridge`, ".plot"],
  json: [`${VOLUME}&view=json`, ".output .code"],
  missing: ["/explore?endpoint=/v1/none", "h2"],
  embed: ["/explore/embed?endpoint=/v1/bridges/volume/daily", ".plot"],
  guide: ["/guide", "#guide .code"],
  status: ["/status", "#status tbody tr"],
  docs: ["/docs", ".opblock-tag"],
  redoc: ["/redoc", "#redoc h1"],
} as const;

const FOLDER = process.env["PICTURES"];
const WIDTHS = FOLDER === undefined ? [390] : [1440, 1024, 390];
const THEMES = FOLDER === undefined ? (["dark"] as const) : (["light", "dark"] as const);

describe.skipIf(!needs("chromium"))("every page", () => {
  const browser = suiteBrowser();

  const look = async (url: string, endpoints: string) => {
    await untilFigures(url);
    for (const [name, [path, first]] of Object.entries(PAGES))
      for (const width of WIDTHS)
        for (const colorScheme of THEMES) {
          const what = `${name}-${endpoints}-${String(width)}-${colorScheme}`;
          const visited = await visit(browser.context, url, "/health", {
            ...{ colorScheme, width, key: KEYS.tier3 },
          });
          const { page, problems } = visited;
          if (width === 390) await page.setViewportSize({ width, height: 844 });
          await page.goto(url + path);
          const box = await page.locator(first).first().boundingBox();
          await page.waitForLoadState("networkidle");
          if (FOLDER !== undefined) {
            mkdirSync(FOLDER, { recursive: true });
            await page.screenshot({ path: join(FOLDER, `${what}.png`) });
          }
          const [wide, high] = await page.evaluate<[number, number]>(
            "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]",
          );
          expect([what, wide, box === null ? null : box.y < 844, problems]).toEqual([what, width, true, []]);
          // The list of all endpoints below it is of categories.
          if (name === "start") expect([what, high < 9000]).toEqual([what, true]);
          if (endpoints === "503" && colorScheme === "dark") await expectAccessible(page);
          await page.close();
        }
  };

  it("with the starter's endpoints shows what it is about on the first screen, and scrolls no way but down", async () => {
    const { url } = await startFolder(GENERATED, { DATABASE_URL: databaseUrl, RATE_LIMITS: "100000" });
    await look(url, "28");
  }, 1_800_000);

  it("with 503 endpoints does the same, and has no accessibility violation", async () => {
    const { url } = await startManifest(await largeManifest(), { RATE_LIMITS: "100000" });
    await look(url, "503");
  }, 1_800_000);
});
