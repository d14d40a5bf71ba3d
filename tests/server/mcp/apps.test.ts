import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { FrameLocator } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { listening } from "../../ramp/support/server.js";
import { suiteBrowser } from "../../pages/browser.js";
import { atEnd } from "../../support/at-end.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { KEYS, serveManifest } from "../../support/service.js";

const schema = await ownSchema(
  `CREATE TABLE @.sales AS SELECT date '2026-01-01' + i % 90 AS day, 'shop ' || i % 3 AS shop, i % 7 + 1 AS amount_usd,
     '<img src=x onerror=alert(1)>' AS secret FROM generate_series(0, 4999) AS i`,
);
const manifest = manifestOf([
  {
    name: "sales",
    schema,
    tags: ["production", "shop", "tier1", "api:sales"],
    columns: { day: "date", shop: "text", amount_usd: "int", secret: "text" },
    description: "Sales of each shop by day. <script>alert(1)</script>",
    api: {
      allow_unfiltered: true,
      parameters: [{ name: "shop", column: "shop", operator: "IN", type: "string_list" }],
      pagination: { enabled: true, default_limit: 10, max_limit: 50 },
      sort: [{ column: "day", direction: "ASC" }],
    },
  },
]);

/** The page of a host, on an origin that the service allows. */
async function startHost(): Promise<string> {
  const entry = fileURLToPath(new URL("apps-host.ts", import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
  });
  const script = outputFiles[0]?.text.replaceAll("</script", "<\\/script") ?? "";
  const page = `<!doctype html><meta charset="utf-8"><style>iframe{width:100%;border:0}</style><body><script>${script}</script>`;
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end(page));
  atEnd(() => void server.close());
  return listening(server);
}

const host = await startHost();
const url = await serveManifest(manifest, { CORS_ORIGINS: host });
const PATH = "/v1/shop/sales";

describe.skipIf(!needs("chromium"))("an assistant's host shows", () => {
  const browser = suiteBrowser();
  const asked: string[] = [];

  beforeAll(() => {
    browser.context.on("response", (response) => asked.push(response.url()));
  });

  /** The frame of a tool's call, and what the host's page logged. */
  async function show(tool: string, args: Record<string, unknown>) {
    const page = await browser.context.newPage();
    await page.setViewportSize({ width: 900, height: 900 });
    const query = new URLSearchParams({
      url: `${url}/mcp`,
      key: KEYS.tier1,
      tool,
      args: JSON.stringify({ path: PATH, ...args }),
    });
    await page.goto(`${host}/?${query.toString()}`);
    const frame = page.frameLocator("iframe");
    await frame.locator("main h1, main h2, main .problem").first().waitFor();
    const picture = process.env["PICTURES"];
    if (picture !== undefined) {
      await page.waitForTimeout(3000);
      await page.screenshot({ path: `${picture}/${tool}.png`, fullPage: true });
    }
    return { page, frame };
  }

  const textOf = (frame: FrameLocator): Promise<string> => frame.locator("main").innerText();

  it("a chart of points that the service adds up", async () => {
    const { frame } = await show("chart_endpoint", {
      x: "day",
      y: ["amount_usd"],
      by: ["shop"],
      grain: "week",
    });
    const label = await frame.locator(".image").getAttribute("aria-label");
    expect(label).toContain("line chart of sum of amount_usd by week of day, split by shop: 14 points");
    await expect.poll(() => frame.locator("svg path").count()).toBeGreaterThan(2);
  });

  it("rows with facets; a click on a value asks the host for its rows", async () => {
    const { frame } = await show("query_endpoint", { limit: 5 });
    const facet = frame.getByRole("group", { name: "shop" }).getByRole("button", { name: /shop 1/ });
    expect(await facet.innerText()).toBe("shop 1 (1,667 rows)");
    await facet.click();
    await frame.locator(".chip").first().waitFor();
    const shops = () => frame.locator("tbody td:nth-child(2)").allInnerTexts();
    await expect.poll(async () => [...new Set(await shops())]).toEqual(["shop 1"]);
  });

  it("an endpoint's page, whose texts are texts", async () => {
    const { frame } = await show("describe_endpoint", {});
    expect(await textOf(frame)).toContain("Sales of each shop by day. <script>alert(1)</script>");
    await frame.getByRole("button", { name: "Show rows" }).click();
    await frame.locator("tbody tr").first().waitFor();
    expect(await frame.locator("img").count()).toBe(0);
  });

  it("what a tool refuses", async () => {
    const { frame } = await show("query_endpoint", { parameters: { none: "1" } });
    expect(await textOf(frame)).toContain("Unsupported query parameters");
  });

  it("all of it without a request or a key of the frame", async () => {
    const { page, frame } = await show("query_endpoint", {});
    expect(await frame.locator("html").innerHTML()).not.toContain(KEYS.tier1);
    const inside = page.frames().find((each) => each !== page.mainFrame());
    // Its own requests, without the host: they reach nothing.
    const isRefused = await inside?.evaluate(`new Promise((done) => {
      const request = new XMLHttpRequest();
      request.onerror = () => done(true);
      request.onload = () => done(false);
      request.open("GET", "${url}/v1/system/catalogue");
      request.send();
    })`);
    expect(isRefused).toBe(true);
    expect(asked.filter((each) => !each.startsWith(host) && each !== `${url}/mcp`)).toEqual([]);
  });
});
