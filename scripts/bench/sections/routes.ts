import type { Server } from "../children.js";
import { type Entrant, entrant, LOAD_COLUMNS, loadNote, loadRow, race, speeds } from "../course.js";
import type { Load } from "../load/load.js";
import type { Findings } from "../report.js";
import { ratioOf } from "../statistics.js";
import type { Setting } from "./section.js";

/** Routewright with so many endpoints on so many views. */
export interface Size {
  readonly endpoints: number;
  readonly views: number;
  readonly server: Server;
}

export interface Sizes {
  readonly few: Size;
  /** Very many, on the same views: the database is asked the same as with few. */
  readonly many: Size;
  /** Very many, on many views: each connection of the database keeps a plan for each. */
  readonly varied: Size;
}

/** Whether finding a route takes longer the more there are. */
export async function compareSizes(
  sizes: Sizes,
  load: Load,
  { effort, progress }: Setting,
): Promise<Findings> {
  progress(`serve: ${String(sizes.few.endpoints)} and ${String(sizes.many.endpoints)} endpoints, 1 row`);
  const entrants = {
    few: entrantOf(sizes.few),
    many: entrantOf(sizes.many),
    varied: entrantOf(sizes.varied),
  };
  const results = await race(entrants, 1, load, effort);
  const toFew = (name: keyof Sizes) => ratioOf(speeds(results[name]), speeds(results.few));
  return {
    tables: [
      {
        title: "serve: routewright by number of endpoints and of the views they show, 1 row",
        columns: [
          { key: "endpoints", head: "endpoints", digits: 0 },
          { key: "views", head: "views", digits: 0 },
          ...LOAD_COLUMNS,
          { key: "toFew", head: "to the first", digits: 2 },
        ],
        rows: (Object.keys(sizes) as (keyof Sizes)[]).map((name) => ({
          endpoints: sizes[name].endpoints,
          views: sizes[name].views,
          ...loadRow(results[name]),
          toFew: toFew(name).median,
        })),
        notes: [loadNote(Object.values(results).flat())],
      },
    ],
    bars: [
      {
        what: `requests/s of routewright, ${String(sizes.many.endpoints)} endpoints to ${String(sizes.few.endpoints)}, on the same views`,
        ...toFew("many"),
        expected: { atLeast: 0.95 },
      },
    ],
  };
}

function entrantOf({ server, endpoints, views }: Size): Entrant {
  return varied(entrant(server, endpoints, 1, views));
}

/** Requests of the same cycle. */
const CYCLE = 500;
const DAY_MS = 86_400_000;

/**
 * The same paths, each time with another filter that keeps all rows: with few endpoints the same question would otherwise
 * be under way many times at once, which is asked once.
 */
function varied({ server, paths }: Entrant): Entrant {
  const cycle = Array.from({ length: Math.max(CYCLE, paths.length) }, (_, i) => {
    const day = new Date(Date.UTC(2030, 0, 1) + (i % CYCLE) * DAY_MS).toISOString().slice(0, 10);
    return `${paths[i % paths.length] ?? ""}?end_date=${day}`;
  });
  return { server, paths: cycle };
}
