import type { Server } from "../children.js";
import { type Entrant, entrant, LOAD_COLUMNS, loadNote, loadRow, race, speeds } from "../course.js";
import type { Load } from "../load/load.js";
import type { Findings } from "../report.js";
import { ratioOf } from "../statistics.js";
import type { Setting } from "./section.js";

/** Routewright alone with few, many and very many endpoints. */
export type Sizes = readonly { readonly endpoints: number; readonly server: Server }[];

/** Whether finding a route takes longer the more there are. */
export async function compareSizes(
  sizes: Sizes,
  load: Load,
  { effort, progress }: Setting,
): Promise<Findings> {
  progress(`serve: ${sizes.map(({ endpoints }) => String(endpoints)).join(", ")} endpoints, 1 row`);
  const entrants = Object.fromEntries(
    sizes.map(({ endpoints, server }) => [String(endpoints), varied(entrant(server, endpoints, 1))]),
  );
  const results = await race(entrants, 1, load, effort);
  const of = (endpoints: number) => results[String(endpoints)] ?? [];
  const fewest = Math.min(...sizes.map(({ endpoints }) => endpoints));
  const most = Math.max(...sizes.map(({ endpoints }) => endpoints));
  const toFewest = (endpoints: number) => ratioOf(speeds(of(endpoints)), speeds(of(fewest)));
  return {
    tables: [
      {
        title: "serve: routewright by number of endpoints, 1 row",
        columns: [
          { key: "endpoints", head: "endpoints", digits: 0 },
          ...LOAD_COLUMNS,
          { key: "toFewest", head: `to ${String(fewest)} endpoints`, digits: 2 },
        ],
        rows: sizes.map(({ endpoints }) => ({
          endpoints,
          ...loadRow(of(endpoints)),
          toFewest: toFewest(endpoints).median,
        })),
        notes: [loadNote(Object.values(results).flat())],
      },
    ],
    bars: [
      {
        what: `requests/s of routewright, ${String(most)} endpoints to ${String(fewest)}`,
        ...toFewest(most),
        expected: { atLeast: 0.95 },
      },
    ],
  };
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
