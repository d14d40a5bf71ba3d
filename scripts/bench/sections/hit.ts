import { writeFileSync } from "node:fs";
import { get } from "node:http";
import { join, resolve } from "node:path";
import { API_KEYS, type Database, serveApi } from "../api.js";
import { compareFigure, type Figures, type Findings, type Setting } from "../figures.js";
import { compare, getRequests, KEYS, rowsOf } from "../load.js";
import { type Program, type Server, startServer } from "../process.js";

const CONNECTIONS = 32;

/** Different requests for one row each, all of them in the result cache. */
const DIFFERENT = 100;

/** Processor time of a request in multiples of the bare server's. */
const MOST = 1.5;

/** Requests a second to servers that have time left, half of what Routewright answers. */
const SAME_RATE = 5000;

/** What the section `hot` has started or found. */
interface HitParts {
  readonly database: Database;
  /** Folder of the generated API whose rows change with builds only. */
  readonly api: string;
  readonly paths: readonly string[];
  /** Environment of the Fastify server; null where Fastify is not installed. */
  readonly fastify: Readonly<Record<string, string>> | null;
  /** The compiled Go server; null where Go is not installed. */
  readonly go: string | null;
}

/** Results from the cache, and 304, beside servers that answer the same bytes from a map. */
export async function hits(setting: Setting, parts: HitParts): Promise<Findings> {
  const paths = parts.paths.slice(0, DIFFERENT);
  setting.progress("hit: starting the servers");
  const servers = await startServers(setting, parts, paths);
  const cases = {
    hit: getRequests(paths),
    "304": await conditional(paths, servers["routewright"]?.port ?? 0),
  };
  const rows: Record<string, Figures> = {};
  const bars = [];
  for (const [name, requests] of Object.entries(cases)) {
    setting.progress(name);
    const sides = Object.entries(servers).map(([side, server]) => [side, { server, requests }] as const);
    const two = sides.filter(([side]) => side === "bare" || side === "routewright");
    const job = { connections: CONNECTIONS };
    const full = await compare(Object.fromEntries(sides), job);
    const same = await compare(Object.fromEntries(two), { ...job, perSecond: SAME_RATE });
    for (const [title, samples] of [
      [name, full],
      [`${name}, same rate`, same],
    ] as const) {
      Object.assign(rows, rowsOf(samples, `${title}, `));
      const { bare = [], routewright = [] } = samples;
      bars.push(compareFigure(`${title}, beside bare`, { bare, routewright }, "CPU µs", { atMost: MOST }));
    }
  }
  const title = `hit: ${String(DIFFERENT)} requests for one row, ${String(CONNECTIONS)} connections, results in the cache`;
  const note = `All but the duties server send the bytes that Routewright sent once. As fast as each can, a slower
server also wakes the load generator, which waits for it, with each response; at the same rate both do.`;
  return { tables: [{ title, rows, note }], bars };
}

async function startServers(
  { folder, keep }: Setting,
  { database, api, fastify, go }: HitParts,
  paths: readonly string[],
): Promise<Readonly<Record<string, Server>>> {
  const results = join(api, "run_results.json");
  writeFileSync(results, runResults());
  const routewright = keep(await serveApi(api, database.url, { DBT_RUN_RESULTS_PATH: results }));
  const file = join(folder, "responses.json");
  writeFileSync(file, JSON.stringify(await responsesTo(paths, routewright.port)));
  const start = async (name: string, more: Partial<Program>): Promise<Server> => {
    const environment = { BENCH_RESPONSES: file, DATABASE_URL: database.url, ...more.environment };
    const args = [resolve(`scripts/bench/baselines/${name}.js`)];
    return keep(await startServer({ name, args, folder, ...more, environment }));
  };
  return {
    bare: await start("cached", {}),
    routewright,
    express: await start("cached", { environment: { BENCH_EXPRESS: "true" } }),
    duties: await start("duties", { environment: { API_KEYS: JSON.stringify(API_KEYS) } }),
    ...(fastify && { fastify: await start("fastify", { environment: fastify }) }),
    ...(go !== null && { go: await start("go", { program: go, args: [] }) }),
  };
}

/** The build by which the server knows that its rows have not changed. */
function runResults(): string {
  const now = new Date().toISOString();
  return JSON.stringify({
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
      generated_at: now,
    },
    results: [
      {
        unique_id: "model.bench.hot",
        status: "success",
        timing: [{ name: "execute", started_at: now, completed_at: now }],
      },
    ],
  });
}

interface SentResponse {
  /** Flat name and value pairs, without those that Node adds by itself. */
  readonly headers: readonly string[];
  readonly tag: string;
  readonly body: string;
}

/** The responses of a server, by method and address. */
async function responsesTo(
  paths: readonly string[],
  port: number,
): Promise<Readonly<Record<string, SentResponse>>> {
  const found: Record<string, SentResponse> = {};
  for (const path of paths) found[`GET ${path}`] = await responseTo(path, port);
  return found;
}

function responseTo(path: string, port: number): Promise<SentResponse> {
  const headers = { "X-API-Key": KEYS[0] ?? "" };
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, path, headers }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("error", reject).on("end", () => {
        const { rawHeaders, statusCode } = response;
        const { etag = "", "x-data-as-of": build } = response.headers;
        // Without a build nothing is cached.
        if (statusCode !== 200 || build === undefined)
          reject(new Error(`${path} has ${String(statusCode)}: ${body}`));
        else resolve({ headers: sentHeaders(rawHeaders), tag: etag, body });
      });
    }).on("error", reject);
  });
}

const OF_NODE: ReadonlySet<string> = new Set(["Date", "Connection", "Keep-Alive"]);

function sentHeaders(raw: readonly string[]): readonly string[] {
  return raw.filter((_, i) => !OF_NODE.has(raw[i - (i % 2)] ?? ""));
}

/** The same requests by clients that have the rows. */
async function conditional(paths: readonly string[], port: number): Promise<readonly string[]> {
  const responses = await responsesTo(paths, port);
  return getRequests(paths).map((text, i) => {
    const tag = responses[`GET ${paths[i] ?? ""}`]?.tag ?? "";
    return text.replace("\r\n\r\n", `\r\nIf-None-Match: ${tag}\r\n\r\n`);
  });
}
