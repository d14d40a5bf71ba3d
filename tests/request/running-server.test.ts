import { execSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { sendRequest } from "../support/http-client.js";
import { databaseUrl } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { run, serve, type Served } from "../support/command.js";
import { generateInto, ownFolder } from "../support/service.js";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const VARIABLES = { DATABASE_URL: databaseUrl, USAGE_ENABLED: "false", RATE_LIMITS: "1000000" };
const NOT_RELOADED = "not reloaded: the server keeps serving; correct the problem and send SIGHUP again";
/** A server checks its key file every 2 s. */
const TAKEN = { timeout: 30_000, interval: 200 };

const modelsOf = (...names: readonly string[]): unknown =>
  manifestOf(
    names.map((name) => ({ name, tags: ["production", "s", `api:${name}`], columns: { id: "int" } })),
  );

/** Statuses of ten requests, each on a connection of its own, so that all workers get some. */
async function statuses({ url }: Served, path: string, key?: string): Promise<readonly number[]> {
  const ten = Array.from({ length: 10 }, () => sendRequest(url, path, { ...(key !== undefined && { key }) }));
  return [...new Set((await Promise.all(ten)).map(({ status }) => status))];
}

const countOf = (served: Served, message: string): number =>
  served.printed().stdout.split(`"msg":"${message}"`).length - 1;

async function startIn(workers: number): Promise<{ folder: string; served: Served }> {
  const folder = ownFolder();
  generateInto(join(folder, "generated"), modelsOf("a"));
  const served = await serve(folder, ["--only", "data", "--workers", String(workers)], VARIABLES);
  return { folder, served };
}

const one = await startIn(1);
const two = await startIn(2);

describe.each([
  ["one process", 1, one],
  ["two workers", 2, two],
])("a running server of %s", (_, workers, { folder, served }) => {
  const file = join(folder, "api_keys.json");

  it("takes a key from `keys create`, and refuses it after `keys revoke`", async () => {
    const created = await run(folder, [
      "keys",
      "create",
      "--user",
      "ann",
      "--tier",
      "tier2",
      "--org",
      "acme",
    ]);
    expect(created.code, created.stderr).toBe(0);
    const key = /sk_live_[\w-]+/.exec(created.stdout + created.stderr)?.[0] ?? "";
    await expect.poll(() => statuses(served, "/", key), TAKEN).toEqual([200]);
    const [id] = /\b[0-9a-f]{12}\b/.exec((await run(folder, ["keys", "list"])).stdout) ?? [""];
    const revoked = await run(folder, ["keys", "revoke", id]);
    expect(revoked.code, revoked.stderr).toBe(0);
    await expect.poll(() => statuses(served, "/", key), TAKEN).toEqual([403]);
  });

  it("keeps its keys while the file is invalid, and says what is wrong without showing a key", async () => {
    writeFileSync(file, JSON.stringify({ sk_live_first: "tier3" }));
    await expect.poll(() => statuses(served, "/", "sk_live_first"), TAKEN).toEqual([200]);
    const before = countOf(served, "the key file is invalid: the previous keys stay active");
    writeFileSync(file, '{"sk_live_twice": "tier0", "sk_live_twice": "tier3"}');
    const messages = () => countOf(served, "the key file is invalid: the previous keys stay active");
    await expect.poll(messages, TAKEN).toBe(before + workers);
    expect(await statuses(served, "/", "sk_live_first")).toEqual([200]);
    expect(served.printed().stdout).toContain("entries 1 and 2: the same key twice. Keep one of them.");
    expect(served.printed().stdout).not.toContain("sk_live_twice");
    writeFileSync(file, "{}");
    await expect.poll(() => statuses(served, "/", "sk_live_first"), TAKEN).toEqual([403]);
  });

  it("reloads the generated folder on SIGHUP and keeps serving", async () => {
    expect(await statuses(served, "/v1/s/b")).toEqual([404]);
    generateInto(join(folder, "generated"), modelsOf("a", "b"));
    served.child.kill("SIGHUP");
    await expect.poll(() => countOf(served, "reloaded"), TAKEN).toBe(1);
    const openApi = await sendRequest(served.url, "/openapi.json");
    expect(openApi.text).toContain("/v1/s/b");
    expect(await statuses(served, "/v1/s/b")).not.toContain(404);
    writeFileSync(
      join(folder, "generated/openapi.json"),
      readFileSync(join(folder, "generated/openapi.json"), "utf8").slice(1),
    );
    served.child.kill("SIGHUP");
    await expect.poll(() => countOf(served, NOT_RELOADED), TAKEN).toBe(1);
    expect(await statuses(served, "/v1/s/b")).not.toContain(404);
  });
});

describe("a running server", () => {
  it("keeps its keys while the file cannot be read", async () => {
    const { folder, served } = one;
    const file = join(folder, "api_keys.json");
    writeFileSync(file, JSON.stringify({ sk_live_kept: "tier3" }));
    await expect.poll(() => statuses(served, "/", "sk_live_kept"), TAKEN).toEqual([200]);
    for (const [command, reason] of [
      ["ln -s api_keys.json api_keys.json", "ELOOP"],
      ["mkfifo api_keys.json", "not a file"],
      ["ln -s generated/openapi.json/keys api_keys.json", "ENOTDIR"],
      ["mkdir api_keys.json", "not a file"],
    ] as const) {
      const problem = `API_KEYS_FILE: cannot read ./api_keys.json (${reason}).`;
      const said = (): number => served.printed().stdout.split(problem).length - 1;
      const before = said();
      rmSync(file);
      execSync(command, { cwd: folder });
      await expect.poll(said, TAKEN).toBe(before + 1);
      expect(await statuses(served, "/", "sk_live_kept")).toEqual([200]);
    }
    rmSync(file, { recursive: true });
    writeFileSync(file, "{}");
    await expect.poll(() => statuses(served, "/", "sk_live_kept"), TAKEN).toEqual([403]);
  });
});

describe("RATE_LIMITS", () => {
  it("sets the requests per minute by tier", async () => {
    const folder = ownFolder();
    generateInto(join(folder, "generated"), modelsOf("a"));
    const served = await serve(folder, ["--only", "data"], {
      ...VARIABLES,
      RATE_LIMITS: "tier0=2,tier2=5",
      API_KEYS: JSON.stringify({ sk_live_two: "tier2" }),
    });
    const limitOf = async (key?: string): Promise<unknown> =>
      (await sendRequest(served.url, "/", { ...(key !== undefined && { key }) })).headers[
        "x-ratelimit-limit"
      ];
    expect([await limitOf(), await limitOf("sk_live_two")]).toEqual(["2", "5"]);
    for (let i = 0; i < 2; i++) await sendRequest(served.url, "/v1/s/nothing");
    expect((await sendRequest(served.url, "/v1/s/nothing")).status).toBe(429);
  });

  it.each(["0", "tier0=0", "tier9=5", "many"])(
    "refuses %s at the start, and says what it must be",
    async (text) => {
      const refused = await run(ownFolder(), ["serve"], { ...VARIABLES, RATE_LIMITS: text });
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain("RATE_LIMITS must be a number of requests per minute");
    },
  );
});
