import { get } from "node:http";
import { median, interleave, ratioOf } from "../statistics.js";
import type { Server } from "../process.js";
import type { Findings } from "../report.js";
import { KEYS, startRoutewright } from "../servers.js";
import { generateModel, openDatabase, SCHEMA } from "../synthetic-api.js";
import type { Setting } from "./section.js";

const COLUMNS = 30;
const ROWS = 100_000;
const PAGE_ROWS = 1000;

/** Pages of a round: each has another offset, since equal requests share a query. */
const PAGES = 20;

/** Limit of the time of a page with one column, to that with all. */
const LIMIT = 0.5;

const NAMES = Array.from({ length: COLUMNS - 1 }, (_, i) => `value_${String(i + 1)}`);

const MODEL = {
  name: "wide",
  tags: ["production", "wide", "api:rows"],
  columns: Object.fromEntries(["id", ...NAMES].map((name) => [name, { name }])),
  config: {
    meta: {
      api: {
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: PAGE_ROWS, max_limit: PAGE_ROWS },
        sort: [{ column: "id", direction: "ASC" }],
      },
      routewright: { fields: true },
    },
  },
};

const TABLE_SQL = `CREATE TABLE ${SCHEMA}.wide AS SELECT i AS id,
    ${NAMES.map((name, i) => (i % 2 === 0 ? `i * ${String(i + 1)}.25 AS ${name}` : `md5((i + ${String(i)})::text) AS ${name}`)).join(", ")}
  FROM generate_series(1, ${String(ROWS)}) AS i;
  CREATE UNIQUE INDEX ON ${SCHEMA}.wide (id)`;

/** A page with one of 30 columns beside the same page with all of them. */
export async function fields({ folder, progress, effort }: Setting): Promise<Findings> {
  progress(`fields: 1 of ${String(COLUMNS)} columns`);
  const database = await openDatabase(folder);
  let server: Server | null = null;
  try {
    await database.query(TABLE_SQL);
    server = await startRoutewright(await generateModel(folder, "fields", MODEL), database);
    const { port } = server;
    const subjects = {
      one: () => readPages(port, "&fields=value_1"),
      all: () => readPages(port, ""),
    };
    await interleave(subjects, 1);
    const samples = await interleave(subjects, effort.rounds);
    const rows = Object.entries(samples).map(([columns, times]) => ({
      columns,
      milliseconds: median(times),
    }));
    const title = `fields: a page of ${PAGE_ROWS.toLocaleString("en-US")} rows of a table with ${String(COLUMNS)} columns`;
    const columns = [
      { key: "columns", head: "columns" },
      { key: "milliseconds", head: "ms a page", digits: 2 },
    ];
    const ratio = ratioOf(samples.one, samples.all);
    return {
      tables: [{ title, columns, rows }],
      bars: [{ name: "time of a page with one column, to all", ratio, limit: { atMost: LIMIT } }],
    };
  } finally {
    await server?.stop();
    await database.stop();
  }
}

/** Milliseconds of a page, one after another. */
async function readPages(port: number, query: string): Promise<number> {
  const started = performance.now();
  for (let page = 0; page < PAGES; page++)
    await readPage(port, `/v1/wide/rows?offset=${String(page * PAGE_ROWS)}${query}`);
  return (performance.now() - started) / PAGES;
}

/** Reads a page to its end and returns its `Link`. */
export function readPage(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, path, headers: { "X-API-Key": KEYS[0] ?? "" } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${path}: ${String(response.statusCode)}`));
      const { link } = response.headers;
      response
        .resume()
        .on("error", reject)
        .on("end", () => resolve(String(link)));
    }).on("error", reject);
  });
}
