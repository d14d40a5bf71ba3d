import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type BrowserContext } from "playwright-core";

/** The browser on this machine. */
export const CHROMIUM = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";

/** Whether it is there; where it is not, the tests are skipped, but never on a build server. */
export function hasChromium(): boolean {
  if (existsSync(CHROMIUM)) return true;
  if (process.env["CI"] === "true")
    throw new Error(`No browser at ${CHROMIUM}: install chromium, or set CHROMIUM_PATH.`);
  console.warn(
    `SKIPPED: no browser at ${CHROMIUM}. Install chromium, or set CHROMIUM_PATH, to test the documentation pages.`,
  );
  return false;
}

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
    executablePath: CHROMIUM,
    args: ARGS,
    viewport: { width: 1280, height: 900 },
  });
  return {
    context,
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
