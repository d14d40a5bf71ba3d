import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { starterManifest } from "../end-to-end/starter.js";
import { KEYS, serveManifest } from "../support/service.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { expectAccessible, openPage, type Visit, visit } from "./explorer/page.js";
import { suiteBrowser } from "./browser.js";

const url = await serveManifest(starterManifest());

/** A part of the starter: each operation more takes Swagger UI longer at every click. */
const SHOWN = /volume_(daily|weekly|last_7d)$|_cards_merchants$|_altchain_card_active_users_last_7d$/;
function partOfStarter(): unknown {
  const { nodes, ...rest } = starterManifest() as { readonly nodes: Readonly<Record<string, Node>> };
  const kept = Object.entries(nodes).filter(
    ([id, { tags }]) => !tags.some((tag) => tag.startsWith("api:")) || SHOWN.test(id),
  );
  return { ...rest, nodes: Object.fromEntries(kept) };
}
interface Node {
  readonly tags: readonly string[];
}
const starter = await serveManifest(partOfStarter());

/** Few operations: axe looks at every pair of colours, and a large page takes it a minute. */
const shop = await serveManifest(
  manifestOf(
    ["one", "two"].map((name) => ({
      name,
      tags: ["production", "shop", "tier1", `api:${name}`],
      columns: { day: "date", n: "int" },
      description: "Words with `code`.",
      api: {
        methods: ["GET", "POST"],
        parameters: [
          { name: "start", column: "day", operator: ">=", type: "date", description: "The first `day`." },
          { name: "end", column: "day", operator: "<=", type: "date" },
        ],
        // The body is one of several alternatives.
        require_any_of: ["start", "end"],
      },
    })),
  ),
);

/** More operations than Redoc draws at once. */
const names = Array.from({ length: 70 }, (_, i) => `metric_${String(i).padStart(2, "0")}`);
const many = manifestOf(
  names.map((name, i) => ({
    name,
    tags: ["production", i < 50 ? "many" : "others", `api:${name}`],
    columns: { day: "date", n: "int" },
    description: "Words.",
  })),
);
const large = await serveManifest(many);

describe.skipIf(!needs("chromium"))("in a browser", () => {
  const browser = suiteBrowser();

  /** `/docs` and `/redoc` of that part, opened once. */
  let docs: Visit, redoc: Visit;

  beforeAll(async () => {
    docs = await openPage(browser.context, starter, "/docs");
    redoc = await openPage(browser.context, starter, "/redoc");
  });

  const operation = (id: string) => docs.page.locator(`#operations-${id}`);

  // Chromium draws the page in front alone: a click on another takes two seconds.
  beforeEach(() => docs.page.bringToFront());

  /** Tries an operation out, which answers 200; the table of its response. */
  async function execute(id: string) {
    await operation(id).locator(".opblock-summary-control").click();
    await operation(id).getByRole("button", { name: "Try it out" }).click();
    await operation(id).getByRole("button", { name: "Execute" }).click();
    const answer = operation(id).locator(".live-responses-table");
    await answer.waitFor();
    await expect.poll(() => answer.locator(".response-col_status").last().innerText()).toContain("200");
    return answer;
  }

  it("/docs shows every operation and asks no other host for anything", async () => {
    const { page, problems } = docs;
    await page.locator(".opblock-tag").first().waitFor();
    for (const tag of ["bridges", "cards", "altchain"])
      await expect.poll(() => page.locator(`#operations-tag-${tag}`).count()).toBe(1);
    expect(await page.title()).not.toBe("");
    await page.locator("#operations-bridges-get_bridges_volume_last_7d").waitFor();
    await page.waitForLoadState("networkidle");
    expect(problems).toEqual([]);
  });

  it("/docs tries a public endpoint out and shows its rows", async () => {
    const answer = await execute("bridges-get_bridges_volume_last_7d");
    await expect.poll(() => answer.innerText()).toMatch(/"prev_value": -?\d/);
    await expect.poll(() => answer.innerText()).toContain("x-ratelimit-remaining");
    expect(docs.problems).toEqual([]);
  });

  it("/docs takes a key and sends it", async () => {
    const { page } = docs;
    await page.locator("button.authorize").click();
    await page.locator(".modal-ux input[type=text]").fill(KEYS.tier3);
    await page.locator(".modal-ux button.authorize").click();
    await page.locator(".modal-ux .btn-done").click();
    const answer = await execute("altchain-get_altchain_altchain_card_active_users_last_7d");
    await expect.poll(() => answer.innerText()).toContain("as_of_date");
  });

  it("a key that is entered once works in all documents of the tab, and in no other tab", async () => {
    const { page } = await visit(browser.context, starter, "/explore");
    await page.getByLabel("API key").fill(KEYS.tier3);
    await page.getByRole("button", { name: "Use key" }).click();
    await page.locator("#caller").getByText("Internal (tier3)").waitFor();
    await page.goto(`${starter}/docs`);
    const block = page.locator("#operations-altchain-get_altchain_altchain_card_active_users_last_7d");
    await block.locator(".opblock-summary-control").click();
    await block.getByRole("button", { name: "Try it out" }).click();
    await block.getByRole("button", { name: "Execute" }).click();
    await block.locator(".live-responses-table").getByText("as_of_date").first().waitFor();
    // Taken back here, it is gone in the explorer; given here, it is there.
    await page.locator("button.authorize").first().click();
    await page.locator(".modal-ux").getByRole("button", { name: "Remove authorization" }).click();
    await expect.poll(() => page.evaluate("sessionStorage.getItem('routewright.key')")).toBe("");
    await page.locator(".modal-ux input[type=text]").fill(KEYS.tier1);
    await page.locator(".modal-ux button.authorize").click();
    await page.goto(`${starter}/guide`);
    await page.getByText("This tab calls as Partner (tier1).").waitFor();
    expect(await page.evaluate("JSON.stringify({ ...localStorage })")).not.toContain("sk_live");
    const { page: other } = await visit(browser.context, starter, "/guide");
    await other.getByText("This tab calls as Public (tier0).").waitFor();
  });

  it("/redoc shows every operation with its tier, finds what is searched for, and asks no other host for anything", async () => {
    const { page, problems } = redoc;
    await page.locator("#redoc h1").first().waitFor();
    const text = await page.locator("#redoc").innerText();
    expect(text).toContain("/v1/bridges/volume/last_7d");
    expect(text).toContain("/v1/altchain/altchain_card_active_users/last_7d");
    await expect
      .poll(() => page.locator("[id='tag/cards/operation/get_cards_merchants']").innerText())
      .toContain("Partner");
    await page.locator("input[type=text]").fill("merchants");
    await page.locator("[data-role='search:results'] li").first().waitFor();
    await expect.poll(() => page.locator("[data-role='search:results']").innerText()).toMatch(/merchants/i);
    await page.waitForLoadState("networkidle");
    expect(problems).toEqual([]);
  });

  it.each([
    ["/docs", ".opblock"],
    ["/redoc", "#redoc h1"],
    ["/explore", "main a"],
  ])("%s shows descriptions without elements that lead away", async (path, part) => {
    const away = `<meta http-equiv="refresh" content="0; url=/away"><script src="/away"></script><b>bold</b>`;
    const model = { name: "one", description: `Words. ${away}` };
    const { page } = await visit(browser.context, await serveManifest(manifestOf([model])), path);
    await page.locator(part).first().waitFor();
    await page.waitForLoadState("networkidle");
    await expect.poll(() => new URL(page.url()).pathname).toBe(path);
    expect(await page.locator("body meta, body script[src='/away']").count()).toBe(0);
  });

  it("/docs shows the tier of each operation, and a padlock on those that need a key alone", async () => {
    const open = operation("bridges-get_bridges_volume_last_7d");
    await expect.poll(() => open.locator(".tier").innerText()).toBe("Public");
    await expect.poll(() => open.locator(".authorization__btn").isVisible()).toBe(false);
    const closed = operation("cards-get_cards_merchants");
    await expect.poll(() => closed.locator(".tier").innerText()).toBe("Partner");
    await expect.poll(() => closed.locator(".authorization__btn").isVisible()).toBe(true);
  });

  it("no script names a source map that is not served", async () => {
    const pages = ["/docs", "/redoc", "/explore", "/guide", "/status", "/explore/embed"];
    const texts = await Promise.all(pages.map(async (path) => (await fetch(starter + path)).text()));
    const named = texts.flatMap((text) => [...text.matchAll(/src="(?:\.\.\/)?(docs\/[^"]+)"/g)]);
    const scripts = new Set(named.map(([, path = ""]) => path));
    expect(scripts.size).toBeGreaterThan(5);
    const maps = await Promise.all(
      [...scripts].map(async (path) =>
        [
          ...(await (await fetch(`${starter}/${path}`)).text()).matchAll(/# sourceMappingURL=[\w.-]+\.map/g),
        ].map(([map]) => `${path} ${map}`),
      ),
    );
    expect(maps.flat()).toEqual([]);
  });

  it("both documents are sent compressed", async () => {
    for (const [{ page }, most] of [
      [docs, 650_000],
      [redoc, 450_000],
    ] as const) {
      await page.waitForLoadState("networkidle");
      const bytes = await page.evaluate<number>(
        `performance.getEntriesByType("resource").reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
      );
      expect(bytes).toBeGreaterThan(100_000);
      expect(bytes).toBeLessThan(most);
    }
  });

  it("/docs names the errors of an operation, and shows their common body and headers nowhere but at the top", async () => {
    const block = operation("bridges-get_bridges_volume_weekly");
    await block.locator(".opblock-summary-control").click();
    const response = (status: string) => block.locator(`.responses-table .response[data-code="${status}"]`);
    await response("404").waitFor();
    await expect.poll(() => response("404").innerText()).toMatch(/^404\s+The path no longer exists\.$/);
    await expect.poll(() => response("200").locator("pre").isVisible()).toBe(true);
    const introduction = docs.page.locator(".info");
    expect(await introduction.innerText()).not.toContain("The path no longer exists.");
    await introduction.getByText("Limits, errors, formats").click();
    await expect.poll(() => introduction.innerText()).toContain("The path no longer exists.");
    await introduction.getByText("Limits, errors, formats").click();
  });

  it.each([
    ["/docs", ".opblock-get .opblock-summary-control", "light", 1280],
    ["/docs", ".opblock-post .opblock-summary-control", "dark", 390],
    ["/redoc", "#redoc h1", "light", 390],
    ["/redoc", "#redoc h1", "dark", 1280],
  ] as const)(
    "%s has no accessibility violation: %s, %s, %i wide",
    async (path, part, colorScheme, width) => {
      const { page, problems } = await visit(browser.context, shop, path, { colorScheme, width });
      await page.locator(part).first().click();
      await page.waitForLoadState("networkidle");
      // The page's script applies its fixes in the next frame.
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      await expectAccessible(page);
      await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      expect(problems).toEqual([]);
    },
  );

  it("/docs begins with Authorize and the first endpoints", async () => {
    const { page } = await visit(browser.context, starter, "/docs");
    for (const part of ["button.authorize", ".opblock"]) {
      const box = await page.locator(part).first().boundingBox();
      expect(box && box.y + box.height, part).toBeLessThan(900);
    }
  });

  it("all documents have the same type, and begin at the same edge", async () => {
    const looks = [];
    for (const [path, part] of [
      ["/explore", ".welcome"],
      ["/guide", "article p"],
      ["/docs", ".info p"],
      ["/redoc", ".api-info p"],
    ] as const) {
      const { page } = await visit(browser.context, shop, path);
      await page.locator(part).first().waitFor();
      const read = (script: string) => page.evaluate<string>(script);
      looks.push([
        await read(`getComputedStyle(document.querySelector("${part}")).fontFamily`),
        await read(`String(document.querySelector("header h1").getBoundingClientRect().left)`),
      ]);
    }
    expect(new Set(looks.map((look) => look.join(" "))).size).toBe(1);
  });

  describe("with more operations than fit a page", () => {
    it("/redoc shows a part at a time, which the address and links to an operation choose", async () => {
      const { page, problems } = await visit(browser.context, large, "/redoc");
      const shown = () => page.locator("[data-section-id*='/operation/'] h2").allTextContents();
      await page.locator("#redoc h1").first().waitFor();
      await expect.poll(() => shown()).toHaveLength(10);
      await page.locator(".parts select").selectOption({ label: "many, 5: metric_40 to metric_49 (10)" });
      await page.waitForURL(/\?part=many/);
      await page.locator("[data-section-id*='/operation/'] h2").first().waitFor();
      expect((await shown()).map((text) => text.trim())).toEqual(
        Array.from({ length: 10 }, (_, i) => 40 + i).map(
          (n) => expect.stringContaining(`Metric ${String(n)}`) as string,
        ),
      );
      await expectAccessible(page);
      const link = "/redoc#tag/others/operation/get_others_metric_69";
      const { page: later } = await visit(browser.context, large, link);
      await later.getByText("/v1/others/metric_69").first().waitFor();
      expect(problems).toEqual([]);
    });

    it("/docs lists the categories, and draws operations when one is opened", async () => {
      const { page, problems } = await visit(browser.context, large, "/docs");
      await page.locator("#operations-tag-others").waitFor();
      await expect.poll(() => page.locator(".opblock").count()).toBe(0);
      await page.locator("#operations-tag-others").click();
      await page.locator("#operations-others-get_others_metric_69 .opblock-summary-control").click();
      const block = page.locator("#operations-others-get_others_metric_69");
      await block.locator(".response[data-code='200'] pre").first().waitFor();
      await expect
        .poll(() => block.locator(".response[data-code='200'] pre").first().innerText())
        .toContain('"day"');
      await block.locator(".response[data-code='404']").getByText("The path no longer exists.").waitFor();
      expect(problems).toEqual([]);
    });
  });

  it("the filter of /docs opens what it finds, by path and title", async () => {
    const { page, problems } = await visit(browser.context, large, "/docs");
    const paths = () => page.locator(".opblock-summary-path").allTextContents();
    const filter = page.getByRole("textbox", { name: "Filter by path, title or tag" });
    await filter.fill("others metric_69");
    await expect.poll(paths).toEqual([expect.stringContaining("/v1/others/metric_69")]);
    await filter.fill("Metric 48");
    await expect.poll(paths).toEqual([expect.stringContaining("/v1/many/metric_48")]);
    await filter.fill("nothing of that name");
    await expect.poll(paths).toEqual([]);
    await filter.fill("");
    await page.locator("#operations-tag-others").waitFor();
    await expect.poll(() => paths()).toEqual([]);
    expect(problems).toEqual([]);
  });

  it("all documents have one header and one theme, the system's until the button chooses", async () => {
    const headers = [];
    for (const path of ["/explore", "/docs", "/redoc"]) {
      const { page } = await visit(browser.context, shop, path, { colorScheme: "dark" });
      const ground = () =>
        page.evaluate<string>("getComputedStyle(document.querySelector('body')).backgroundColor");
      const [dark, light] = ["rgb(15, 20, 27)", "rgb(246, 247, 249)"];
      await expect.poll(ground).toBe(dark);
      headers.push(
        await page.locator("header.frame h1, header.frame nav, header.frame #theme").allInnerTexts(),
        await page.locator("nav [aria-current]").getAttribute("href"),
      );
      await page.emulateMedia({ colorScheme: "light" });
      await expect.poll(ground).toBe(light);
      await page.getByRole("button", { name: "Dark theme" }).click();
      await expect.poll(ground).toBe(dark);
      const { page: later } = await visit(browser.context, shop, path);
      await expect.poll(() => later.evaluate("document.documentElement.className")).toBe("dark-mode");
      await page.getByRole("button", { name: "Light theme" }).click();
      await expect.poll(ground).toBe(light);
      // The page follows the system again.
      await page.emulateMedia({ colorScheme: "dark" });
      await expect.poll(ground).toBe(dark);
    }
    const header = [
      "Routewright Data API",
      "Explore\nGuide\nStatus\nSwagger UI\nRedoc\nOpenAPI",
      "Light theme",
    ];
    expect(headers).toEqual([header, "explore", header, "docs", header, "redoc"]);
  });
});

it("/llms.txt names every endpoint, and says which need a key", async () => {
  const response = await fetch(`${url}/llms.txt`);
  const text = await response.text();
  expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
  expect(text).toMatch(/^# .+\n\n> /);
  expect(text.match(/^- \[.+\]\(\/v1\//gm)).toHaveLength(28);
  expect(text).toContain("- [Volume per day, USD](/v1/bridges/volume/daily): Volume over all");
  expect(text).toMatch(/\/v1\/cards\/payers\/rolling_180d\): .* \(needs Premium\)/);
});
