import { join } from "node:path";
import { apiFolder } from "../api-folder.js";
import { startRoutewright } from "../contestants.js";
import { openDatabase } from "../database.js";
import type { Findings, Row } from "../report.js";
import { carried, endure, type Endured } from "../soak/endure.js";
import { CYCLE } from "../soak/mix.js";
import { addLongTable, ENDPOINTS, refresh } from "../soak/scene.js";
import { type Sample, slopeOf } from "../soak/slope.js";
import type { Setting } from "./section.js";

const SHARE_OF_CAPACITY = 0.7;

/** The first part of the time is for the heap to find its size. */
const SETTLED_FROM = 0.3;

/** Memory may not grow by more than this in an hour, going by the slope over the settled time. */
const GROWTH_MB_PER_HOUR = 30;

/** A long time under load, with refreshes, bad requests and aborted downloads mixed in. */
export async function soak(setting: Setting): Promise<Findings> {
  const { folder, minutes, progress } = setting;
  const database = await openDatabase(join(folder, "database"));
  const api = await apiFolder(folder, ENDPOINTS);
  const environment = { DBT_MANIFEST_PATH: "manifest.json" };
  await addLongTable(database.url);
  const server = await startRoutewright(folder, database, ENDPOINTS, { environment });
  try {
    await refresh(server, api, 0);
    progress("soak: finding what the machine carries");
    const capacity = await carried(server);
    const rate = capacity * SHARE_OF_CAPACITY;
    progress(`soak: ${rate.toFixed(0)} requests/s for ${String(minutes)} minutes`);
    return findings(await endure(server, api, rate, minutes * 60_000, progress), { capacity, rate });
  } finally {
    await server.stop();
    await database.stop();
  }
}

function findings(
  { asked, faults, memory, descriptors, refreshes }: Endured,
  { capacity, rate }: { capacity: number; rate: number },
): Findings {
  const settled = (samples: readonly Sample[]): Sample[] =>
    samples.slice(Math.floor(samples.length * SETTLED_FROM));
  const figure = (what: string, samples: readonly Sample[]): Row => {
    const values = settled(samples).map(({ value }) => value);
    const growth = slopeOf(settled(samples)) * 3600;
    return { what, first: values[0] ?? NaN, last: values.at(-1) ?? NaN, most: Math.max(...values), growth };
  };
  const total = [...asked.values()].reduce((sum, { count }) => sum + count, 0);
  const wrong = [...asked.values()].reduce((sum, kind) => sum + kind.faults, 0);
  const growth = (slopeOf(settled(memory)) * 3600) / GROWTH_MB_PER_HOUR;
  return {
    tables: [
      {
        title: `soak: ${rate.toFixed(0)} of ${capacity.toFixed(0)} requests/s, ${String(refreshes)} refreshes, ${String(CYCLE.length)} requests a cycle`,
        columns: [
          { key: "kind", head: "requests" },
          { key: "count", head: "sent", digits: 0 },
          { key: "faults", head: "wrong", digits: 0 },
          { key: "slowest", head: "slowest ms", digits: 0 },
        ],
        rows: [...asked].map(([kind, figures]) => ({ kind, ...figures })),
        notes: faults.length > 0 ? [`Wrong, among others: ${faults.slice(0, 5).join("; ")}`] : [],
      },
      {
        title: "soak: the server over the settled time",
        columns: [
          { key: "what", head: "" },
          { key: "first", head: "first", digits: 1 },
          { key: "last", head: "last", digits: 1 },
          { key: "most", head: "most", digits: 1 },
          { key: "growth", head: "slope per hour", digits: 1 },
        ],
        rows: [figure("memory, MiB", memory), figure("descriptors", descriptors)],
      },
    ],
    bars: [
      {
        what: `growth of memory to ${String(GROWTH_MB_PER_HOUR)} MiB an hour`,
        ...{ median: growth, lowest: growth, highest: growth },
        expected: { atMost: 1 },
      },
      {
        what: `wrong answers of ${total.toLocaleString("en-US")}`,
        ...{ median: wrong, lowest: wrong, highest: wrong },
        expected: { atMost: 0 },
      },
    ],
  };
}
