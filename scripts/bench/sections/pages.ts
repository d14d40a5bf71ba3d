import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { chromium } from "playwright-core";
import { Search, type Searchable } from "../../../runtime/pages/search.js";
import { startServer, type Server } from "../process.js";
import { type Findings, single, type Table } from "../report.js";
import { KEYS, startRoutewright } from "../servers.js";
import { median } from "../statistics.js";
import { generateApi, openDatabase, ROUTEWRIGHT, syntheticManifest } from "../synthetic-api.js";
import type { Setting } from "./section.js";

/** The explorer is read before anything else: its first paint stays below this, compressed. */
const FIRST_PAINT_BYTES = 300_000;

/** A pause that is felt while typing. */
const PAUSE_MS = 20;

const MANY = 10_000;

/** Visits of a page: each with an empty cache. */
const VISITS = 3;

interface PageUnderTest {
  readonly name: string;
  readonly url: string;
  /** Is there once the page can be used. */
  readonly ready: string;
}

interface Visit {
  readonly bytes: number;
  readonly paintMs: number;
  readonly readyMs: number;
}

/** Size and time of the pages in a browser, and the explorer's search over many endpoints. */
export async function pages({ folder, progress }: Setting): Promise<Findings> {
  const executablePath = findChromium();
  progress("pages: starting the database, the data API with few and many endpoints, and the ramp");
  const database = await openDatabase(folder);
  const started: Server[] = [];
  const start = async (server: Promise<Server>): Promise<string> => {
    started.push(await server);
    return `http://127.0.0.1:${String(started.at(-1)?.port)}`;
  };
  try {
    const starter = await start(
      startRoutewright(folder, database, { args: ["--generated", resolve("generated")] }),
    );
    const many = await start(startRoutewright(await generateApi(folder, MANY, 10), database));
    const ramp = await start(
      startServer({
        name: "ramp",
        args: [ROUTEWRIGHT, "serve", "--only", "ramp", "--ramp-port", "{port}"],
        folder,
        environment: { RAMP_DATABASE_URL: database.url, RAMP_SECRETS_KEY: randomBytes(32).toString("hex") },
      }),
    );
    const visits: (readonly [PageUnderTest, readonly Visit[]])[] = [];
    for (const page of pagesOf(starter, many, ramp)) {
      progress(`pages: ${page.name}`);
      const list: Visit[] = [];
      for (let i = 0; i < VISITS; i++) list.push(await visit(executablePath, page));
      visits.push([page, list]);
    }
    progress(`pages: searching ${String(MANY)} endpoints`);
    return findings(visits, searchTimes());
  } finally {
    await Promise.all(started.map((server) => server.stop()));
    await database.stop();
  }
}

function findChromium(): string {
  const path = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
  if (existsSync(path)) return path;
  throw new Error("The section pages needs a browser: install chromium, or set CHROMIUM_PATH.");
}

function pagesOf(starter: string, many: string, ramp: string): readonly PageUnderTest[] {
  return [
    { name: "/explore", url: `${starter}/explore`, ready: ".welcome" },
    { name: "/explore, 10,000 endpoints", url: `${many}/explore`, ready: ".welcome" },
    { name: "/docs", url: `${starter}/docs`, ready: ".opblock" },
    { name: "/redoc", url: `${starter}/redoc`, ready: "#redoc h1" },
    { name: "ramp /docs", url: `${ramp}/docs`, ready: ".opblock" },
    { name: "ramp /redoc", url: `${ramp}/redoc`, ready: "#redoc h1" },
    { name: "ramp, page of a link that is gone", url: `${ramp}/checkout/gone`, ready: "h1" },
  ];
}

/** Milliseconds since the visit began, once the page has nothing else to do. */
const WHEN_IDLE = "new Promise((resolve) => requestIdleCallback(() => resolve(performance.now())))";

const PAINTED = `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN`;

/** Bodies as they were sent: the page and all that it has loaded. */
const BYTES = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

/** A first visit: the browser is a new one, nothing is in its cache. */
async function visit(executablePath: string, { url, ready }: PageUnderTest): Promise<Visit> {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage();
    await page.addInitScript(`sessionStorage.setItem("routewright.key", ${JSON.stringify(KEYS[0])})`);
    await page.goto(url, { waitUntil: "commit" });
    await page.waitForSelector(ready, { state: "attached" });
    const readyMs = await page.evaluate<number>(WHEN_IDLE);
    return {
      readyMs,
      paintMs: await page.evaluate<number>(PAINTED),
      bytes: await page.evaluate<number>(BYTES),
    };
  } finally {
    await browser.close();
  }
}

interface SearchTimes {
  /** Making the whole index, which the page does step by step. */
  readonly indexMs: number;
  readonly longestStepMs: number;
  readonly worst: { readonly query: string; readonly ms: number };
}

/** A word that all have, one that few have, one that none has, and many words. */
const QUERIES = [
  "s",
  "series",
  "series_09999",
  "nothing",
  "amount usd",
  "category_1 region day",
  "a e i o r s t n l d u c",
];

/** The explorer's own search, in this process; the best of some runs, as the bars are about the code. */
function searchTimes(): SearchTimes {
  const endpoints = searchables();
  const runs = Array.from({ length: 5 }, () => indexTimes(endpoints));
  const search = new Search(endpoints);
  const times = QUERIES.map((query) => ({
    query,
    ms: Math.min(...Array.from({ length: 9 }, () => millisecondsOf(() => search.find(query)))),
  }));
  const worst = times.reduce((slowest, each) => (each.ms > slowest.ms ? each : slowest));
  return {
    indexMs: median(runs.map((steps) => steps.reduce((sum, step) => sum + step, 0))),
    longestStepMs: median(runs.map((steps) => Math.max(...steps))),
    worst,
  };
}

function indexTimes(endpoints: readonly Searchable[]): number[] {
  const search = new Search(endpoints);
  const steps: number[] = [];
  let isMore: boolean;
  do {
    const started = performance.now();
    isMore = search.prepare();
    steps.push(performance.now() - started);
  } while (isMore);
  return steps;
}

function millisecondsOf(task: () => unknown): number {
  const started = performance.now();
  task();
  return performance.now() - started;
}

function searchables(): readonly Searchable[] {
  // As texts of their own, which is how a page gets them.
  const nodes = JSON.parse(
    JSON.stringify(Object.values(syntheticManifest(MANY).nodes)),
  ) as readonly SyntheticNode[];
  return nodes.map(({ description, tags, columns, config }) => ({
    path: `/v1/${String(tags[2])}/${String(tags[3]?.slice(4))}/daily`,
    category: String(tags[2]),
    description,
    columns: Object.values(columns),
    parameters: config.meta.api.parameters,
  }));
}

interface SyntheticNode {
  readonly description: string;
  readonly tags: readonly string[];
  readonly columns: Readonly<Record<string, { readonly name: string; readonly description: string }>>;
  readonly config: {
    readonly meta: { readonly api: { readonly parameters: readonly { readonly name: string }[] } };
  };
}

function findings(
  visits: readonly (readonly [PageUnderTest, readonly Visit[]])[],
  { indexMs, longestStepMs, worst }: SearchTimes,
): Findings {
  const sizes: Table = {
    title: `pages: a first visit in chromium (median of ${String(VISITS)})`,
    columns: [
      { key: "page", head: "page" },
      { key: "bytes", head: "kB compressed", digits: 0 },
      { key: "paint", head: "first paint ms", digits: 0 },
      { key: "ready", head: "interactive ms", digits: 0 },
    ],
    rows: visits.map(([{ name }, list]) => ({
      page: name,
      bytes: median(list.map(({ bytes }) => bytes)) / 1000,
      paint: median(list.map(({ paintMs }) => paintMs)),
      ready: median(list.map(({ readyMs }) => readyMs)),
    })),
    notes: ["Interactive: the page's content is there and the browser is idle."],
  };
  const search: Table = {
    title: `pages: the explorer's search over ${MANY.toLocaleString("en")} endpoints`,
    columns: [
      { key: "what", head: "" },
      { key: "ms", head: "ms", digits: 1 },
    ],
    rows: [
      { what: "index, all steps", ms: indexMs },
      { what: "index, longest step", ms: longestStepMs },
      { what: `slowest search (${worst.query})`, ms: worst.ms },
    ],
  };
  const explore = visits.find(([{ name }]) => name === "/explore")?.[1] ?? [];
  return {
    tables: [sizes, search],
    bars: [
      {
        name: "first visit of /explore to 300 kB",
        ratio: single(median(explore.map(({ bytes }) => bytes)) / FIRST_PAINT_BYTES),
        limit: { atMost: 1 },
      },
      {
        name: "slowest search over 10,000 endpoints to 20 ms",
        ratio: single(worst.ms / PAUSE_MS),
        limit: { atMost: 1 },
      },
      {
        name: "longest step of its index to 20 ms",
        ratio: single(longestStepMs / PAUSE_MS),
        limit: { atMost: 1 },
      },
    ],
  };
}
