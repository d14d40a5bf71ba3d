import type { Server } from "../children.js";
import { entrant, LOAD_COLUMNS, loadNote, loadRow, race, speeds } from "../course.js";
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
    sizes.map(({ endpoints, server }) => [String(endpoints), entrant(server, endpoints, 1)]),
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
        // Leaves room for noise: what is ruled out is going through the paths one by one, which costs most of the speed.
        expected: { atLeast: 0.8 },
      },
    ],
  };
}
