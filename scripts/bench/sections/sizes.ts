import { join } from "node:path";
import { endpoints, generateEndpoints, openEndpoints, serveApi } from "../api.js";
import { getRequests, putLoad, WARM_UP_MS } from "../load.js";
import { residentMiB } from "../process.js";
import { type Figures, figureText, type Findings, type Setting } from "../figures.js";
import { pathsOf } from "./serve.js";

const MOST_ENDPOINTS = 10_000;
/** Endpoints of the smallest server. All are asked for these: the first request of each looks its relation up. */
const FEW = 500;
const CONNECTIONS = 32;

/** What more endpoints cost one process. */
export async function sizes({ folder, keep, progress }: Setting): Promise<Findings> {
  const database = keep(await openEndpoints(join(folder, "sizes"), MOST_ENDPOINTS));
  const rows: Record<string, Figures> = {};
  const job = { connections: CONNECTIONS, requests: getRequests(pathsOf("1 row", endpoints(FEW))) };
  for (const count of [FEW, MOST_ENDPOINTS / 2, MOST_ENDPOINTS]) {
    const name = `${count.toLocaleString("en-US")} endpoints`;
    progress(`sizes: ${name}`);
    const api = await generateEndpoints(folder, count);
    const started = performance.now();
    const server = await serveApi(api, database.url);
    const start = (performance.now() - started) / 1000;
    const memory = residentMiB(server.pid);
    await putLoad(server, { ...job, milliseconds: WARM_UP_MS });
    const load = await putLoad(server, { ...job, milliseconds: 2 * WARM_UP_MS });
    rows[name] = { ...load, "MiB at rest": memory, "start s": start };
    await server.stop();
  }
  const head = ["server", "requests a second", "processor time per request", "memory at rest", "start"];
  const cells = Object.entries(rows).map(([name, figures]) => [
    name,
    figureText(figures["requests/s"]),
    figureText(figures["CPU µs"], "µs"),
    figureText(figures["MiB at rest"], "MiB"),
    figureText(figures["start s"], "s"),
  ]);
  const title = "sizes: one row a request, the load and PostgreSQL on the same cores";
  return { tables: [{ title, rows }], page: [{ title: "## One process", head, rows: cells }], bars: [] };
}
