/** The status of all endpoints, as a page and as a feed: what the catalogue shows the caller, and no more. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { ownDatabase, ownSchema, queryAt } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { KEYS, ownInstallation, startFolder, startManifest } from "../support/service.js";
import { suiteBrowser } from "./browser.js";
import { expectAccessible, visit } from "./explorer/page.js";

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT 1 AS id, date '2026-01-01' AS day");
const model = (name: string, routewright: object = {}, more: object = {}) => ({
  ...{
    name,
    schema,
    alias: "sales",
    columns: { id: "int", day: "date" },
    materialized: "table",
    routewright,
  },
  ...{ tags: ["production", "shop", `api:${name}`, "tier0"], ...more },
});
const HOSTILE = '<b>"&';
const manifest = manifestOf([
  model("fresh", { fresh_within: "26h" }),
  model("late", { fresh_within: "26h", title: HOSTILE }),
  model("unbuilt", { fresh_within: "26h" }),
  model("broken", { on_failed_test: "refuse" }, { key: "id" }),
  model("leaving", {}, { sunset: "2027-01-31" }),
  model("plain"),
  model("secret", { fresh_within: "1h" }, { tags: ["production", "staff", "tier2", "api:secret"] }),
]);

const HOUR = 3_600_000;
const ago = (hours: number): number => Date.now() - hours * HOUR;

async function started(variables: Readonly<Record<string, string>> = {}): Promise<string> {
  const { url, recordBuilds } = await startManifest(manifest, { METRICS_PUBLIC: "false", ...variables });
  const build = (name: string, hours: number) => ({ node: `model.test.${name}`, completedAt: ago(hours) });
  recordBuilds(
    [build("fresh", 1), build("late", 30), build("broken", 2), build("secret", 9)],
    ["unique", "not_null"].map((test) => ({
      ...{ test: `test.test.${test}_broken_id`, completedAt: ago(1), failures: 2 },
      status: "fail" as const,
    })),
  );
  return url;
}

const url = await started();
const hidden = await started({ CATALOGUE: "allowed" });

async function feed(base: string, key?: string): Promise<string> {
  const response = await fetch(
    `${base}/v1/system/status.atom`,
    key === undefined ? {} : { headers: { "x-api-key": key } },
  );
  expect(response.headers.get("content-type")).toBe("application/atom+xml; charset=utf-8");
  expect(response.headers.get("vary")).toContain("X-API-Key");
  return response.text();
}

const entriesOf = (text: string): readonly string[] =>
  [...text.matchAll(/<title>([^<]*: [^<]*)<\/title>/g)].map(([, title = ""]) => title).slice(1);

describe("the feed of the status", () => {
  it("has an entry of each endpoint that is late, failed or deprecated, as the caller sees it", async () => {
    const open = [
      "/v1/shop/broken: failed",
      "/v1/shop/late: late",
      "/v1/shop/leaving: deprecated",
      "/v1/shop/unbuilt: late",
    ];
    expect([...entriesOf(await feed(url))].sort()).toEqual(open);
    expect([...entriesOf(await feed(hidden))].sort()).toEqual(open);
    expect([...entriesOf(await feed(hidden, KEYS.tier2))].sort()).toEqual([
      ...open,
      "/v1/staff/secret: late",
    ]);
    expect(await feed(hidden)).not.toContain("secret");
  });

  it("keeps the id of an entry while nothing changes, and says since when", async () => {
    const [first, second] = [await feed(url), await feed(url)];
    expect(second).toBe(first);
    const [, since = ""] = /late<\/title>\s*<updated>([^<]*)<\/updated>/.exec(first) ?? [];
    expect(Math.round((Date.now() - Date.parse(since)) / HOUR)).toBe(4);
    expect(first).toContain("2 of its tests failed; no rows are served");
  });
});

it("says of what will go that it is news since the changelog named it, whenever the server started", async () => {
  const folder = ownInstallation(manifest);
  const change = {
    ...{
      endpoint: "/v1/shop/leaving",
      tier: "tier0",
      kind: "endpoint-deprecated",
      title: "Endpoint deprecated",
    },
    ...{ severity: "warning", subject: null, before: null, after: "2027-01-31T00:00:00Z" },
  };
  const changelog = { entries: [{ date: "2026-08-15", changes: [change] }] };
  writeFileSync(join(folder, "generated/changelog.json"), JSON.stringify(changelog));
  const service = await startFolder(join(folder, "generated"));
  expect(await feed(service.url)).toMatch(
    /leaving: deprecated<\/title>\s*<updated>2026-08-15T00:00:00Z<\/updated>/,
  );
});

describe.skipIf(!needs("chromium"))("the explorer and the guide", () => {
  const browser = suiteBrowser();

  it("show the tests of the model and of each column, and what a failed one means", async () => {
    const { page, problems } = await visit(browser.context, url, "/explore?endpoint=/v1/shop/broken");
    const facts = page.locator("dl.facts div", { hasText: "Tests" });
    await facts.waitFor();
    await expect.poll(() => facts.innerText()).toMatch(/2 failed.*; no rows are served while one fails/s);
    const columns = page.getByRole("region", { name: "Columns" });
    await expect.poll(() => columns.locator("thead").innerText()).toMatch(/Tests/);
    const cells = await columns.locator("tbody tr").allInnerTexts();
    expect(cells.map((row) => /2 failed/.test(row))).toEqual([true, false]);
    await expectAccessible(page);
    await page.goto(`${url}/guide`);
    const tested = page.getByRole("region", { name: "Tested" });
    await tested.waitFor();
    const lines = await tested.locator("tbody tr").allInnerTexts();
    expect(lines.map((line) => line.replaceAll(/\s+/g, " "))).toEqual([
      "/v1/shop/broken failed 1 hour ago refused while a test fails",
    ]);
    // The rows that the explorer asks for are refused.
    expect(problems.filter((problem) => !problem.includes("503"))).toEqual([]);
  });
});

describe.skipIf(!needs("chromium"))("the strip of 90 days on /status", () => {
  const browser = suiteBrowser();
  const DAYS = 90;
  const dayAgo = (days: number): string => new Date(Date.now() - days * 24 * HOUR).toISOString().slice(0, 10);

  /** A server whose database knows what endpoints were so many days ago. */
  async function withHistory(days: readonly (readonly [path: string, ago: number, state: string])[]) {
    const database = await ownDatabase();
    await queryAt(
      database,
      `CREATE SCHEMA routewright; CREATE TABLE routewright.endpoint_days (day date NOT NULL, path text NOT NULL,
         fresh boolean NOT NULL, late boolean NOT NULL, failed boolean NOT NULL, PRIMARY KEY (day, path))`,
    );
    const values = days.map(([path, days, states]) => {
      const is = ["fresh", "late", "failed"].map((state) => String(states.includes(state)));
      return `('${dayAgo(days)}', '${path}', ${is.join(", ")})`;
    });
    await queryAt(database, `INSERT INTO routewright.endpoint_days VALUES ${values.join(", ")}`);
    return started({ DATABASE_URL: database, USAGE_ENABLED: "true" });
  }

  /** The strip of an endpoint: what each part says, and its width as a part of the whole. */
  async function stripOf(page: Page, path: string) {
    const strip = page.locator("#status tr", { hasText: path }).locator(".history");
    const whole = (await strip.boundingBox())?.width ?? 0;
    const parts = await strip.locator("span").all();
    const colors = await page.evaluate<readonly string[]>(
      `[...[...document.querySelectorAll("#status tr")].find((row) => row.innerText.includes("${path}"))
         .querySelectorAll(".history span")].map((part) => getComputedStyle(part).backgroundColor)`,
    );
    const drawn = parts.map(async (part, i) => {
      const { width = 0 } = (await part.boundingBox()) ?? {};
      const days = Math.round((width / whole) * DAYS);
      return { title: await part.getAttribute("title"), days, color: colors[i] };
    });
    return { label: await strip.getAttribute("aria-label"), parts: await Promise.all(drawn) };
  }

  it.each([
    [1440, "light"],
    [390, "dark"],
  ] as const)(
    "draws each day as the worst that the endpoint was, %i wide and %s",
    async (width, colorScheme) => {
      const path = "/v1/shop/fresh";
      const base = await withHistory([
        ...[89, 88, 87, 4].map((ago) => [path, ago, "fresh"] as const),
        ...[3, 2].map((ago) => [path, ago, "fresh late"] as const),
        [path, 1, "fresh late failed"],
        ["/v1/staff/secret", 1, "late"],
      ]);
      const { page, problems } = await visit(browser.context, base, "/status", { width, colorScheme });
      await page.locator("#status .history").first().waitFor();
      const { label, parts } = await stripOf(page, path);
      // The server may have noted today by now.
      const past = parts.slice(0, 5);
      expect(past.map(({ title, days }) => [title, days])).toEqual([
        [`fresh: ${dayAgo(89)} to ${dayAgo(87)}`, 3],
        [`not known: ${dayAgo(86)} to ${dayAgo(5)}`, 82],
        [`fresh: ${dayAgo(4)}`, 1],
        [`late: ${dayAgo(3)} to ${dayAgo(2)}`, 2],
        [`failed: ${dayAgo(1)}`, 1],
      ]);
      expect(parts).toHaveLength(6);
      expect(new Set(past.map(({ color }) => color)).size).toBe(4);
      expect(label).toMatch(/^Last 90 days: fresh on [78] days, late on 3, failed on 1$/);
      await expect
        .poll(() => page.locator("#status").innerText())
        .toContain("Each strip is the last 90 days");
      // Of an endpoint without promise and tests nothing is known, and of one with another key nothing is shown.
      for (const other of ["/v1/shop/plain", "/v1/staff/secret"])
        await expect
          .poll(() => page.locator("#status tr", { hasText: other }).locator(".history").count())
          .toBe(0);
      await expectAccessible(page);
      await expect
        .poll(() => page.evaluate("document.documentElement.scrollWidth"))
        .toBeLessThanOrEqual(width);
      expect(problems).toEqual([]);
    },
  );

  it("is not drawn without a database, and the page says so", async () => {
    const { page } = await visit(browser.context, url, "/status");
    await page.locator("#status tbody tr").first().waitFor();
    await expect.poll(() => page.locator(".history").count()).toBe(0);
    await expect.poll(() => page.locator("#status").innerText()).toContain("There is no history");
  });
});

describe.skipIf(!needs("chromium"))("/status", () => {
  const browser = suiteBrowser();
  const open = async (base: string, options: object = {}) => {
    const visited = await visit(browser.context, base, "/status", options);
    await visited.page.locator("#status tbody tr").first().waitFor();
    return visited;
  };

  it("shows what is late, failed or deprecated first, and each endpoint once", async () => {
    const { page, problems } = await open(url, { key: KEYS.tier3 });
    const rows = await page.locator("#status tbody tr").allInnerTexts();
    const paths = rows.map((row) => /\/v1\/\w+\/\w+/.exec(row)?.[0]);
    expect(paths.slice(0, 1)).toEqual(["/v1/shop/broken"]);
    expect([...paths.slice(1, 4)].sort()).toEqual(["/v1/shop/late", "/v1/shop/unbuilt", "/v1/staff/secret"]);
    expect(paths[4]).toBe("/v1/shop/leaving");
    expect([...paths.slice(5)].sort()).toEqual(["/v1/shop/fresh", "/v1/shop/plain"]);
    await expect
      .poll(() => page.locator("#status > p").first().innerText())
      .toBe("7 endpoints: 1 failed, 3 late, 1 deprecated, 1 fresh, 1 no promise.");
    expect(problems).toEqual([]);
  });

  it("shows a caller without a key nothing of what it may not call", async () => {
    const { page } = await open(hidden);
    expect(await page.locator("#status").innerText()).not.toContain("secret");
    const { page: locked } = await open(url);
    const row = locked.locator("tr", { hasText: "/v1/staff/secret" });
    await expect.poll(() => row.innerText()).toContain("needs another key");
  });

  it.each([
    [1440, "light"],
    [390, "dark"],
  ] as const)("has no accessibility violation, %i wide and %s", async (width, colorScheme) => {
    const { page } = await open(url, { width, colorScheme });
    await expectAccessible(page);
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    const folder = process.env["STATUS_PICTURES"];
    if (folder !== undefined)
      await page.screenshot({ path: `${folder}/status-${String(width)}.png`, fullPage: true });
  });
});
