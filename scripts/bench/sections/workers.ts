import { join } from "node:path";
import type { Server } from "../children.js";
import { startRoutewright } from "../contestants.js";
import { entrant, LOAD_COLUMNS, loadNote, loadRow, race, speeds, type Lap } from "../course.js";
import { openDatabase } from "../database.js";
import { Load } from "../load/load.js";
import type { Bar, Findings, Row } from "../report.js";
import { ratioOf } from "../statistics.js";
import { ENDPOINTS } from "./rows.js";
import type { Setting } from "./section.js";

/** Where an answer of one row comes from. */
const SOURCES = {
  database: { title: "out of the database", environment: {} },
  cache: { title: "out of the answer cache", environment: { CACHE_TTL_SECONDS: "3600" } },
} as const;

type Results = Record<"one" | "two", Lap[]>;

/** One process beside two, while the database and the load generator want the same processors. */
export async function workers(setting: Setting): Promise<Findings> {
  const { folder, progress } = setting;
  const database = await openDatabase(join(folder, "database"));
  const load = new Load();
  const started: Server[] = [];
  try {
    const raced: [keyof typeof SOURCES, Results][] = [];
    for (const source of Object.keys(SOURCES) as (keyof typeof SOURCES)[]) {
      progress(`workers: one and two, ${SOURCES[source].title}`);
      const { environment } = SOURCES[source];
      const one = await startRoutewright(folder, database, ENDPOINTS, { environment });
      started.push(one);
      const args = ["--workers", "2"];
      const two = await startRoutewright(folder, database, ENDPOINTS, { environment, args });
      started.push(two);
      const entrants = { one: entrant(one, ENDPOINTS, 1), two: entrant(two, ENDPOINTS, 1) };
      raced.push([source, await race(entrants, 1, load, setting.effort)]);
      await Promise.all([one.stop(), two.stop()]);
    }
    return findings(raced);
  } finally {
    load.stop();
    await Promise.all(started.map((server) => server.stop()));
    await database.stop();
  }
}

function findings(raced: readonly [keyof typeof SOURCES, Results][]): Findings {
  return {
    tables: [
      {
        title: "workers: routewright serve with one and with two, 1 row",
        columns: [
          { key: "answers", head: "answers" },
          { key: "workers", head: "workers", digits: 0 },
          ...LOAD_COLUMNS.filter(({ key }) => key !== "cpu"),
          { key: "toOne", head: "to one", digits: 2 },
        ],
        rows: raced.flatMap(([source, results]) => rowsOf(source, results)),
        notes: [loadNote(raced.flatMap(([, results]) => Object.values(results).flat()))],
      },
    ],
    bars: raced.map(([source, results]) => bar(source, results)),
  };
}

function rowsOf(source: keyof typeof SOURCES, results: Results): Row[] {
  const answers = SOURCES[source].title;
  return [
    { answers, workers: 1, ...loadRow(results.one), toOne: 1 },
    { answers, workers: 2, ...loadRow(results.two), toOne: bar(source, results).median },
  ];
}

function bar(source: keyof typeof SOURCES, { one, two }: Results): Bar {
  const what = `requests/s of two workers to one, ${SOURCES[source].title}`;
  return { what, ...ratioOf(speeds(two), speeds(one)), expected: { atLeast: 1.3 } };
}
