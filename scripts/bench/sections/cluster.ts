import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { clickhouseLibrary, ClickhouseServer, freePort } from "../../clickhouse/start-clickhouse.js";
import { generateApi, serveApi } from "../api.js";
import { type Figures, figureText, type Findings, type PageTable, type Setting } from "../figures.js";
import { download, generate, getRequests, putLoad, WARM_UP_MS } from "../load.js";
import { cpuSeconds, type Server } from "../process.js";
import { startBalancer } from "../services.js";
import { MILLION, modelOf, ROWS } from "./clickhouse.js";

const CONNECTIONS = 8;

/** Nodes, and whether each has all rows. */
const CLUSTERS = {
  "one node": { count: 1, hasAll: true },
  "two nodes, half of the rows each": { count: 2, hasAll: false },
  "two nodes, all rows each": { count: 2, hasAll: true },
} as const;
type Cluster = (typeof CLUSTERS)[keyof typeof CLUSTERS];

const LOAD_MS = 9000;
const KILL_AFTER_MS = 3000;

/** ClickHouse servers behind a TCP balancer: one, two with half of the rows each, two with all; of these one is killed. */
export async function cluster(setting: Setting): Promise<Findings> {
  const { folder, progress, keep } = setting;
  if (clickhouseLibrary() === null) {
    progress("cluster: left out, ClickHouse is not installed");
    return { tables: [], bars: [] };
  }
  const rows: Record<string, Figures> = {};
  for (const [name, kind] of Object.entries(CLUSTERS)) {
    progress(`cluster: ${name}`);
    const nodes = await startNodes(join(folder, "cluster"), kind);
    for (const node of nodes) keep({ stop: () => node.kill() });
    const balancer = keep(await startBalancer(nodes.map(({ httpPort }) => httpPort)));
    const api = await generateApi(join(folder, "cluster-api"), [modelOf("million")], "clickhouse");
    const address = `clickhouse://api:secret@127.0.0.1:${String(balancer.port)}/bench`;
    const server = await serveApi(api, address);
    rows[name] = { ...(await measure(server, nodes)), ...(await afterDeath(server, nodes, kind)) };
    await server.stop();
    for (const node of nodes) await node.kill();
  }
  const title = `cluster: pages of 1,000 rows, ${String(CONNECTIONS)} connections; then 1,000,000 rows in one response`;
  return {
    tables: [{ title, rows, note: "The nodes, the server, the balancer and the load share the cores." }],
    page: pageOf(rows),
    bars: [],
  };
}

const REQUESTS = getRequests(
  Array.from({ length: ROWS / 1000 }, (_, page) => `/v1/big/million?page=${String(page)}`),
);

async function measure(server: Server, nodes: readonly ClickhouseServer[]): Promise<Figures> {
  const cpuOfNodes = (): number => nodes.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
  const job = { connections: CONNECTIONS, requests: REQUESTS };
  await putLoad(server, { ...job, milliseconds: WARM_UP_MS });
  const before = cpuOfNodes();
  const pages = await putLoad(server, { ...job, milliseconds: 2 * WARM_UP_MS });
  const done = (pages["requests/s"] * 2 * WARM_UP_MS) / 1000;
  const cpu = ((cpuOfNodes() - before) * 1e6) / done;
  const beforeAll = cpuOfNodes();
  const all = await download(server, "/v1/big/million");
  return {
    "pages/s": pages["requests/s"],
    "p50 ms": pages["p50 ms"],
    "CPU µs": pages["CPU µs"],
    "nodes' CPU µs": cpu,
    "rows/s of all rows": ROWS / all.seconds,
    "nodes' CPU s": cpuOfNodes() - beforeAll,
  };
}

/** Requests, and those that failed, while one of two nodes is killed. */
async function afterDeath(
  { port }: Server,
  [, second]: readonly ClickhouseServer[],
  { hasAll }: Cluster,
): Promise<Figures> {
  if (second === undefined || !hasAll) return {};
  const load = generate(port, { requests: REQUESTS, connections: CONNECTIONS, milliseconds: LOAD_MS });
  await sleep(KILL_AFTER_MS);
  await second.kill();
  const { requests, failures, p99 } = await load;
  return { requests, failures, "p99 ms of them": p99 };
}

function pageOf(rows: Readonly<Record<string, Figures>>): readonly PageTable[] {
  const cells = Object.entries(rows).map(([name, figures]) => [
    name,
    figureText(figures["pages/s"]),
    figureText((figures["CPU µs"] ?? NaN) / 1000, "ms"),
    figureText((figures["nodes' CPU µs"] ?? NaN) / 1000, "ms"),
    figureText(Math.round((figures["rows/s of all rows"] ?? NaN) / 1000) * 1000),
    figureText(figures["nodes' CPU s"], "s"),
  ]);
  const head = [
    ...["", "pages a second", "server, processor time per page", "nodes, processor time per page"],
    ...["rows a second of all rows", "nodes, processor time of all rows"],
  ];
  const died = rows["two nodes, all rows each"];
  const death = [
    "one of two nodes that have all rows is killed",
    figureText(died?.["requests"]),
    figureText(died?.["failures"]),
    figureText(died?.["p99 ms of them"], "ms"),
  ];
  return [
    { title: "## A ClickHouse cluster", head, rows: cells },
    { title: "### A node that dies", head: ["", "requests", "failed", "p99"], rows: [death] },
  ];
}

async function startNodes(folder: string, { count, hasAll }: Cluster): Promise<readonly ClickhouseServer[]> {
  rmSync(folder, { recursive: true, force: true });
  const shards: number[] = [];
  while (shards.length < count) shards.push(await freePort());
  const nodes: ClickhouseServer[] = [];
  for (const [shard, tcpPort] of shards.entries()) {
    const node = await ClickhouseServer.start({ folder: join(folder, String(shard)), tcpPort, shards });
    nodes.push(node);
    await node.query("CREATE DATABASE bench");
    if (hasAll) {
      await node.query(MILLION);
      continue;
    }
    const part = `sipHash64(number) % ${String(count)} = ${String(shard)}`;
    await node.query(`${MILLION} WHERE ${part}`.replace("bench.million", "bench.part"));
    await node.query(
      "CREATE TABLE bench.million AS bench.part ENGINE = Distributed(shards, bench, part, rand())",
    );
  }
  return nodes;
}
