import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { askRaw } from "../../data-api/http-client.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import {
  countOf,
  linesOf,
  preloading,
  project,
  servingPids,
  serveWorkers,
  startWorkers,
  until,
} from "./cluster.js";
import { load } from "./load.js";

const schema = await ownSchema("CREATE TABLE @.one AS SELECT 1::bigint AS n");
const manifest = manifestOf([
  { name: "one", schema, tags: ["production", "flows", "api:first"], columns: { n: "bigint" } },
]);

describe("a worker that is killed", () => {
  it("takes only its own connections with it, and is replaced", async () => {
    const served = await serveWorkers(project(manifest), 2);
    const KEPT = 6;
    const callers = load({ url: `${served.url}/v1/flows/first`, fresh: 4, kept: KEPT });
    await expect.poll(callers.answered).toBeGreaterThan(100);
    const KILLS = 4;
    for (let kill = 0; kill < KILLS; kill++) {
      const before = servingPids(served);
      process.kill(before[0]!, "SIGKILL");
      await until(served, 1, before);
      await sleep(300);
    }
    const { answered, answers, failed } = await callers.stop();
    console.log(`${String(KILLS)} kills under load: ${String(answered)} answered, failed:`, failed);
    expect([...answers]).toEqual(['200 [{"n":1}]']);
    // Clients of the worker that died see a closed connection at once; no other request is refused or left without a response.
    expect(Object.keys(failed).filter((code) => code !== "ECONNRESET")).toEqual([]);
    expect(failed["ECONNRESET"] ?? 0).toBeLessThanOrEqual(KILLS * (KEPT + 4));
    const deaths = linesOf(served).filter(({ msg }) => msg === "worker died");
    expect(deaths).toHaveLength(KILLS);
    for (const death of deaths)
      expect(death).toMatchObject({
        level: 50,
        role: "data",
        signal: "SIGKILL",
        code: null,
        pid: expect.any(Number),
      });
  });

  it("leaves the connections that it had not taken yet to another one", async () => {
    const served = await serveWorkers(project(manifest), 2);
    const [stuck] = servingPids(served);
    process.kill(stuck!, "SIGSTOP");
    const request = "GET /v1/flows/first HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const answers = Array.from({ length: 6 }, () => askRaw(served.url, request));
    const isThere = await Promise.all(answers.map((answer) => Promise.race([answer, sleep(1500, "")])));
    expect(isThere).toContain("");
    process.kill(stuck!, "SIGKILL");
    for (const answer of await Promise.all(answers))
      expect(answer).toMatch(/^HTTP\/1.1 200 .*\[\{"n":1\}\]$/s);
  });

  it("leaves the port open even when it was the last: callers wait for the next one", async () => {
    const served = await serveWorkers(project(manifest), 2);
    const callers = load({ url: `${served.url}/v1/flows/first`, fresh: 6, kept: 0 });
    await expect.poll(callers.answered).toBeGreaterThan(50);
    const before = servingPids(served);
    for (const pid of before) process.kill(pid, "SIGKILL");
    await until(served, 2, before);
    const { answers, failed } = await callers.stop();
    expect([...answers]).toEqual(['200 [{"n":1}]']);
    expect(Object.keys(failed).filter((code) => code !== "ECONNRESET")).toEqual([]);
  });

  it("is replaced by one that gets the same share of new connections", async () => {
    const served = await serveWorkers(project(manifest), 2);
    const before = servingPids(served);
    process.kill(before[0]!, "SIGKILL");
    await until(served, 1, before);
    const { hostname, port } = new URL(served.url);
    const sockets: Socket[] = [];
    atEnd(() => sockets.forEach((socket) => socket.destroy()));
    const by = new Map<number, number>();
    for (let i = 0; i < 12; i++) {
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      const id = `connection-${String(i)}`;
      socket.write(`GET /v1/flows/first HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\n\r\n`);
      await expect.poll(() => linesOf(served).some(({ requestId }) => requestId === id)).toBe(true);
      const worker = linesOf(served).find(({ requestId }) => requestId === id)?.worker ?? 0;
      by.set(worker, (by.get(worker) ?? 0) + 1);
    }
    expect([...by.values()]).toEqual([6, 6]);
  });
});

describe("workers that die again and again", () => {
  const EXITS = 'if (require("node:cluster").isWorker) process.exit(7);';

  it("end the command at its start, when none comes up", async () => {
    const folder = project(manifest);
    const { code, stderr } = await startWorkers(folder, ["--workers", "2"], preloading(folder, EXITS))
      .finished;
    expect([code, stderr]).toEqual([2, "error: No worker process starts: it ended with code 7.\n"]);
  });

  it("end the command when none comes up any more, after some tries that get rarer", async () => {
    const folder = project(manifest);
    const sign = join(folder, "sign");
    const script = `if (require("fs").existsSync(${JSON.stringify(sign)})) { ${EXITS} }`;
    const served = await serveWorkers(folder, 2, preloading(folder, script));
    writeFileSync(sign, "");
    for (const pid of servingPids(served)) process.kill(pid, "SIGKILL");
    const { code, stderr } = await served.finished;
    expect([code, stderr]).toEqual([
      2,
      "error: No worker process can be kept alive: it ended with code 7.\n",
    ]);
    const tries = countOf(served, "worker did not start");
    expect(tries).toBeGreaterThanOrEqual(10);
    expect(tries).toBeLessThanOrEqual(12);
  });

  it("are tried on as long as one serves, and all serve once nothing is in the way", async () => {
    const folder = project(manifest);
    const sign = join(folder, "sign");
    const script = `if (require("fs").existsSync(${JSON.stringify(sign)})) { ${EXITS} }`;
    const served = await serveWorkers(folder, 2, preloading(folder, script));
    writeFileSync(sign, "");
    process.kill(servingPids(served)[0]!, "SIGKILL");
    await expect.poll(() => countOf(served, "worker did not start")).toBeGreaterThan(3);
    rmSync(sign);
    await until(served, 2);
    expect((await served.stop()).code).toBe(0);
  });
});
