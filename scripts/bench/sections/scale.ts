import { getRequest, Load, type Sample } from "../load/load.js";
import type { Server } from "../process.js";
import type { Bar, Findings } from "../report.js";
import { KEYS, startRoutewright } from "../servers.js";
import { interleave, median, ratioOf } from "../statistics.js";
import { generateApi, openDatabase, syntheticEndpoints } from "../synthetic-api.js";
import type { Setting } from "./section.js";

const CONNECTIONS = 32;
const VIEWS = 10;

/** Servers under test: so many endpoints on the same views. Two workers respond from the result cache, as does their peer. */
const SERVERS = {
  few: { title: "10 endpoints", endpoints: 10, args: [], environment: {} },
  many: { title: "10,000 endpoints", endpoints: 10_000, args: [], environment: {} },
  one: { title: "cached, 1 worker", endpoints: 10, args: [], environment: { CACHE_TTL_SECONDS: "3600" } },
  two: {
    title: "cached, 2 workers",
    endpoints: 10,
    args: ["--workers", "2"],
    environment: { CACHE_TTL_SECONDS: "3600" },
  },
} as const;
type Name = keyof typeof SERVERS;

/** Limits: route look-up does not depend on the number of endpoints; workers add throughput. */
const MANY_TO_FEW = 0.95;
const TWO_TO_ONE = 1.3;

/** Throughput by number of endpoints, and by number of workers. */
export async function scale({ folder, effort, progress }: Setting): Promise<Findings> {
  progress("scale: generating 10,000 endpoints, starting the servers");
  const database = await openDatabase(folder);
  const load = new Load(database.pid);
  const started: Server[] = [];
  const runs = {} as Record<Name, () => Promise<Sample>>;
  try {
    for (const [name, { endpoints, ...options }] of Object.entries(SERVERS)) {
      const server = await startRoutewright(await generateApi(folder, endpoints, VIEWS), database, options);
      started.push(server);
      const job = { requests: requestsFor(endpoints), connections: CONNECTIONS };
      await load.run(server, { ...job, milliseconds: effort.warmUpMs });
      runs[name as Name] = () => load.run(server, { ...job, milliseconds: effort.roundMs });
    }
    progress("scale: 1 row");
    return findings(await interleave(runs, effort.rounds));
  } finally {
    load.stop();
    await Promise.all(started.map((server) => server.stop()));
    await database.stop();
  }
}

/** Each with another filter that keeps all rows: identical concurrent requests would share one execution. */
function requestsFor(endpoints: number): string[] {
  const paths = syntheticEndpoints(endpoints, VIEWS).flatMap(({ path, rows }) => (rows === 1 ? [path] : []));
  return Array.from({ length: Math.max(KEYS.length, paths.length) }, (_, i) => {
    const day = new Date(Date.UTC(2030, 0, 1 + (i % KEYS.length))).toISOString().slice(0, 10);
    return getRequest(`${paths[i % paths.length] ?? ""}?end_date=${day}`, KEYS[i % KEYS.length] ?? "");
  });
}

function findings(samples: Readonly<Record<Name, Sample[]>>): Findings {
  const throughputs = (name: Name): number[] => samples[name].map((sample) => sample.requestsPerSecond);
  const bar = (name: string, numerator: Name, denominator: Name, atLeast: number): Bar => ({
    name,
    ratio: ratioOf(throughputs(numerator), throughputs(denominator)),
    limit: { atLeast },
  });
  return {
    tables: [
      {
        title: `scale: routewright, 1 row, ${String(CONNECTIONS)} connections`,
        columns: [
          { key: "server", head: "server" },
          { key: "throughput", head: "requests/s", digits: 0 },
          { key: "cpu", head: "CPU µs/request", digits: 0 },
        ],
        rows: (Object.keys(SERVERS) as Name[]).map((name) => ({
          server: SERVERS[name].title,
          throughput: median(throughputs(name)),
          // The supervisor's own processor time says nothing of its workers.
          cpu: name === "two" ? NaN : median(samples[name].map((sample) => sample.cpu)),
        })),
      },
    ],
    bars: [
      bar("throughput, 10,000 endpoints to 10", "many", "few", MANY_TO_FEW),
      bar("throughput, two workers to one, cached", "two", "one", TWO_TO_ONE),
    ],
  };
}
