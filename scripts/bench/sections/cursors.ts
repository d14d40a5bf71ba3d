import { median, interleave, ratioOf } from "../statistics.js";
import type { Server } from "../process.js";
import type { Findings } from "../report.js";
import { startRoutewright } from "../servers.js";
import { generateModel, openDatabase, SCHEMA } from "../synthetic-api.js";
import { readPage } from "./fields.js";
import type { Setting } from "./section.js";

const OFFSET = 1_000_000;
const PAGE_ROWS = 100;

/** Pages of a round. */
const PAGES = 5;

/** Limit of the time of a page by cursor, to the same page by offset. */
const LIMIT = 0.05;

const MODEL = {
  name: "long",
  tags: ["production", "long", "api:rows"],
  columns: {
    id: { name: "id", data_type: "bigint" },
    day: { name: "day", data_type: "date" },
    label: { name: "label", data_type: "text" },
  },
  constraints: [{ type: "primary_key", columns: ["id"] }],
  config: {
    materialized: "table",
    contract: { enforced: true },
    meta: {
      api: {
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: PAGE_ROWS, max_limit: PAGE_ROWS },
        sort: [{ column: "day", direction: "DESC" }],
      },
      routewright: { cursor: true },
    },
  },
};

const TABLE_SQL = `CREATE TABLE ${SCHEMA}.long AS
    SELECT i::bigint AS id, date '2020-01-01' + i / 1000 AS day, md5(i::text) AS label FROM generate_series(1, ${String(OFFSET + 100_000)}) AS i;
  CREATE UNIQUE INDEX ON ${SCHEMA}.long (day DESC, id); ANALYZE ${SCHEMA}.long`;

/** A page far into the rows by cursor, beside the same page by offset. */
export async function cursors({ folder, progress, effort }: Setting): Promise<Findings> {
  progress(`cursors: the page at offset ${OFFSET.toLocaleString("en-US")}`);
  const database = await openDatabase(folder);
  let server: Server | null = null;
  try {
    await database.query(TABLE_SQL);
    server = await startRoutewright(await generateModel(folder, "cursors", MODEL), database);
    const { port } = server;
    const link = await readPage(port, `/v1/long/rows?offset=${String(OFFSET - PAGE_ROWS)}`);
    const cursor = /cursor=([^&>]+)/.exec(link)?.[1] ?? "";
    const subjects = {
      cursor: () => readPages(port, `cursor=${cursor}`),
      offset: () => readPages(port, `offset=${String(OFFSET)}`),
    };
    await interleave(subjects, 1);
    const samples = await interleave(subjects, effort.rounds);
    const rows = Object.entries(samples).map(([by, times]) => ({ by, milliseconds: median(times) }));
    const title = `cursors: a page of ${String(PAGE_ROWS)} rows at offset ${OFFSET.toLocaleString("en-US")}`;
    const columns = [
      { key: "by", head: "by" },
      { key: "milliseconds", head: "ms a page", digits: 2 },
    ];
    const ratio = ratioOf(samples.cursor, samples.offset);
    return {
      tables: [{ title, columns, rows }],
      bars: [{ name: "time of a page by cursor, to offset", ratio, limit: { atMost: LIMIT } }],
    };
  } finally {
    await server?.stop();
    await database.stop();
  }
}

/** Milliseconds of a page, one after another. */
async function readPages(port: number, query: string): Promise<number> {
  const started = performance.now();
  for (let page = 0; page < PAGES; page++) await readPage(port, `/v1/long/rows?${query}`);
  return (performance.now() - started) / PAGES;
}
