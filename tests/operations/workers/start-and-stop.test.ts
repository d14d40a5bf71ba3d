import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, request, type IncomingMessage } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { sendRequest, statusAndBody } from "../../data-api/http-client.js";
import { ownSchema } from "../../support/database.js";
import { run } from "../../support/command.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, ownFolder } from "../../support/service.js";
import { BASE, countOf, linesOf, project, servingPids, serveWorkers, startWorkers } from "./cluster.js";

const schema = await ownSchema(`
  CREATE TABLE @.fast AS SELECT 1 AS id;
  CREATE VIEW @.slow AS SELECT 'done' AS v FROM pg_sleep(1.5);
  CREATE VIEW @.endless AS SELECT 'done' AS v FROM pg_sleep(60);`);
const manifest = manifestOf(
  ["fast", "slow", "endless"].map((name) => ({
    name,
    schema,
    tags: ["production", "served", `api:${name}`],
  })),
);

/** Whether a process runs; one that has ended is no longer there, or a zombie until somebody asks for its end. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout);
}

describe("routewright serve --workers", () => {
  it("serves from several processes on one port", async () => {
    const served = await serveWorkers(project(manifest), 3);
    expect(servingPids(served)).toHaveLength(3);
    expect(servingPids(served)).not.toContain(served.child.pid);
    const ids = Array.from({ length: 12 }, (_, i) => `request-${String(i)}`);
    const answers = ids.map((id) =>
      sendRequest(served.url, "/v1/served/fast", { headers: { "x-request-id": id } }),
    );
    for (const answer of await Promise.all(answers))
      expect(statusAndBody(answer)).toEqual([200, [{ id: 1 }]]);
    await expect.poll(() => countOf(served, "request")).toBe(12);
    const workers = linesOf(served).flatMap(({ requestId = "", worker }) =>
      ids.includes(requestId) ? [worker] : [],
    );
    expect(new Set(workers).size).toBe(3);
    expect(linesOf(served).find(({ msg }) => msg === "listening")).toMatchObject({
      endpoints: 3,
      keys: 1,
      workers: 3,
    });
  });

  it("warns that each worker counts limits separately, unless Redis counts them", async () => {
    const warning = /"level":40.*rate limits are counted per worker.*set REDIS_URL/;
    const apart = await serveWorkers(project(manifest), 2);
    expect(apart.printed().stdout.match(warning)).toHaveLength(1);
    const together = await serveWorkers(project(manifest), 2, { REDIS_URL: "redis://127.0.0.1:1" });
    expect(together.printed().stdout).not.toMatch(warning);
    const alone = await serveWorkers(project(manifest), 1);
    expect(alone.printed().stdout).not.toMatch(/warning|"worker"/);
  });

  it.each(["0", "x", "65", "-1", "1.5", ""])("refuses %j as a number of workers", async (number) => {
    const { code, stdout, stderr } = await run(ownFolder(), ["serve", "--workers", number], BASE);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(
      /^error: .*'--workers <number>'.*It must be a whole number from 1 to 64, or auto\.\n$/,
    );
  });

  it("takes auto for a worker per core", async () => {
    const served = startWorkers(project(manifest), ["--workers", "auto"]);
    await served.until(/"msg":"listening"/);
    const { availableParallelism } = await import("node:os");
    const cores = availableParallelism();
    expect(countOf(served, "worker serves")).toBe(cores === 1 ? 0 : cores);
  });

  it("cannot start on a port in use, and says so", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    const { code, stderr } = await startWorkers(project(manifest), ["--workers", "2", "--port", String(port)])
      .finished;
    expect([code, stderr]).toEqual([
      2,
      `error: Port ${String(port)} of 127.0.0.1 is in use: stop what uses it, or choose another port.\n`,
    ]);
  });

  it("cannot start on a module that does not load, and names it", async () => {
    const folder = project(manifest);
    writeFileSync(join(folder, "generated/routes/served/fast.ts"), "throw new Error('no');");
    const { code, stderr } = await startWorkers(folder, ["--workers", "2", "--allow-edited"]).finished;
    expect([code, stderr]).toEqual([2, "error: No worker process starts: served/fast.ts: no.\n"]);
  });
});

describe("SIGTERM", () => {
  it("lets all workers finish their requests, and exits 0", async () => {
    const served = await serveWorkers(project(manifest), 2);
    const pids = servingPids(served);
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const slow = Array.from({ length: 4 }, async () => {
      const outgoing = request(`${served.url}/v1/served/slow`, { agent }).end();
      const [response] = (await once(outgoing, "response")) as [IncomingMessage];
      const chunks = await response.toArray();
      return [response.statusCode, response.headers.connection, Buffer.concat(chunks as Buffer[]).toString()];
    });
    // All four are with the workers by the time that a fifth has been answered by each.
    for (let i = 0; i < 4; i++) await sendRequest(served.url, "/health");
    const stopped = served.stop();
    for (const answer of await Promise.all(slow)) expect(answer).toEqual([200, "close", '[{"v":"done"}]']);
    expect(await stopped).toMatchObject({ code: 0, stderr: "" });
    expect(pids.filter(isAlive)).toEqual([]);
    await expect(sendRequest(served.url, "/")).rejects.toThrow("ECONNREFUSED");
    expect(countOf(served, "worker ended")).toBe(2);
    // The log of what was answered at the very end is there too.
    expect(linesOf(served).filter(({ route }) => route === "/v1/served/slow")).toHaveLength(4);
  });

  it("given twice ends all at once", async () => {
    const served = await serveWorkers(project(manifest), 2);
    const pids = servingPids(served);
    const endless = sendRequest(served.url, "/v1/served/endless").catch(String);
    await sendRequest(served.url, "/health");
    served.child.kill("SIGTERM");
    await expect
      .poll(() =>
        sendRequest(served.url, "/").then(
          () => "open",
          () => "closed",
        ),
      )
      .toBe("closed");
    served.child.kill("SIGTERM");
    await served.finished;
    expect(await endless).toMatch(/hang up|RESET/);
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
  });

  it("during the start ends the command with 0, and no process is left", async () => {
    const starting = startWorkers(project(manifest), ["--workers", "3"]);
    await starting.until(/"worker":3.*"worker starting"/);
    const pids = linesOf(starting).flatMap(({ msg, pid }) => (msg === "worker starting" ? [pid!] : []));
    expect(pids).toHaveLength(3);
    expect((await starting.stop()).code).toBe(0);
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
    expect(starting.printed().stdout).not.toMatch(/"msg":"listening"|"level":50/);
  });
});

describe("a primary that is killed", () => {
  it("takes its workers with it", async () => {
    const served = await serveWorkers(project(manifest), 2);
    const pids = servingPids(served);
    expect((await sendRequest(served.url, "/", { key: KEYS.tier3 })).status).toBe(200);
    await served.stop("SIGKILL");
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
  });
});
