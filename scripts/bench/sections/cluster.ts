import { connect, createServer } from "node:net";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { clickhouseLibrary, ClickhouseServer, freePort } from "../../clickhouse/start-clickhouse.js";
import { generateApi, serveApi } from "../api.js";
import type { Figures, Findings, Setting } from "../figures.js";
import { download, getRequests, putLoad, WARM_UP_MS } from "../load.js";
import { cpuSeconds } from "../process.js";
import { MILLION, modelOf, ROWS } from "./clickhouse.js";

const CONNECTIONS = 8;

/** One ClickHouse server, and two that keep half of the rows each, behind a TCP balancer. */
export async function cluster({ folder, progress, keep }: Setting): Promise<Findings> {
  if (clickhouseLibrary() === null) {
    progress("cluster: left out, ClickHouse is not installed");
    return { tables: [], bars: [] };
  }
  const rows: Record<string, Figures> = {};
  for (const [name, count] of [
    ["one node", 1],
    ["two nodes", 2],
  ] as const) {
    progress(`cluster: ${name}`);
    const nodes = await startNodes(join(folder, "cluster"), count);
    for (const node of nodes) keep({ stop: () => node.kill() });
    const address = keep(await balancer(nodes));
    const api = await generateApi(join(folder, "cluster-api"), [modelOf("million")], "clickhouse");
    const server = await serveApi(api, `clickhouse://api:secret@127.0.0.1:${String(address.port)}/bench`);
    const cpuOfNodes = (): number => nodes.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
    const requests = getRequests(
      Array.from({ length: ROWS / 1000 }, (_, page) => `/v1/big/million?page=${String(page)}`),
    );
    const job = { connections: CONNECTIONS, requests };
    await putLoad(server, { ...job, milliseconds: WARM_UP_MS });
    const before = cpuOfNodes();
    const pages = await putLoad(server, { ...job, milliseconds: 2 * WARM_UP_MS });
    const done = (pages["requests/s"] * 2 * WARM_UP_MS) / 1000;
    const cpu = ((cpuOfNodes() - before) * 1e6) / done;
    const beforeAll = cpuOfNodes();
    const all = await download(server, "/v1/big/million");
    rows[name] = {
      "pages/s": pages["requests/s"],
      "p50 ms": pages["p50 ms"],
      "CPU µs": pages["CPU µs"],
      "nodes' CPU µs": cpu,
      "rows/s of all rows": ROWS / all.seconds,
      "nodes' CPU s": cpuOfNodes() - beforeAll,
    };
    await server.stop();
    for (const node of nodes) await node.kill();
  }
  const title = `cluster: pages of 1,000 rows, ${String(CONNECTIONS)} connections; then 1,000,000 rows in one response`;
  return {
    tables: [{ title, rows, note: "The nodes, the server, the balancer and the load share the cores." }],
    bars: [],
  };
}

async function startNodes(folder: string, count: number): Promise<readonly ClickhouseServer[]> {
  rmSync(folder, { recursive: true, force: true });
  const shards: number[] = [];
  while (shards.length < count) shards.push(await freePort());
  const nodes: ClickhouseServer[] = [];
  for (const [shard, tcpPort] of shards.entries()) {
    const node = await ClickhouseServer.start({ folder: join(folder, String(shard)), tcpPort, shards });
    nodes.push(node);
    await node.query("CREATE DATABASE bench");
    const part = `sipHash64(number) % ${String(count)} = ${String(shard)}`;
    const rows = `${MILLION} WHERE ${part}`;
    await node.query(count === 1 ? rows : rows.replace("bench.million", "bench.part"));
    if (count > 1)
      await node.query(
        "CREATE TABLE bench.million AS bench.part ENGINE = Distributed(shards, bench, part, rand())",
      );
  }
  return nodes;
}

/** Connections go to the nodes in turn. */
async function balancer(nodes: readonly ClickhouseServer[]) {
  let count = 0;
  const server = createServer((client) => {
    const node = connect(nodes[count++ % nodes.length]?.httpPort ?? 0, "127.0.0.1");
    node.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.on("error", () => node.destroy()).on("close", () => node.destroy());
    client.pipe(node).pipe(client);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { readonly port: number };
  return { port, stop: () => Promise.resolve(void server.close()) };
}
