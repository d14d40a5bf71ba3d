import { Agent, get } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import { serve } from "../../support/command.js";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { OwnServer } from "../../support/own-server.js";
import { childrenOf } from "../../support/processes.js";
import { generateInto, ownFolder } from "../../support/service.js";

/** All of it: `QUOTA_KILLS=30 QUOTA_FAILOVERS=3 QUOTA_ORGANIZATIONS=200`. */
const [KILLS, FAILOVERS, ORGANIZATIONS] = [
  ["QUOTA_KILLS", 3],
  ["QUOTA_FAILOVERS", 1],
  ["QUOTA_ORGANIZATIONS", 20],
].map(([name, few]) => Number(process.env[String(name)] ?? few)) as [number, number, number];
const CONNECTIONS = 16;
const QUOTA = 20_000;

vi.setConfig({ testTimeout: 900_000, hookTimeout: 120_000 });

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT generate_series(1, 3) AS id");
const MANIFEST = manifestOf([
  {
    name: "sales",
    schema,
    tags: ["production", "shop", "api:sales", "tier1"],
    columns: { id: "int" },
    api: { allow_unfiltered: true },
  },
]);
const PLAN = { tier: "tier1", requestsPerMinute: 1_000_000, quota: { requests: QUOTA } } as const;

/** Sends requests of all organizations in turn until it is stopped, and notes the responses with 200 of each. */
function load(urls: readonly string[], keys: readonly string[]) {
  const sent = keys.map(() => 0);
  const statuses = new Map<string, number>();
  let isOver = false;
  let turn = 0;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const ask = (url: string, key: string) =>
    new Promise<string>((resolve) => {
      get(`${url}/v1/shop/sales`, { agent, headers: { "x-api-key": key } }, (response) => {
        response
          .on("error", () => resolve("cut off"))
          .on("close", () => resolve(response.complete ? String(response.statusCode) : "cut off"));
        response.resume();
      }).on("error", () => resolve("no response"));
    });
  const client = async (): Promise<void> => {
    while (!isOver) {
      const organization = turn++ % keys.length;
      const status = await ask(urls[turn % urls.length] ?? "", keys[organization] ?? "");
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === "200") sent[organization] = (sent[organization] ?? 0) + 1;
      if (status === "no response") await sleep(20);
    }
  };
  const clients = Array.from({ length: CONNECTIONS }, client);
  const stop = async (): Promise<void> => {
    isOver = true;
    await Promise.all(clients);
    agent.destroy();
  };
  return { sent, statuses, stop };
}

it("requests as sent, counted and billed differ by no more than the shares of killed processes", async () => {
  const folder = ownFolder();
  generateInto(join(folder, "generated"), MANIFEST, { plans: { pro: PLAN } });
  const database = await OwnServer.create();
  const store = await KeyDatabase.open(database.url);
  const keys: string[] = [];
  for (let i = 0; i < ORGANIZATIONS; i++) {
    const made = await store.create({ tier: "tier1", user: "a", org: `org ${String(i)}` });
    if (!made.ok) throw new Error(made.problems.join(" "));
    keys.push(made.value.key);
    await store.organizations.setPlan(`org ${String(i)}`, "pro");
  }
  await store.close();
  const variables = { DATABASE_URL: databaseUrl, KEYS_DATABASE_URL: database.url, USAGE_ENABLED: "false" };
  const args = ["--only", "data", "--workers", "2"];
  const servers = [await serve(folder, args, variables), await serve(folder, args, variables)];
  const traffic = load(
    servers.map(({ url }) => url),
    keys,
  );
  let failovers = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(1500);
    const workers = childrenOf(servers[kill % 2]?.child.pid);
    const victim = workers[kill % workers.length];
    if (victim !== undefined) process.kill(victim, "SIGKILL");
    if (failovers < FAILOVERS && kill >= ((failovers + 0.5) * KILLS) / FAILOVERS - 1) {
      failovers++;
      await sleep(700);
      await (failovers % 2 === 0 ? database.stop("fast") : database.kill());
      await sleep(1000);
      await database.start();
    }
  }
  await sleep(2000);
  await traffic.stop();
  for (const server of servers) expect((await server.stop()).code).toBe(0);
  const rows =
    await database.query(`SELECT id, coalesce(month.requests, 0)::int AS counted, coalesce(billed, 0)::int AS billed
    FROM routewright_keys.organizations
    LEFT JOIN (SELECT organization, sum(requests) AS requests FROM routewright_keys.month_use GROUP BY 1) month ON month.organization = number
    LEFT JOIN (SELECT organization, sum(requests) AS billed FROM routewright_keys.metered GROUP BY 1) metered ON metered.organization = number`);
  const byId = new Map(rows.map((row) => [row["id"], row]));
  const result = keys.map((_, i) => {
    const { counted, billed } = byId.get(`org ${String(i)}`) as { counted: number; billed: number };
    return { sent: traffic.sent[i] ?? 0, counted, billed };
  });
  const sum = (of: "sent" | "counted" | "billed") => result.reduce((total, each) => total + each[of], 0);
  const differences = result.map(({ sent, counted }) => sent - counted);
  const text = `sent ${String(sum("sent"))}, counted ${String(sum("counted"))}, billed ${String(sum("billed"))}; by organization ${String(Math.min(...differences))} to ${String(Math.max(...differences))}; statuses ${JSON.stringify([...traffic.statuses])}`;
  console.log(
    `${String(KILLS)} kills, ${String(failovers)} failovers, ${String(ORGANIZATIONS)} organizations: ${text}`,
  );
  expect(result.filter(({ counted, billed }) => counted !== billed)).toEqual([]);
  // What was counted and not received was on its way from a process that was killed.
  for (const { sent, counted } of result) {
    expect(sent - counted).toBeLessThanOrEqual(KILLS * (QUOTA / 1000 + CONNECTIONS));
    expect(counted - sent).toBeLessThanOrEqual(KILLS);
  }
  expect(sum("counted") - sum("sent")).toBeLessThanOrEqual(KILLS * CONNECTIONS);
  expect(sum("sent")).toBeGreaterThan(100);
});
