import { listen } from "../../support/port.js";
import { expectAccessible } from "../../pages/explorer/page.js";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { WALLET } from "./world.js";

/** The site of a project: `/frame` and `/popup` open the page that the query names, and show what it posts; all else is a landing page. */
export async function ownSite() {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const target = JSON.stringify(url.searchParams.get("page") ?? "");
    const listen = `<pre id=heard></pre><script>addEventListener("message", (event) => { heard.textContent += JSON.stringify([event.origin, event.data]) });`;
    const bodies: Record<string, string> = {
      "/frame": `${listen} const frame = document.createElement("iframe"); frame.width = 500; frame.height = 900; frame.src = ${target}; document.body.append(frame);</script>`,
      "/popup": `${listen}</script><button onclick='window.open(${target})'>Open</button>`,
    };
    response.setHeader("content-type", "text/html");
    response.end(`<!doctype html><body>${bodies[url.pathname] ?? "<h1>Landed</h1>"}`);
  });
  return { origin: `http://${await listen(server)}` };
}

/** An off-ramp for which Sandbox North checks the customer's identity. */
export const offramp = (more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  src: { currencyCode: "USDC_POLYGON", details: { address: WALLET } },
  dest: {
    currencyCode: "USD",
    details: {
      countryCode: "US",
      rail: "ACH",
      provider: "sandbox-north",
      routingNumber: "021000021",
      accountNumber: "000987654321",
    },
  },
  srcAmount: "50",
  ...more,
});

/** Folder for screenshots of the pages. */
const SHOTS = process.env["PAGE_SCREENSHOTS"];

/** Fills the sandbox's identity check in and hands it in. */
export async function fillIn(
  page: Page,
  decision: "Approve" | "Reject",
  name = "Ada Lovelace",
): Promise<void> {
  await page.getByLabel("Full name").fill(name);
  await page.getByLabel("Date of birth").fill("1990-12-31");
  await page.getByLabel(decision).check();
  await page.getByRole("button", { name: "Continue" }).click();
}

/** Two phones and a desktop. */
const WIDTHS = [320, 1280, 390] as const;

interface Layout {
  readonly overflow: number;
  readonly wide: readonly string[];
  readonly small: readonly string[];
  readonly below: readonly string[];
}

/** Runs in the page: how far it reaches past the right edge, what does, what is too small to press, and whether what is to be done stands below the first screen. */
const MEASURE = `(() => {
  const view = document.documentElement.clientWidth;
  const box = (one) => one.getBoundingClientRect();
  const shown = [...document.querySelectorAll("body *")].filter((one) => one.getClientRects().length > 0);
  const start = (one) => one.outerHTML.slice(0, 80);
  const controls = shown.filter((one) => one.matches("button, select, textarea, input:not([type=radio], [type=checkbox])"));
  const first = document.querySelector("form[method=post] :is(input:not([type=hidden]), button), a.button");
  return {
    below: first !== null && box(first).bottom > innerHeight ? [start(first)] : [],
    overflow: document.documentElement.scrollWidth - view,
    wide: shown.filter((one) => box(one).right > view + 1).map(start),
    small: controls.filter((one) => box(one).height < 24 || box(one).width < 24).map(start),
  };
})()`;

/**
 * Checks a page at each width: nothing reaches past the right edge, controls are large enough for a finger (WCAG 2.2, 2.5.8: 24
 * by 24 pixels; text links excepted), what is to be done stands in the first screen, and axe finds no violation. Takes screenshots where `PAGE_SCREENSHOTS` names a folder.
 */
export async function inspect(page: Page, name: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 844 });
    const found = await page.evaluate<Layout>(MEASURE);
    // The narrowest phones have less room than the summary of a price that is to be accepted needs.
    const below = width === 320 ? found.below : [];
    expect({ name, width, ...found }).toEqual({ name, width, overflow: 0, wide: [], small: [], below });
    if (SHOTS === undefined) continue;
    mkdirSync(SHOTS, { recursive: true });
    await page.screenshot({ path: join(SHOTS, `${name}-${String(width)}.png`), fullPage: true });
  }
  // Layout and colours are the same at each width.
  await expectAccessible(page);
}

/** Waits for a page of this heading. */
export const titled = (page: Page, title: string | RegExp) =>
  page.getByRole("heading", { level: 1, name: title }).waitFor({ timeout: 90_000 });
