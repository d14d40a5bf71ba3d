/** The guide: what it says of an API is true of that API. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { KEYS, serveManifest } from "../support/service.js";
import { suiteBrowser } from "./browser.js";
import { expectAccessible, output, visit } from "./explorer/page.js";

const HOSTILE = `</code><img src=x onerror="alert(1)">'; rm -rf /; '`;
const schema = await ownSchema(`
  CREATE TABLE @.sales AS SELECT i AS id, date '2026-01-01' + i AS day, (ARRAY['north', 'it''s "there"'])[1 + i % 2] AS region
    FROM generate_series(1, 25) AS i;
  CREATE TABLE @.wages AS SELECT 'ann' AS name`);
const manifest = manifestOf([
  {
    name: "sales",
    schema,
    columns: { id: "int", day: "date", region: "text" },
    description: HOSTILE,
    api: {
      allow_unfiltered: true,
      parameters: [{ name: "region", column: "region", operator: "=", type: "string", description: HOSTILE }],
      pagination: { enabled: true, default_limit: 5, max_limit: 10 },
      sort: [{ column: "id", direction: "ASC" }],
    },
    routewright: { former_paths: [{ path: "/v1/shop/turnover" }] },
  },
  { name: "wages", schema, tags: ["production", "staff", "tier2", "api:wages"], columns: { name: "text" } },
]) as { nodes: Record<string, { config?: object; constraints?: readonly object[] }> };
const sales = manifest.nodes["model.test.sales"];
Object.assign(sales?.config ?? {}, { materialized: "table", contract: { enforced: true } });
if (sales !== undefined) sales.constraints = [{ type: "check", expression: `region <> '<b>'` }];
const url = await serveManifest(manifest, { RATE_LIMITS: "tier0=1234,tier1=2000,tier2=3000,tier3=4000" });

const codeOf = (page: Page, name: string) => page.getByRole("region", { name, exact: true }).innerText();

describe.skipIf(!needs("chromium", "curl"))("/guide", () => {
  const browser = suiteBrowser();
  const open = async (key?: string, base = url) => {
    const visited = await visit(browser.context, base, "/guide", { key });
    await visited.page.getByRole("heading", { name: "Assistants" }).waitFor();
    return visited;
  };

  it("has calls with this API's own addresses, which answer", async () => {
    const { page, problems } = await open();
    await expect.poll(() => codeOf(page, "Base address")).toBe(url);
    const run = async (name: string) => output("sh", "-c", `${await codeOf(page, name)} -s`);
    expect(JSON.parse(await run("First call"))).toHaveLength(5);
    expect(JSON.parse(await codeOf(page, "A row"))).toEqual({
      id: 1,
      day: "2026-01-02",
      region: `it's "there"`,
    });
    const rows = JSON.parse(await run("A filter")) as { region: string }[];
    expect(new Set(rows.map(({ region }) => region))).toEqual(new Set([`it's "there"`]));
    expect(JSON.parse(await run("Values"))).toMatchObject({ values: [{ rows: 13 }, { rows: 12 }] });
    expect(await run("As CSV")).toMatch(/^id,day,region\r\n/);
    expect(await run("An error")).toContain(`{"detail":"Not Found"}`);
    for (const name of ["For Excel", "MCP"])
      expect((await codeOf(page, name)).startsWith(`${url}/`)).toBe(true);
    expect((await fetch(await codeOf(page, "For Excel"))).status).toBe(200);
    expect(JSON.parse(await run("Changes as JSON"))).toEqual({ entries: [] });
    const feed = await run("Changes as a feed");
    expect(feed).toContain('rel="self"');
    expect(feed).toMatch(/<updated>20\d\d-\d\d-\d\dT00:00:00Z<\/updated>/);
    const stream = `cd "$(mktemp -d)" && ${await codeOf(page, "As a stream")} -s && tail -c 8 rows.arrows | od -An -tx1`;
    // The end of a stream in Arrow's format.
    expect((await output("sh", "-c", stream)).trim()).toBe("ff ff ff ff 00 00 00 00");
    expect(problems).toEqual([]);
  });

  it("has a pipeline of dlt, and runs it where DLT_PYTHON names a Python with dlt", async () => {
    const { page } = await open();
    const pipeline = await codeOf(page, "dlt");
    expect(pipeline).toContain(`"client": {"base_url": "${url}", "paginator": "header_link"}`);
    expect(pipeline).toContain('"endpoint": {"path": "v1/shop/sales", "params": {"limit": 10}}');
    const python = process.env["DLT_PYTHON"];
    if (python === undefined) return;
    const count = `with dlt.pipeline("api").sql_client() as client:
    print(client.execute_sql("SELECT count(*) FROM sales")[0][0])`;
    const folder = mkdtempSync(join(tmpdir(), "dlt-"));
    atEnd(() => rmSync(folder, { recursive: true, force: true }));
    const run = `cd ${folder} && DLT_DATA_DIR=${folder} RUNTIME__DLTHUB_TELEMETRY=false ${python} -c "$0"`;
    const printed = await output("sh", "-c", run, `${pipeline}\n${count}`);
    expect(printed.trim().split("\n").at(-1)).toBe("25");
  });

  it("has the lines of a chart for another page, which the page may frame", async () => {
    const { page } = await open();
    const [, address = ""] = /src="([^"]+)"/.exec(await codeOf(page, "An embedded chart")) ?? [];
    const { page: chart, problems } = await visit(
      browser.context,
      url,
      address.replaceAll("&amp;", "&").slice(url.length),
    );
    await chart.locator("main:not([aria-busy])").waitFor();
    const policy = (await fetch(address.replaceAll("&amp;", "&"))).headers.get("Content-Security-Policy");
    expect(policy).toContain("frame-ancestors *");
    expect(problems).toEqual([]);
  });

  it.skipIf(!needs("python3"))("has a Singer tap that prints the schema and all rows", async () => {
    const { page } = await open();
    const printed = await output("python3", "-c", await codeOf(page, "A Singer tap"));
    const messages = printed
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; record?: { id: number } });
    expect(messages[0]).toEqual({
      ...{ type: "SCHEMA", stream: "sales", key_properties: [] },
      schema: { properties: { id: {}, day: {}, region: {} } },
    });
    expect(messages.slice(1).map(({ record }) => record?.id)).toEqual(
      Array.from({ length: 25 }, (_, i) => i + 1),
    );
  });

  it("has code that reads all pages", async () => {
    const { page } = await open();
    const script = `${await codeOf(page, "All pages in JavaScript")}\nconsole.log(rows.length);`;
    expect(await output(process.execPath, "--input-type=module", "-e", script)).toBe("25\n");
    await expect
      .poll(() => codeOf(page, "All pages in Python"))
      .toContain(`url = "${url}/v1/shop/sales?limit=10"`);
  });

  it("says what is true of the caller: limit, tier, endpoints, deprecated paths", async () => {
    const { page, problems } = await open();
    const text = await page.locator("article").innerText();
    expect(text).toContain("This tab may send 1,234 requests in 60 seconds.");
    expect(text).toContain("This tab calls as Public (tier0).");
    expect(text).toMatch(/\/v1\/shop\/turnover\s+\S.*\/v1\/shop\/sales/);
    // What a manifest says is text.
    expect(text).toContain(HOSTILE);
    expect(await page.locator("main img").count()).toBe(0);
    const { page: premium } = await open(KEYS.tier2);
    await expect
      .poll(() => premium.locator("article").innerText())
      .toContain("This tab calls as Premium (tier2).");
    expect(problems).toEqual([]);
  });

  it("names what is enforced of rows, and the catalogue and the explorer do", async () => {
    const enforced = ["contract", "check (region <> '<b>')"];
    const { page } = await open();
    const row = page.getByRole("row", { name: "/v1/shop/sales contract" });
    await expect.poll(() => row.innerText()).toContain(enforced.join(", "));
    const response = await fetch(`${url}/v1/system/catalogue`);
    const { endpoints } = (await response.json()) as { endpoints: readonly object[] };
    expect(endpoints[0]).toMatchObject({ path: "/v1/shop/sales", enforced });
    expect(endpoints[1]).not.toHaveProperty("enforced");
    const explorer = await visit(browser.context, url, "/explore?endpoint=/v1/shop/sales");
    await expect
      .poll(() => explorer.page.getByText("Enforced", { exact: true }).locator("..").innerText())
      .toContain(enforced.join(", "));
  });

  it("shows no endpoint that the key may not call where CATALOGUE=allowed", async () => {
    const { page } = await open(undefined, await serveManifest(manifest, { CATALOGUE: "allowed" }));
    expect(await page.locator("article").innerText()).not.toContain("Premium (tier2)");
  });

  it("is whole where nothing answers without a key", async () => {
    const locked = manifestOf([
      {
        name: "wages",
        schema,
        tags: ["production", "staff", "tier2", "api:wages"],
        columns: { name: "text" },
      },
    ]);
    const base = await serveManifest(locked);
    const { page, problems } = await open(undefined, base);
    await expect
      .poll(() => page.locator("article").innerText())
      .toContain("With a key, the guide shows calls");
    const { page: premium } = await open(KEYS.tier2, base);
    await expect
      .poll(() => codeOf(premium, "First call"))
      .toBe(`curl -H "X-API-Key: $API_KEY" '${base}/v1/staff/wages'`);
    expect(problems).toEqual([]);
  });

  it("says what to do where the service refuses the key or does not answer", async () => {
    const { page } = await visit(browser.context, url, "/guide", { key: "sk_live_unknown" });
    await page.getByRole("alert").getByText("Invalid API Key").waitFor();
  });

  it.each([
    [1440, "light"],
    [390, "dark"],
  ] as const)("has no accessibility violation, %i wide and %s", async (width, colorScheme) => {
    const { page } = await visit(browser.context, url, "/guide", { width, colorScheme });
    await page.getByRole("heading", { name: "Assistants" }).waitFor();
    await expectAccessible(page);
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
  });
});
