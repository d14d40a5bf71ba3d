import type { Server } from "../children.js";
import { CONNECTIONS, entrant, LOAD_COLUMNS, loadNote, loadRow, race, speeds, type Lap } from "../course.js";
import type { Load } from "../load/load.js";
import type { Bar, Findings, Row, Table } from "../report.js";
import { ratioOf } from "../statistics.js";
import { TABLE_ROWS, type TableRows } from "../synthetic-manifest.js";
import type { Setting } from "./section.js";

/** Endpoints that each of the three servers has. */
export const ENDPOINTS = 500;

const NAMES = {
  bare: "node:http + pg",
  express: "Express, res.json",
  routewright: "routewright serve",
} as const;

export type Contestants = Readonly<Record<keyof typeof NAMES, Server>>;
type Results = Record<keyof typeof NAMES, Lap[]>;

/** The three servers side by side, at each number of rows. */
export async function compareServers(
  servers: Contestants,
  load: Load,
  { effort, progress }: Setting,
): Promise<Findings> {
  const raced: { rows: TableRows; results: Results }[] = [];
  for (const rows of TABLE_ROWS) {
    progress(`serve: ${String(ENDPOINTS)} endpoints, ${rowsText(rows)}`);
    const entrants = {
      bare: entrant(servers.bare, ENDPOINTS, rows),
      express: entrant(servers.express, ENDPOINTS, rows),
      routewright: entrant(servers.routewright, ENDPOINTS, rows),
    };
    raced.push({ rows, results: await race(entrants, rows, load, effort) });
  }
  const all = raced.flatMap(({ results }) => Object.values(results).flat());
  return {
    tables: [
      table(
        raced.flatMap(({ rows, results }) => rowsOf(rows, results)),
        all,
      ),
    ],
    bars: raced.flatMap(({ rows, results }) => barsOf(rows, results)),
  };
}

function table(rows: readonly Row[], all: readonly Lap[]): Table {
  return {
    title: `serve: ${String(ENDPOINTS)} endpoints, ${String(CONNECTIONS)} connections, one request at a time on each`,
    columns: [
      { key: "rows", head: "rows", digits: 0 },
      { key: "server", head: "server" },
      ...LOAD_COLUMNS,
      { key: "ofBare", head: "of node:http", digits: 2 },
      { key: "ofExpress", head: "of Express", digits: 2 },
    ],
    rows,
    notes: [loadNote(all)],
  };
}

function rowsOf(rows: TableRows, results: Results): Row[] {
  return (Object.keys(NAMES) as (keyof typeof NAMES)[]).map((name) => ({
    rows,
    server: NAMES[name],
    ...loadRow(results[name]),
    ofBare: ratioOf(speeds(results[name]), speeds(results.bare)).median,
    ofExpress: ratioOf(speeds(results[name]), speeds(results.express)).median,
  }));
}

function barsOf(rows: TableRows, results: Results): Bar[] {
  const own = speeds(results.routewright);
  const what = (other: string) => `requests/s of routewright to ${other}, ${rowsText(rows)}`;
  const bare: Bar = {
    what: what(NAMES.bare),
    ...ratioOf(own, speeds(results.bare)),
    expected: { atLeast: rows === 1000 ? 0.95 : 0.85 },
  };
  if (rows === 100) return [bare];
  return [
    bare,
    { what: what(NAMES.express), ...ratioOf(own, speeds(results.express)), expected: { atLeast: 3 } },
  ];
}

function rowsText(rows: TableRows): string {
  return rows === 1 ? "1 row" : `${String(rows)} rows`;
}
