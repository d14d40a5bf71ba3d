import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type BrowserContext } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { programPath } from "../support/needs.js";

const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** Starts a browser with a profile of its own; `close` ends it and removes the profile. */
export async function openBrowser(): Promise<{ context: BrowserContext; close: () => Promise<void> }> {
  const profile = mkdtempSync(join(tmpdir(), "routewright-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: programPath("chromium"),
    args: ARGS,
    viewport: { width: 1280, height: 900 },
    timeout: 150_000,
  });
  // Bounds of what never comes, as those of `expect.poll`.
  context.setDefaultTimeout(90_000);
  return {
    context,
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** A browser of the suite that this is called in, from its first test to its last. */
export function suiteBrowser(): { readonly context: BrowserContext } {
  let browser: Awaited<ReturnType<typeof openBrowser>>;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());
  return {
    get context() {
      return browser.context;
    },
  };
}
