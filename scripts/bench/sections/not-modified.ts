import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { apiFolder } from "../api-folder.js";
import { startServer, type Server } from "../children.js";
import { KEYS, startRoutewright } from "../contestants.js";
import { CONNECTIONS, entrant, lap, LOAD_COLUMNS, loadNote, loadRow, speeds, type Lap } from "../course.js";
import { openDatabase } from "../database.js";
import { Load } from "../load/load.js";
import type { Findings } from "../report.js";
import { interleave } from "../rounds.js";
import { ratioOf } from "../statistics.js";
import { syntheticManifest } from "../synthetic-manifest.js";
import { ENDPOINTS } from "./rows.js";
import type { Setting } from "./section.js";

const NAMES = { bare: "node:http that only sends 304", routewright: "routewright serve" } as const;

/** Answers 304 by a version that dbt's run results tell, beside a server that does nothing else. */
export async function notModified(setting: Setting): Promise<Findings> {
  const { folder, progress } = setting;
  progress("not-modified: starting the database and the servers");
  const database = await openDatabase(join(folder, "database"));
  const load = new Load();
  const started: Server[] = [];
  const keep = (server: Server): Server => (started.push(server), server);
  try {
    const api = await apiFolder(folder, ENDPOINTS);
    writeFileSync(join(api, "run_results.json"), JSON.stringify(runResults(ENDPOINTS)));
    const environment = { DBT_RUN_RESULTS_PATH: "run_results.json" };
    const routewright = keep(await startRoutewright(folder, database, ENDPOINTS, { environment }));
    const args = [resolve("scripts/bench/baselines/not-modified.js")];
    const bare = keep(await startServer({ name: "not-modified", args, folder }));
    progress("not-modified: asking for what the client has");
    return findings(await compare({ bare, routewright }, load, setting));
  } finally {
    load.stop();
    await Promise.all(started.map((server) => server.stop()));
    await database.stop();
  }
}

/** What dbt writes after it has built all models. */
function runResults(endpoints: number): unknown {
  const { nodes } = syntheticManifest(endpoints) as { nodes: Record<string, unknown> };
  const time = "2026-01-01T00:00:00.000000Z";
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
      generated_at: time,
      invocation_id: "bench",
    },
    results: Object.keys(nodes).map((unique_id) => ({
      unique_id,
      status: "success",
      timing: [{ name: "execute", started_at: time, completed_at: time }],
    })),
  };
}

type Results = Record<keyof typeof NAMES, Lap[]>;

async function compare(
  servers: Readonly<Record<keyof typeof NAMES, Server>>,
  load: Load,
  { effort: { rounds, roundMs, warmUpMs } }: Setting,
): Promise<Results> {
  const { paths } = entrant(servers.routewright, ENDPOINTS, 1);
  const headerLines = await Promise.all(paths.map((path) => ifNoneMatch(servers.routewright, path)));
  const job = { paths, headerLines, keys: KEYS, status: 304, bodyBytes: 0, connections: CONNECTIONS };
  const run = (name: keyof typeof NAMES, milliseconds: number) =>
    lap(load, { ...job, port: servers[name].port, milliseconds }, servers[name].pid);
  await run("bare", warmUpMs);
  await run("routewright", warmUpMs);
  return interleave(
    { bare: () => run("bare", roundMs), routewright: () => run("routewright", roundMs) },
    rounds,
  );
}

/** The header by which a client names what it has. */
async function ifNoneMatch({ port }: Server, path: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
    headers: { "X-API-Key": KEYS[0] ?? "" },
  });
  const tag = answer.headers.get("etag");
  if (tag === null || !answer.headers.has("x-data-as-of"))
    throw new Error(`${path} has no version: ${String(answer.status)} ${await answer.text()}`);
  await answer.arrayBuffer();
  return `If-None-Match: ${tag}`;
}

function findings(results: Results): Findings {
  const names = Object.keys(NAMES) as (keyof typeof NAMES)[];
  const ratio = ratioOf(speeds(results.routewright), speeds(results.bare));
  return {
    tables: [
      {
        title: `not-modified: 304 by known version, ${String(ENDPOINTS)} endpoints, ${String(CONNECTIONS)} connections`,
        columns: [{ key: "server", head: "server" }, ...LOAD_COLUMNS],
        rows: names.map((name) => ({ server: NAMES[name], ...loadRow(results[name]) })),
        notes: [loadNote(Object.values(results).flat())],
      },
    ],
    bars: [{ what: `304s/s of routewright to ${NAMES.bare}`, ...ratio, expected: { atLeast: 0.7 } }],
  };
}
