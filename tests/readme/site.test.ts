import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBrowser } from "../pages/browser.js";
import { root, textOf } from "../support/commands.js";
import { needs } from "../support/needs.js";

const SITE = join(root, ".data/docs/site");
const TYPES: Readonly<Record<string, string>> = { html: "text/html", js: "text/javascript", css: "text/css" };

/** Serves the folder as any static host does. */
async function serveSite(): Promise<Server> {
  const server = createServer(({ url = "" }, response) => {
    const path = decodeURIComponent(url.split(/[?#]/)[0] ?? "").replace(/\/$/, "/index.html");
    try {
      const body = readFileSync(join(SITE, path));
      response.setHeader("Content-Type", TYPES[path.split(".").at(-1) ?? ""] ?? "text/plain");
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return server;
}

// VitePress ends with an error where a link leads nowhere.
describe.skipIf(!needs("chromium"))("the site of the pages", () => {
  let [server, browser, page, url]: [Server, Awaited<ReturnType<typeof openBrowser>>, Page, string] =
    [] as never;

  beforeAll(async () => {
    await promisify(execFile)(process.execPath, ["scripts/docs.js", "--build"], { cwd: root });
    server = await serveSite();
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    browser = await openBrowser();
    page = await browser.context.newPage();
  });
  afterAll(async () => {
    await browser.close();
    server.close();
  });

  it("finds a how-to by what its reader asks for", async () => {
    await page.goto(url);
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("searchbox").fill("roll back");
    await page.locator(".result").first().click();
    await page.waitForURL(/how-to\/roll-back/);
  });

  it("copies a page as Markdown", async () => {
    await browser.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${url}/generator/docs/how-to/add-a-filter.html`);
    await page.getByRole("button", { name: "Copy as Markdown" }).click();
    // The button says so for two seconds only.
    const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
    await expect.poll(copied).toBe(textOf("generator/docs/how-to/add-a-filter.md"));
  });

  it("keeps the ramp's pages out of the list of the data API's", async () => {
    await page.goto(`${url}/runtime/docs/limits.html`);
    const sidebar = page.locator(".VPSidebar");
    await expect.poll(() => sidebar.getByRole("link", { name: "Data frames" }).count()).toBe(1);
    expect(await sidebar.getByRole("link", { name: "Provider protocol" }).count()).toBe(0);
  });

  it("lists every page in llms.txt, and has its Markdown", async () => {
    const text = await (await fetch(`${url}/llms.txt`)).text();
    const files = [...text.matchAll(/\]\(\/(.+?\.md)\)/g)].map(([, file = ""]) => file);
    expect(files.length).toBeGreaterThan(50);
    for (const file of files) expect((await fetch(`${url}/${file}`)).status, file).toBe(200);
  });
});
