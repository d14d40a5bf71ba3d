/** The status of all endpoints, as a page and as a feed: what the catalogue shows the caller, and no more. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownSchema } from "../support/database.js";
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
    expect(await facts.innerText()).toMatch(/2 failed.*; no rows are served while one fails/s);
    const columns = page.getByRole("region", { name: "Columns" });
    expect(await columns.locator("thead").innerText()).toMatch(/Tests/);
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
    expect(await page.locator("#status > p").first().innerText()).toBe(
      "7 endpoints: 1 failed, 3 late, 1 deprecated, 1 fresh, 1 no promise.",
    );
    expect(problems).toEqual([]);
  });

  it("shows a caller without a key nothing of what it may not call", async () => {
    const { page } = await open(hidden);
    expect(await page.locator("#status").innerText()).not.toContain("secret");
    const { page: locked } = await open(url);
    const row = locked.locator("tr", { hasText: "/v1/staff/secret" });
    expect(await row.innerText()).toContain("needs another key");
  });

  it.each([
    [1440, "light"],
    [390, "dark"],
  ] as const)("has no accessibility violation, %i wide and %s", async (width, colorScheme) => {
    const { page } = await open(url, { width, colorScheme });
    await expectAccessible(page);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    const folder = process.env["STATUS_PICTURES"];
    if (folder !== undefined)
      await page.screenshot({ path: `${folder}/status-${String(width)}.png`, fullPage: true });
  });
});
