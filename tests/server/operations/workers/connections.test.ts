import { Agent, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { stopped } from "../../../../scripts/clickhouse/start-clickhouse.js";
import type { Served } from "../../../support/command.js";
import { ownSchema } from "../../../support/database.js";
import { manifestOf } from "../../../support/manifest.js";
import { KEYS } from "../../../support/service.js";
import { linesOf, project, servingPids, serveWorkers } from "./served-workers.js";

const schema = await ownSchema("CREATE TABLE @.one AS SELECT 1::bigint AS n");
const manifest = manifestOf([
  { name: "one", schema, tags: ["production", "flows", "api:one"], columns: { n: "bigint" } },
]);

/** Callers who keep their connection; each has one. */
function callersOf(served: Served) {
  const agents: Agent[] = [];
  onTestFinished(() => agents.forEach((agent) => agent.destroy()));
  const call = (agent: Agent): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = { "x-api-key": KEYS.tier3 };
      get(`${served.url}/v1/flows/one`, { agent, headers }, (response) => {
        response.resume().on("end", () => resolve(String(response.headers["x-request-id"])));
        expect(response.statusCode).toBe(200);
      }).on("error", reject);
    });
  const add = (): Promise<string> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agents.push(agent);
    return call(agent);
  };
  /** How many each worker has, the most first: all call one after the other. */
  const perWorker = async (): Promise<readonly number[]> => {
    const ids = new Set<unknown>();
    for (const agent of agents) ids.add(await call(agent));
    const lines = () => linesOf(served).filter(({ requestId }) => ids.has(requestId));
    await expect.poll(() => lines().length, { interval: 10 }).toBe(agents.length);
    const counts = new Map<unknown, number>();
    for (const { worker } of lines()) counts.set(worker, (counts.get(worker) ?? 0) + 1);
    return [...counts.values()].sort((a, b) => b - a);
  };
  return { add, perWorker };
}

/** On a busy machine it may have been replaced meanwhile. */
function thaw(pid: number): void {
  try {
    process.kill(pid, "SIGCONT");
  } catch {
    // It has ended.
  }
}

it("gives each worker its share of kept connections, also of those that one got while the other was frozen", async () => {
  const served = await serveWorkers(project(manifest), 2);
  const callers = callersOf(served);
  const [frozen = 0] = servingPids(served);
  process.kill(frozen, "SIGSTOP");
  onTestFinished(() => thaw(frozen));
  await stopped([frozen]);
  for (let i = 0; i < 16; i++) await callers.add();
  expect(await callers.perWorker()).toEqual([16]);
  thaw(frozen);
  // A worker may have a quarter more than its share: 10 of 16, 20 of 32.
  await expect.poll(async () => (await callers.perWorker())[1] ?? 0, { timeout: 90_000 }).toBeGreaterThan(5);
  for (let i = 0; i < 16; i++) {
    await callers.add();
    await sleep(20);
  }
  await expect.poll(async () => (await callers.perWorker())[0], { timeout: 90_000 }).toBeLessThan(21);
});
