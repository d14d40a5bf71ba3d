import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sendRequest, statusAndBody } from "../../../support/http-client.js";
import { ownSchema } from "../../../support/database.js";
import { start } from "../../../support/command.js";
import { manifestOf } from "../../../support/manifest.js";
import { ownDatabase, SECRETS_KEY } from "../../../ramp/support/world.js";
import { BASE, countOf, project, servingPids, until } from "./served-workers.js";

const rampDatabase = await ownDatabase();
const schema = await ownSchema("CREATE TABLE @.one AS SELECT 1::bigint AS n");
const manifest = manifestOf([
  { name: "one", schema, tags: ["production", "flows", "api:first"], columns: { n: "bigint" } },
]);
const VARIABLES = {
  ...BASE,
  PORT: "0",
  RAMP_PORT: "0",
  RAMP_DATABASE_URL: rampDatabase,
  RAMP_SECRETS_KEY: SECRETS_KEY.toString("hex"),
};

async function serveBoth() {
  const running = start(project(manifest), ["serve", "--workers", "2"], VARIABLES);
  const [, ramp = ""] = await running.until(/"url":"(http:[^"]+)","msg":"ramp listening"/);
  const [pid = 0] = await until(running, 1, [], "ramp").then(() => servingPids(running, "ramp"));
  return { running, ramp, pid };
}

it("workers on the embedded database all use the one that the primary started, and it stops after them", async () => {
  const folder = project(manifest);
  const running = start(folder, ["serve", "--workers", "2"], { PORT: "0", RAMP_PORT: "0" });
  const [, ramp = ""] = await running.until(/"url":"(http:[^"]+)","msg":"ramp listening"/);
  const [, data = ""] = await running.until(/"url":"(http:[^"]+)".*"msg":"listening"/);
  for (const url of [data, data, data, ramp])
    expect(statusAndBody(await sendRequest(url, "/health"))).toEqual([
      200,
      expect.objectContaining({ database_connected: true }),
    ]);
  expect((await running.stop()).code).toBe(0);
  expect(existsSync(join(folder, ".data/postgres/data/postmaster.pid"))).toBe(false);
});

describe("the ramp beside workers", () => {
  it("has a process of its own, which is replaced when it dies and renewed by SIGHUP", async () => {
    const { running, ramp, pid } = await serveBoth();
    const [, data = ""] = await running.until(/"url":"(http:[^"]+)".*"msg":"listening"/);
    const dataPids = servingPids(running);
    expect(dataPids).toHaveLength(2);
    const isUp = async (): Promise<void> => {
      expect(statusAndBody(await sendRequest(ramp, "/health"))).toEqual([
        200,
        expect.objectContaining({ database_connected: true }),
      ]);
      expect(statusAndBody(await sendRequest(data, "/v1/flows/first"))).toEqual([200, [{ n: 1 }]]);
    };
    await isUp();
    process.kill(pid, "SIGKILL");
    await until(running, 1, [pid], "ramp");
    await isUp();
    expect(servingPids(running)).toEqual(dataPids);
    const [second = 0] = servingPids(running, "ramp");
    running.child.kill("SIGHUP");
    await running.until(/"msg":"reloaded"/);
    expect(servingPids(running, "ramp")).not.toContain(second);
    await isUp();
    expect((await running.stop()).code).toBe(0);
    expect(countOf(running, "worker ended")).toBe(6);
  });

  it("that cannot start ends the command, and says why", async () => {
    const variables = { ...VARIABLES, RAMP_DATABASE_URL: "postgres://127.0.0.1:1/none" };
    const { code, stderr } = await start(project(manifest), ["serve", "--workers", "2"], variables).finished;
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: No worker process starts: .*ECONNREFUSED.*\n$/);
  });
});
