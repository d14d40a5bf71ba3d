/** `routewright ddl --cluster`: two shards behind a TCP balancer are served as one database. */
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ClickhouseServer, freePort } from "../../scripts/clickhouse/start-clickhouse.js";
import { hasClickhouse, ownClickhouse } from "../support/clickhouse.js";
import { start } from "../support/command.js";
import { proxyOf } from "../support/database-proxy.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { generateInto, startFolder } from "../support/service.js";
import { CopiedProject, writeParquet } from "./copies.js";

const NODE = "model.test.orders";
const ROWS = 2000;
const [FIRST, SECOND] = ["2026-05-01T08:00:00.000Z", "2026-05-02T08:00:00.000Z"];
const MODEL = {
  name: "orders",
  columns: { id: "NUMBER(10,0)", load: "NUMBER(5,0)", amount: "NUMBER(38,10)" },
  materialized: "table",
  routewright: { changes: "on_build" },
  api: {
    parameters: [{ name: "id", column: "id", operator: "=", type: "string" }],
    sort: [{ column: "id", direction: "ASC" }],
    allow_unfiltered: true,
  },
};

/** Connections go to the nodes in turn. */
async function balancer(nodes: readonly ClickhouseServer[]): Promise<string> {
  let count = 0;
  const { url } = await proxyOf(nodes[0]?.url("default", "api:secret") ?? "", (client) => {
    const node = connect(nodes[count++ % nodes.length]?.httpPort ?? 0, "127.0.0.1");
    node.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.on("close", () => node.destroy());
    client.pipe(node).pipe(client);
  });
  return url;
}

async function cluster() {
  const shards = [await freePort(), await freePort()];
  const nodes = await Promise.all(shards.map((tcpPort) => ownClickhouse({ tcpPort, shards })));
  const project = await CopiedProject.of("clickhouse", "snowflake", MODEL);
  const variables = { LOAD_DATABASE_URL: nodes[0]?.url() ?? "", DBT_RUN_RESULTS_PATH: "run_results.json" };
  const write = (load: number, amount = "D('12345678901234567890.0123456789')"): Promise<void> =>
    writeParquet(
      project.file("orders.parquet"),
      `{'ID': pa.array(range(${String(ROWS)}), pa.int64()), 'LOAD': pa.array([${String(load)}] * ${String(ROWS)}), 'AMOUNT': pa.array([${amount}] * ${String(ROWS)})}`,
    );
  const built = (completedAt: string): void => {
    const timing = [{ name: "execute", completed_at: completedAt }];
    const version = "https://schemas.getdbt.com/dbt/run-results/v6.json";
    writeFileSync(
      project.file("run_results.json"),
      JSON.stringify({
        metadata: { dbt_schema_version: version, generated_at: completedAt },
        args: { which: "build" },
        results: [{ unique_id: NODE, status: "success", timing }],
      }),
    );
  };
  const args = [
    ...["--from", "{name}.parquet", "--cluster", "shards", "--nodes"],
    ...nodes.map(({ httpPort }) => `127.0.0.1:${String(httpPort)}`),
  ];
  const load = () => project.ddl([...args, "--apply"], variables);
  const folder = project.file("generated");
  generateInto(folder, project.manifest, { engine: "clickhouse" });
  built(FIRST);
  await write(1);
  expect(await load()).toMatchObject({ exit: 0, err: "" });
  const { url } = await startFolder(folder, { DATABASE_URL: await balancer(nodes), RATE_LIMITS: "1000000" });
  return { nodes, project, variables, args, load, write, built, url };
}

const copy = needs("pyarrow") && hasClickhouse ? await cluster() : null;

describe.skipIf(copy === null)("a copy on two shards", () => {
  if (copy === null) return;
  const { nodes, project, variables, args, load, write, built, url } = copy;

  const tables = (node: ClickhouseServer): Promise<string> =>
    node.query(`SELECT count() FROM system.tables WHERE database = '${project.schema}' FORMAT TSVRaw`);
  /** Loads and number of the rows of a response. */
  const read = async (): Promise<string> => {
    const response = await fetch(`${url}/v1/shop/orders`);
    if (response.status !== 200) return `${String(response.status)} ${await response.text()}`;
    const rows = (await response.json()) as readonly { readonly load: number }[];
    return `${[...new Set(rows.map((row) => row.load))].join("+")}: ${String(rows.length)}`;
  };

  it("has a part of the rows on each, and all of them with every digit in a response of any", async () => {
    for (const node of nodes) {
      const [name = ""] = (
        await node.query(`SELECT name FROM system.tables WHERE name LIKE 'orders\\_\\_shard%' FORMAT TSVRaw`)
      ).split("\n");
      const count = Number(await node.query(`SELECT count() FROM ${project.schema}.${name}`));
      expect(count).toBeGreaterThan(ROWS / 4);
      expect(count).toBeLessThan(ROWS);
    }
    for (let i = 0; i < 6; i++) expect(await read()).toBe(`1: ${String(ROWS)}`);
    const one = await (await fetch(`${url}/v1/shop/orders?id=7`)).text();
    expect(one.replaceAll(/\s/g, "")).toBe('[{"id":7,"load":1,"amount":12345678901234567890.0123456789}]');
  });

  it("has one tag, whichever node answers, and another after each load", async () => {
    const tagged = async (): Promise<string> => {
      const { headers } = await fetch(`${url}/v1/shop/orders?id=${String(Math.random()).slice(2, 8)}`);
      return headers.get("x-data-as-of") ?? "";
    };
    await expect.poll(tagged).toBe(FIRST);
    const tags = new Set<string | null>();
    for (let i = 0; i < 20; i++) tags.add((await fetch(`${url}/v1/shop/orders`)).headers.get("etag"));
    expect(tags.size).toBe(1);
    await pause(2500);
    const [tag] = tags;
    // Where the machine stood still, the build is not known for a moment.
    const again = () => fetch(`${url}/v1/shop/orders`, { headers: { "If-None-Match": tag ?? "" } });
    await expect.poll(async () => (await again()).status).toBe(304);
    built(SECOND);
    await write(2);
    expect(await load()).toMatchObject({ exit: 0 });
    await expect.poll(tagged).toBe(SECOND);
    expect(await read()).toBe(`2: ${String(ROWS)}`);
    // The relation, and the part of its rows.
    for (const node of nodes) expect((await tables(node)).trim()).toBe("2");
  });

  it("keeps the rows of a load that fails, and says no build while its nodes hold different ones", async () => {
    await write(3, "D('1' * 29)");
    expect(await load()).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/amount does not fit/) as string,
    });
    expect(await read()).toBe(`2: ${String(ROWS)}`);
    for (const node of nodes) expect((await tables(node)).trim()).toBe("2");
    // As a load does that ends between the two nodes.
    await write(4);
    const script = await project.ddl(args, variables);
    const statements = script.out.split(/;\n/).map((text) => text.replaceAll(/^(?:--.*)?\n/gm, ""));
    const exchange = statements.findIndex((text) => text.startsWith("EXCHANGE"));
    for (const text of statements.slice(0, exchange + 1))
      for (const [index, node] of nodes.entries()) {
        const isOnFirst = /^(INSERT|SELECT throwIf\(\(|SELECT throwIf\(uniq)/.test(text);
        if ((isOnFirst || text.startsWith("EXCHANGE")) && index > 0) continue;
        await node.query(text);
      }
    const seen = new Set<string>();
    for (let i = 0; i < 30; i++) seen.add(await read());
    expect([...seen].filter((text) => !/^[24]: 2000$/.test(text))).toEqual([]);
    await expect
      .poll(async () => (await fetch(`${url}/v1/shop/orders`)).headers.get("x-data-as-of"))
      .toBe(null);
    await write(5);
    expect(await load()).toMatchObject({ exit: 0 });
    await expect.poll(read).toBe(`5: ${String(ROWS)}`);
    for (const node of nodes) expect((await tables(node)).trim()).toBe("2");
  });

  it("is read while it is loaded and while loads are killed: every response has the rows of one load", async () => {
    const seen = new Set<string>();
    let isDone = false;
    const readers = Array.from({ length: 3 }, async () => {
      while (!isDone) seen.add(await read());
    });
    for (let round = 6; round < 9; round++) {
      await write(round);
      const running = start(project.folder, ["ddl", "manifest.json", ...args, "--apply"], variables);
      await pause(300 + (round - 6) * 300);
      await running.stop("SIGKILL");
      await expect.poll(async () => (await load()).exit).toBe(0);
    }
    isDone = true;
    await Promise.all(readers);
    expect([...seen].filter((text) => !/^\d+: 2000$/.test(text))).toEqual([]);
    await expect.poll(read).toBe(`8: ${String(ROWS)}`);
  });

  it("refuses nodes that are not those of the cluster", async () => {
    const one = args.slice(0, -1);
    expect(await project.ddl([...one, "--apply"], variables)).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/name the HTTP address of each node with --nodes/) as string,
    });
    expect(await project.ddl(["--from", "{name}.parquet", "--cluster", "other"], variables)).toMatchObject({
      exit: 2,
      err: expect.stringContaining("knows no cluster other") as string,
    });
    expect(await project.ddl(["--from", "{name}.parquet", "--apply"], variables)).toMatchObject({
      exit: 2,
      err: expect.stringContaining("load it with --cluster") as string,
    });
  });

  it("ends a query that is given up on the node that runs it", async () => {
    const slow = project.schema;
    for (const node of nodes)
      await node.query(
        `CREATE VIEW ${slow}.slow AS SELECT max(sipHash64(number)) AS id FROM numbers(1000000000000)`,
      );
    const folder = project.file("slow");
    generateInto(
      folder,
      manifestOf([{ name: "slow", schema: slow, columns: { id: "UInt64" }, api: MODEL.api }]),
      {
        engine: "clickhouse",
      },
    );
    const own = await startFolder(folder, { DATABASE_URL: await balancer(nodes), RATE_LIMITS: "1000000" });
    const running = async (): Promise<number> => {
      const counts = nodes.map((node) =>
        node.query(
          "SELECT count() FROM system.processes WHERE query LIKE '%slow%' AND query NOT LIKE '%system.processes%'",
        ),
      );
      return (await Promise.all(counts)).reduce((sum, count) => sum + Number(count), 0);
    };
    const leaving = new AbortController();
    const asked = [1, 2, 3, 4].map((id) =>
      fetch(`${own.url}/v1/shop/slow?id=${String(id)}`, { signal: leaving.signal }).catch(() => null),
    );
    await expect.poll(running).toBeGreaterThan(2);
    leaving.abort();
    await Promise.all(asked);
    await expect.poll(running).toBe(0);
  });
});

// With one node: the engine of the tests ends itself where a query with LIMIT, as `verify` asks, is cancelled on another.
it.skipIf(copy === null)("a copy on a cluster keeps what `changes: on_build` promises", async () => {
  const project = await CopiedProject.of("clickhouse", "snowflake", MODEL);
  await writeParquet(project.file("orders.parquet"), "{'ID': [1], 'LOAD': [1], 'AMOUNT': [D('1.5')]}");
  const nodes = ["--cluster", "shards", "--nodes", new URL(project.ownerUrl).host];
  expect(await project.load(...nodes)).toMatchObject({ exit: 0, err: "" });
  const verify = await project.run(["verify", "manifest.json"], { DATABASE_URL: project.readerUrl });
  expect(verify).toMatchObject({ exit: 0 });
});
