import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, request, type IncomingMessage } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { sendRequest, statusAndBody } from "../../../support/http-client.js";
import { ownSchema } from "../../../support/database.js";
import { serve, type Served } from "../../../support/command.js";
import { manifestOf } from "../../../support/manifest.js";
import { generateInto, KEYS } from "../../../support/service.js";
import { manifestServer, serving } from "../../../watch/manifest-server.js";
import { isAlive } from "../../../support/processes.js";
import { load } from "./load.js";
import {
  askAllWorkers,
  BASE,
  countOf,
  linesOf,
  project,
  servingPids,
  serveWorkers,
  startWorkers,
  until,
} from "./served-workers.js";

const schema = await ownSchema(`
  CREATE TABLE @.one AS SELECT 1::bigint AS n;
  CREATE TABLE @.two AS SELECT 2::bigint AS n;
  CREATE VIEW @.slow AS SELECT 'done' AS v FROM pg_sleep(1.5);`);
const resources = (...names: readonly string[]): unknown =>
  manifestOf(
    names.map((name) => ({
      name,
      schema,
      tags: ["production", "flows", `api:${name}`],
      columns: name === "slow" ? { v: "text" } : { n: "bigint" },
    })),
  );

/** Statuses of requests to all workers. */
const statuses = async (served: Served, path: string, key?: string): Promise<ReadonlySet<number>> =>
  (await askAllWorkers(served, path, key)).statuses;

/** The sum of the series of a metric. */
async function total(served: Served, name: string): Promise<number> {
  const { text } = await sendRequest(served.url, "/metrics");
  const values = text.split("\n").filter((line) => line.startsWith(name));
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

describe("routewright serve --workers", () => {
  it("serves from several processes on one port; at SIGTERM all finish their requests", async () => {
    const served = await serveWorkers(project(resources("one", "slow")), 3);
    const pids = servingPids(served);
    expect(pids).toHaveLength(3);
    expect(pids).not.toContain(served.child.pid);
    const answers = Array.from({ length: 12 }, () => sendRequest(served.url, "/v1/flows/one"));
    for (const answer of await Promise.all(answers)) expect(statusAndBody(answer)).toEqual([200, [{ n: 1 }]]);
    expect(await statuses(served, "/v1/flows/one")).toEqual(new Set([200]));
    expect(linesOf(served).find(({ msg }) => msg === "listening")).toMatchObject({
      url: served.url,
      endpoints: 2,
      keys: 1,
      workers: 3,
    });
    expect(countOf(served, LIMITS_PER_WORKER)).toBe(1);

    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const slow = Array.from({ length: 6 }, async () => {
      const outgoing = request(`${served.url}/v1/flows/slow`, { agent }).end();
      const [response] = (await once(outgoing, "response")) as [IncomingMessage];
      const chunks = await response.toArray();
      return [response.statusCode, response.headers.connection, Buffer.concat(chunks as Buffer[]).toString()];
    });
    // By the time that a later connection has been answered all six are with the workers.
    await sendRequest(served.url, "/health");
    const stopped = served.stop();
    for (const answer of await Promise.all(slow)) expect(answer).toEqual([200, "close", '[{"v":"done"}]']);
    expect(await stopped).toMatchObject({ code: 0, stderr: "" });
    expect(pids.filter(isAlive)).toEqual([]);
    expect(countOf(served, "worker ended")).toBe(3);
    // The log of what was answered at the very end is there too.
    expect(linesOf(served).filter(({ route }) => route === "/v1/flows/slow")).toHaveLength(6);
  });

  it("replaces its workers at SIGHUP without a failed request; new ones read the keys and the folder", async () => {
    const folder = project(resources("one"));
    const { DATABASE_URL } = BASE;
    const served = await serve(folder, ["--only", "data", "--workers", "2"], { DATABASE_URL });
    const callers = load({ url: `${served.url}/v1/flows/one`, fresh: 4, kept: 6 });
    await expect.poll(callers.answered).toBeGreaterThan(100);
    const before = servingPids(served);
    writeFileSync(join(folder, "api_keys.json"), JSON.stringify({ [KEYS.tier3]: "tier3" }));
    generateInto(join(folder, "generated"), resources("one", "two"));
    served.child.kill("SIGHUP");
    await served.until(/"msg":"reloaded"/);
    await until(served, 2, before);
    const { failed } = await callers.stop();
    expect(failed).toEqual({});
    expect(servingPids(served)).toHaveLength(2);
    expect(await statuses(served, "/v1/flows/two")).toEqual(new Set([200]));

    writeFileSync(join(folder, "generated/routes/flows/one.ts"), "throw new Error('spoiled');");
    served.child.kill("SIGHUP");
    await served.until(/one.ts is not as it was generated.*"msg":"not reloaded/);
    expect(await statuses(served, "/v1/flows/one")).toEqual(new Set([200]));
  });

  it("loses only the connections of a worker that is killed; no new one accepts a revoked key", async () => {
    const folder = project(resources("one"));
    const file = join(folder, "api_keys.json");
    const revoked = JSON.stringify({ [KEYS.tier3]: "tier3" });
    writeFileSync(file, JSON.stringify({ [KEYS.tier3]: "tier3", [KEYS.tier1]: "tier1" }));
    const { DATABASE_URL } = BASE;
    const served = await serve(folder, ["--only", "data", "--workers", "2"], { DATABASE_URL });
    writeFileSync(file, revoked);
    await expect.poll(() => countOf(served, "keys reloaded")).toBe(2);
    const callers = load({ url: `${served.url}/v1/flows/one`, fresh: 4, kept: 6 });
    await expect.poll(callers.answered).toBeGreaterThan(100);
    const before = servingPids(served);
    process.kill(before[0]!, "SIGKILL");
    await until(served, 1, before);
    process.kill(before[1]!, "SIGKILL");
    await until(served, 2, before);
    const { failed } = await callers.stop();
    // None is left without an answer or a reset: with node:cluster's round robin, one that was on its way to it.
    const { ECONNRESET = 0, ...others } = failed;
    expect(others).toEqual({});
    expect(ECONNRESET).toBeLessThanOrEqual(2 * 10);
    const isRevoked = async (): Promise<void> => {
      expect(await statuses(served, "/v1/flows/one")).toEqual(new Set([200]));
      expect(await statuses(served, "/v1/flows/one", KEYS.tier1)).toEqual(new Set([403]));
    };
    await isRevoked();
    expect(linesOf(served).filter(({ msg }) => msg === "worker died")).toMatchObject(
      before.map((pid) => ({ level: 50, role: "data", detail: "it was ended by SIGKILL", pid })),
    );

    // While the file is invalid no worker starts with it, and the others keep their keys.
    writeFileSync(file, "{");
    await expect
      .poll(() => countOf(served, "the key file is invalid: the previous keys stay active"))
      .toBe(2);
    process.kill(servingPids(served)[0]!, "SIGKILL");
    await served.until(/worker did not start/);
    await isRevoked();
    writeFileSync(file, revoked);
    await until(served, 2);
    await isRevoked();
  });

  it("activates a refresh in all workers; one that starts later gets it, counters never fall; a frozen one is replaced", async () => {
    const manifests = await manifestServer(serving(resources("two"), '"2"'));
    const served = await serve(project(resources("one")), ["--only", "data", "--workers", "3"], {
      ...BASE,
      DBT_MANIFEST_URL: manifests.url,
    });
    const refreshed = await sendRequest(served.url, "/v1/system/manifest/refresh", {
      method: "POST",
      key: KEYS.tier3,
    });
    expect(JSON.parse(refreshed.text)).toMatchObject({
      status: "reloaded",
      added: ["/v1/flows/two"],
      removed: ["/v1/flows/one"],
    });
    expect(await statuses(served, "/v1/flows/one")).toEqual(new Set([404]));
    const asked = await askAllWorkers(served, "/v1/flows/two");
    expect(asked.statuses).toEqual(new Set([200]));
    await expect.poll(() => countOf(served, "manifest refreshed")).toBe(1);
    const TWO = 'routewright_requests_total{route="/v1/flows/two"';
    for (let i = 0; i < 4; i++) expect(await total(served, TWO)).toBe(asked.requests);
    expect(await total(served, "routewright_workers")).toBe(3);

    const before = servingPids(served);
    process.kill(before[0]!, "SIGKILL");
    await until(served, 3, before.slice(0, 1));
    const again = await askAllWorkers(served, "/v1/flows/two");
    expect(again.statuses).toEqual(new Set([200]));
    expect(await total(served, TWO)).toBe(asked.requests + again.requests);
    expect(await total(served, "routewright_worker_deaths_total")).toBe(1);

    const [frozen = 0] = servingPids(served);
    process.kill(frozen, "SIGSTOP");
    await until(served, 3, [frozen]);
    expect(await statuses(served, "/v1/flows/two")).toEqual(new Set([200]));
    expect(isAlive(frozen)).toBe(false);
  });

  it("cannot start on a port in use, or on a module that does not load, and says so", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => void taken.close());
    const port = String((taken.address() as AddressInfo).port);
    const folder = project(resources("one"));
    const onTaken = startWorkers(folder, ["--workers", "2", "--port", port]);
    expect(await onTaken.finished).toMatchObject({
      code: 2,
      stderr: `error: Port ${port} of 127.0.0.1 is in use: stop what uses it, or choose another port.\n`,
    });
    writeFileSync(join(folder, "generated/routes/flows/one.ts"), "throw new Error('no');");
    expect(await startWorkers(folder, ["--workers", "2", "--allow-edited"]).finished).toMatchObject({
      code: 2,
      stderr: "error: No worker process starts: flows/one.ts: no.\n",
    });
  });

  it("leaves no process behind when it is stopped during its start, or killed", async () => {
    const folder = project(resources("one"));
    const starting = startWorkers(folder, ["--workers", "2"]);
    await starting.until(/"worker":2.*"worker starting"/);
    const pids = linesOf(starting).flatMap(({ msg, pid }) => (msg === "worker starting" ? [pid!] : []));
    expect((await starting.stop()).code).toBe(0);
    const served = await serveWorkers(folder, 2);
    pids.push(...servingPids(served));
    await served.stop("SIGKILL");
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
    expect(starting.printed().stdout).not.toMatch(/"msg":"listening"|"level":50/);
  });
});

const LIMITS_PER_WORKER =
  "rate limits are counted per worker, so a caller may get its limit several times: set REDIS_URL to count them together";
