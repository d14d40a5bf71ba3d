import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sendRequest, statusAndBody } from "../../data-api/http-client.js";
import { ownSchema } from "../../support/database.js";
import { serve, type Served } from "../../support/command.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, KEYS } from "../../support/service.js";
import { BASE, countOf, linesOf, project, servingPids, serveWorkers, until } from "./cluster.js";
import { load } from "./load.js";

const NOT_RELOADED = "not reloaded: the server keeps serving; correct the problem and send SIGHUP again";
const schema = await ownSchema(
  "CREATE TABLE @.one_first AS SELECT 1::bigint AS n; CREATE TABLE @.one_second AS SELECT 2::bigint AS n",
);
const resources = (...names: readonly string[]): unknown =>
  manifestOf(
    names.map((name) => ({
      name: `one_${name}`,
      schema,
      tags: ["production", "flows", `api:${name}`],
      columns: { n: "bigint" },
    })),
  );

async function reload(served: Served, outcome = "reloaded"): Promise<void> {
  const before = countOf(served, outcome);
  served.child.kill("SIGHUP");
  await expect.poll(() => countOf(served, outcome)).toBe(before + 1);
}

/** A quick reload may have let the process go already. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

describe("SIGHUP", () => {
  it("renews all workers under load, and no request is refused, reset or left without an answer", async () => {
    const served = await serveWorkers(project(resources("first")), 2);
    const callers = load({ url: `${served.url}/v1/flows/first`, fresh: 4, kept: 6 });
    await expect.poll(callers.answered).toBeGreaterThan(200);
    for (let round = 0; round < 3; round++) {
      const before = servingPids(served);
      await reload(served);
      // The place of a worker that counted as frozen on a busy machine is filled again.
      await until(served, 2, before);
      expect(servingPids(served)).toHaveLength(2);
    }
    const { answered, answers, failed } = await callers.stop();
    console.log(`3 reloads of 2 workers under load: ${String(answered)} answered, failed:`, failed);
    expect({ kinds: answers.size, failed }).toEqual({ kinds: 1, failed: {} });
    expect((await served.stop()).code).toBe(0);
  });

  it("leaves as many workers as before, though some die meanwhile", async () => {
    const served = await serveWorkers(project(resources("first")), 2);
    for (const [victim, pause] of [
      [0, 30],
      [1, 30],
      [0, 400],
    ] as const) {
      const before = servingPids(served);
      const reloaded = reload(served);
      await new Promise((resolve) => setTimeout(resolve, pause));
      killIfThere(before[victim]!);
      await reloaded;
      await until(served, 2, before);
    }
    // One too many would show up by now.
    await new Promise((resolve) => setTimeout(resolve, 2000));
    expect(servingPids(served)).toHaveLength(2);
    const pids = linesOf(served).flatMap(({ msg, pid }) => (msg === "worker starting" ? [pid] : []));
    const ended = linesOf(served).filter(({ msg }) => msg === "worker ended" || msg === "worker died").length;
    expect(pids.length - ended).toBe(2);
  });

  it("has the new workers read the keys and the generated folder as they are now", async () => {
    const folder = project(resources("first"));
    const { DATABASE_URL } = BASE;
    const served = await serve(folder, ["--only", "data", "--workers", "2"], { DATABASE_URL });
    writeFileSync(join(folder, "api_keys.json"), JSON.stringify({ [KEYS.tier3]: "tier3" }));
    generateInto(join(folder, "generated"), resources("first", "second"));
    await reload(served);
    for (let i = 0; i < 10; i++) {
      expect((await sendRequest(served.url, "/", { key: KEYS.tier3 })).status).toBe(200);
      expect(statusAndBody(await sendRequest(served.url, "/v1/flows/second"))).toEqual([200, [{ n: 2 }]]);
    }
  });

  it("leaves the workers as they are when a file is wrong, and says what", async () => {
    const folder = project(resources("first"));
    const { DATABASE_URL } = BASE;
    const served = await serve(folder, ["--only", "data", "--workers", "2"], { DATABASE_URL });
    const before = servingPids(served);
    writeFileSync(join(folder, "api_keys.json"), "{");
    await reload(served, NOT_RELOADED);
    rmSync(join(folder, "api_keys.json"));
    const route = join(folder, "generated/routes/flows/first.ts");
    const good = readFileSync(route, "utf8");
    writeFileSync(route, "throw new Error('spoiled');");
    await reload(served, NOT_RELOADED);
    expect(linesOf(served).flatMap(({ msg, detail }) => (msg === NOT_RELOADED ? [detail] : []))).toEqual([
      expect.stringContaining("./api_keys.json must hold a JSON object"),
      expect.stringContaining("generated: routes/flows/first.ts is not as it was generated."),
    ]);
    expect(servingPids(served)).toEqual(before);
    expect(statusAndBody(await sendRequest(served.url, "/v1/flows/first"))).toEqual([200, [{ n: 1 }]]);
    writeFileSync(route, good);
    await reload(served);
  });
});

describe("a worker that takes the place of a dead one", () => {
  it("serves the same as the others, even if the files have changed since", async () => {
    const folder = project(resources("first"));
    const served = await serveWorkers(folder, 2);
    generateInto(join(folder, "generated"), resources("second"));
    writeFileSync(join(folder, "generated/openapi.json"), "spoiled");
    const before = servingPids(served);
    for (const pid of before) process.kill(pid, "SIGKILL");
    await until(served, 2, before);
    for (let i = 0; i < 10; i++)
      expect(statusAndBody(await sendRequest(served.url, "/v1/flows/first", { key: KEYS.tier3 }))).toEqual([
        200,
        [{ n: 1 }],
      ]);
  });

  it("starts with SIGTERM to a worker, which finishes its requests first", async () => {
    const served = await serveWorkers(project(resources("first")), 2);
    const before = servingPids(served);
    const callers = load({ url: `${served.url}/v1/flows/first`, fresh: 2, kept: 4 });
    await expect.poll(callers.answered).toBeGreaterThan(50);
    process.kill(before[0]!, "SIGTERM");
    await until(served, 1, before);
    await expect.poll(() => countOf(served, "worker ended")).toBe(1);
    expect((await callers.stop()).failed).toEqual({});
    expect(servingPids(served)).toContain(before[1]);
  });
});
