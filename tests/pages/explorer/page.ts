import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import type { BrowserContext, Page } from "playwright-core";
import { expect, vi } from "vitest";
import { atEnd } from "../../support/at-end.js";

/** A page, and what went wrong on it. */
export interface Visit {
  readonly page: Page;
  /** Errors of the console and of scripts, refusals of the page's policy among them; requests to other hosts. */
  readonly problems: readonly string[];
}

interface Visitor {
  /** Kept in the tab as the page itself keeps it. */
  readonly key?: string | undefined;
  readonly colorScheme?: "light" | "dark";
  readonly width?: number;
}

/** Opens an address of a service, until the end of the test. */
export async function visit(...where: Parameters<typeof openPage>): Promise<Visit> {
  const visit = await openPage(...where);
  // Not awaited: on a busy machine Chromium once did not say within 180 s that a page had closed. It ends with the browser.
  atEnd(() => void visit.page.close().catch(() => undefined));
  return visit;
}

/**
 * Waits for the rows of a service's first page, which it reads for the first that asks. A page asks once, and is answered after two seconds
 * at the latest, with what has been read.
 */
export async function untilFigures(url: string): Promise<void> {
  const read = async (): Promise<void> => {
    const { figures } = (await (await fetch(`${url}/explore/figures.json`)).json()) as { figures: object };
    expect(figures).not.toEqual({});
  };
  await vi.waitFor(read, { timeout: 90_000 });
}

/** As `visit`, until the browser is closed. */
export async function openPage(
  context: BrowserContext,
  url: string,
  path: string,
  { key, colorScheme = "light", width = 1280 }: Visitor = {},
): Promise<Visit> {
  const page = await context.newPage();
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 900 });
  const problems: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(`${url}/`) && !/^(data|blob):/.test(request.url()))
      problems.push(`asks ${request.url()}`);
  });
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  if (key !== undefined)
    await page.addInitScript(`sessionStorage.setItem("routewright.key", ${JSON.stringify(key)})`);
  await page.goto(url + path);
  return { page, problems };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/** Fails with what axe finds wrong on the page. */
export async function expectAccessible(page: Page): Promise<void> {
  // Through the protocol: the page's policy allows no script but its own.
  await page.evaluate(AXE);
  // All that is right, too, is 5 MB on a large page.
  const { violations } = await page.evaluate<AxeResult>('axe.run(document, { resultTypes: ["violations"] })');
  expect(
    violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`,
    ),
  ).toEqual([]);
}

/** Counts the nodes and edges of a lineage graph, and the points of edges that lie in a node. */
export function measureLineage(page: Page): Promise<unknown> {
  return page.evaluate(`(() => {
    const boxes = [...document.querySelectorAll(".lineage rect")].map((each) => each.getBoundingClientRect());
    const edges = [...document.querySelectorAll(".lineage .edge")];
    const pointsOf = (edge) => Array.from({ length: Math.ceil(edge.getTotalLength()) }, (_, i) =>
      edge.getPointAtLength(i).matrixTransform(edge.getScreenCTM()));
    const isIn = ({ x, y }) => ({ left, right, top, bottom }) =>
      x > left + 3 && x < right - 3 && y > top + 3 && y < bottom - 3;
    const pointsInNodes = edges.flatMap(pointsOf).filter((point) => boxes.some(isIn(point))).length;
    return { nodes: boxes.length, edges: edges.length, pointsInNodes };
  })()`);
}

/** What a program prints. The service runs in this process, which must not wait for it. */
export async function output(file: string, ...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(file, args)).stdout;
}
