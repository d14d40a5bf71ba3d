import { execSync } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { databaseUrl } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { run, serve, type Served } from "../../support/command.js";
import { generateInto, ownFolder, ownInstallation } from "../../support/service.js";

const VARIABLES = { DATABASE_URL: databaseUrl, USAGE_ENABLED: "false", RATE_LIMITS: "1000000" };
const NOT_RELOADED = "not reloaded: the server keeps serving; correct the problem and send SIGHUP again";
/** A server checks its key file every 2 s, and a worker that SIGHUP replaces starts anew. */
const TAKEN = { timeout: 100_000, interval: 200 };

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

interface Started {
  readonly folder: string;
  readonly served: Served;
  readonly workers: number;
}

async function startIn(workers: number): Promise<Started> {
  const folder = ownInstallation(modelsOf("a"));
  const served = await serve(folder, ["--only", "data", "--workers", String(workers)], VARIABLES);
  return { folder, served, workers };
}

const [one, two] = await Promise.all([startIn(1), startIn(2)]);

/** With both servers side by side: most of the time is waiting for their checks. */
const inBoth = (test: (server: Started) => Promise<void>) => () => Promise.all([one, two].map(test));

/** In one step: a server may read it at any moment. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

/** Changes the key file, and waits until every worker has read it: ten requests may all meet the same one. */
async function changeKeys({ served, workers }: Started, change: () => unknown): Promise<void> {
  const reloads = (): number => countOf(served, "keys reloaded");
  const before = reloads();
  await change();
  await expect.poll(reloads, TAKEN).toBe(before + workers);
}

describe("a running server, of one process and of two workers,", () => {
  it(
    "takes a key from `keys create`, and refuses it after `keys revoke`",
    inBoth(async (server) => {
      const { folder, served } = server;
      const keys = async (...args: readonly string[]): Promise<string> => {
        const { code, stdout, stderr } = await run(folder, ["keys", ...args]);
        expect(code, stderr).toBe(0);
        return stdout + stderr;
      };
      let created = "";
      await changeKeys(server, async () => {
        created = await keys("create", "--user", "ann", "--tier", "tier2", "--org", "acme");
      });
      const [key] = /sk_live_[\w-]+/.exec(created) ?? [""];
      expect(await statuses(served, "/", key)).toEqual([200]);
      const [id] = /\b[0-9a-f]{12}\b/.exec(await keys("list")) ?? [""];
      await changeKeys(server, () => keys("revoke", id));
      expect(await statuses(served, "/", key)).toEqual([403]);
    }),
  );

  it(
    "keeps its keys while the file is invalid, and says what is wrong without showing a key",
    inBoth(async (server) => {
      const { folder, served, workers } = server;
      const file = join(folder, "api_keys.json");
      await changeKeys(server, () => replace(file, JSON.stringify({ sk_live_first: "tier3" })));
      expect(await statuses(served, "/", "sk_live_first")).toEqual([200]);
      const messages = () => countOf(served, "the key file is invalid: the previous keys stay active");
      const before = messages();
      replace(file, '{"sk_live_twice": "tier0", "sk_live_twice": "tier3"}');
      await expect.poll(messages, TAKEN).toBe(before + workers);
      expect(await statuses(served, "/", "sk_live_first")).toEqual([200]);
      expect(served.printed().stdout).toContain("entries 1 and 2: the same key twice. Keep one of them.");
      expect(served.printed().stdout).not.toContain("sk_live_twice");
      await changeKeys(server, () => replace(file, "{}"));
      expect(await statuses(served, "/", "sk_live_first")).toEqual([403]);
    }),
  );

  it(
    "reloads the generated folder on SIGHUP and keeps serving",
    inBoth(async ({ folder, served }) => {
      expect(await statuses(served, "/v1/s/b")).toEqual([404]);
      generateInto(join(folder, "generated"), modelsOf("a", "b"));
      served.child.kill("SIGHUP");
      await expect.poll(() => countOf(served, "reloaded"), TAKEN).toBe(1);
      const document = await sendRequest(served.url, "/openapi.json");
      expect(document.text).toContain("/v1/s/b");
      expect(await statuses(served, "/v1/s/b")).not.toContain(404);
      const file = join(folder, "generated/openapi.json");
      writeFileSync(file, readFileSync(file, "utf8").slice(1));
      served.child.kill("SIGHUP");
      await expect.poll(() => countOf(served, NOT_RELOADED), TAKEN).toBe(1);
      expect(await statuses(served, "/v1/s/b")).not.toContain(404);
    }),
  );

  it("keeps its keys while the file cannot be read", async () => {
    const { folder, served } = one;
    const file = join(folder, "api_keys.json");
    replace(file, JSON.stringify({ sk_live_kept: "tier3" }));
    await expect.poll(() => statuses(served, "/", "sk_live_kept"), TAKEN).toEqual([200]);
    for (const [command, reason] of [
      ["ln -s api_keys.json", "ELOOP"],
      ["mkfifo", "not a file"],
      ["ln -s generated/openapi.json/keys", "ENOTDIR"],
      ["ln -s generated", "not a file"],
    ] as const) {
      const problem = `API_KEYS_FILE: cannot read ./api_keys.json (${reason}).`;
      const said = (): number => served.printed().stdout.split(problem).length - 1;
      const before = said();
      // Without the file for a moment, a server that reads just then would have no keys.
      execSync(`${command} api_keys.json.new`, { cwd: folder });
      renameSync(`${file}.new`, file);
      await expect.poll(said, TAKEN).toBe(before + 1);
      expect(await statuses(served, "/", "sk_live_kept")).toEqual([200]);
    }
    replace(file, "{}");
    await expect.poll(() => statuses(served, "/", "sk_live_kept"), TAKEN).toEqual([403]);
  });
});

describe("RATE_LIMITS", () => {
  it("sets the requests per minute by tier", async () => {
    const folder = ownInstallation(modelsOf("a"));
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

  it("is refused at the start where it is no number of requests, and says what it must be", async () => {
    const start = (text: string) => run(ownFolder(), ["serve"], { ...VARIABLES, RATE_LIMITS: text });
    for (const { code, stderr } of await Promise.all(["0", "tier0=0", "tier9=5", "many"].map(start))) {
      expect(code).toBe(2);
      expect(stderr).toContain("RATE_LIMITS must be a number of requests per minute");
    }
  });
});
