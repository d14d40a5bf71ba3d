import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { Agent, request, type IncomingMessage } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { sendRequest, statusAndBody } from "../support/http-client.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder, ownInstallation } from "../support/service.js";
import { run, serve } from "../support/command.js";
import { routewright } from "../commands/run.js";

const schema = await ownSchema(`
  CREATE TABLE @.fast AS SELECT 1 AS id;
  CREATE VIEW @.slow AS SELECT 'done' AS v FROM pg_sleep(1);`);
const manifest = manifestOf(
  ["fast", "slow"].map((name) => ({ name, schema, tags: ["production", "served", `api:${name}`] })),
);

/** A folder with a generated one in it. */
const project = () => ownInstallation(manifest);

const BASE = { DATABASE_URL: databaseUrl };

describe("routewright serve", () => {
  it("answers over a socket, and at SIGTERM finishes its requests, then exits 0", async () => {
    const served = await serve(project(), [], BASE);
    expect(statusAndBody(await sendRequest(served.url, "/v1/served/fast"))).toEqual([200, [{ id: 1 }]]);

    const agent = new Agent({ keepAlive: true });
    const outgoing = request(`${served.url}/v1/served/slow`, { agent }).end();
    const slow = once(outgoing, "response") as Promise<[IncomingMessage]>;
    await expect.poll(() => outgoing.writableFinished).toBe(true);
    await sendRequest(served.url, "/health");
    const stopped = served.stop();
    const [response] = await slow;
    expect(response.statusCode).toBe(200);
    expect(await response.toArray().then((chunks) => Buffer.concat(chunks).toString())).toBe(
      '[{"v":"done"}]',
    );
    expect(await stopped).toMatchObject({ code: 0, stderr: "" });
    await expect(sendRequest(served.url, "/")).rejects.toThrow("ECONNREFUSED");
    agent.destroy();
  });

  it("takes the port from --port before PORT", async () => {
    const served = await serve(project(), ["--port", "0"], { ...BASE, PORT: "1" });
    expect((await sendRequest(served.url, "/")).status).toBe(200);
    await served.stop();
  });
});

describe("routewright serve that cannot start", () => {
  /** One line for each problem, and nothing of the program's inside. */
  async function fails(cwd: string, args: readonly string[], variables: Record<string, string>) {
    const { exit, out, err } = await routewright(cwd, ["serve", ...args], {
      ...BASE,
      LOG_LEVEL: "silent",
      ...variables,
    });
    expect(err).not.toMatch(/^\s+at |node:|\.js:\d/m);
    expect([exit, out]).toEqual([2, ""]);
    return err;
  }

  it("because the port is in use says so", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    expect(await fails(project(), [], { PORT: String(port) })).toBe(
      `error: Port ${String(port)} of 127.0.0.1 is in use: stop what uses it, or choose another port.\n`,
    );
  });

  it("because the host is not of this machine says so", async () => {
    expect(await fails(project(), [], { PORT: "0", HOST: "192.0.2.1" })).toBe(
      "error: HOST 192.0.2.1 is not an address of this machine: set HOST to a local address, or to 0.0.0.0 for all.\n",
    );
  });

  it("because there is no generated folder says so", async () => {
    expect(await fails(ownFolder(), ["--generated", "none"], {})).toBe(
      "error: none is not a generated folder, it has no catalogue.json: run `routewright generate`, or name another folder.\n",
    );
  });

  it.each([
    [0, "run `npx routewright generate`"],
    [3, "run `npm install @routewright/runtime@latest`"],
  ])(
    "because another version of Routewright wrote the folder says what to run: schema %s",
    async (version, remedy) => {
      const folder = project();
      const file = join(folder, "generated/catalogue.json");
      const text = readFileSync(file, "utf8");
      writeFileSync(file, text.replace('"schemaVersion": 1', `"schemaVersion": ${String(version)}`));
      expect(await fails(folder, [], {})).toBe(
        `error: generated has schema ${String(version)}, this @routewright/runtime reads 1 and 2: ${remedy}.\n`,
      );
    },
  );

  it.each(["{", "null", "{}"])("because openapi.json is broken says so: %s", async (text) => {
    const folder = project();
    writeFileSync(join(folder, "generated/openapi.json"), text);
    expect(await fails(folder, ["--allow-edited"], {})).toBe(
      "error: generated/openapi.json is not an OpenAPI document: run `routewright generate` again.\n",
    );
  });

  it.each([
    ["export const spec = {", /served\/fast\.ts.*:1:/],
    ["throw new Error('no');", /served\/fast\.ts: no/],
    [
      "import 'node:fs';",
      /served\/fast\.ts: Cannot import node:fs: a generated module may import @routewright\/runtime only\./,
    ],
    ["export const x = 1;", /served\/fast\.ts exports no endpoint: run `routewright generate` again\./],
  ])("because a generated module is broken names it: %s", async (text, line) => {
    const folder = project();
    writeFileSync(join(folder, "generated/routes/served/fast.ts"), text);
    const variables = { ...BASE, PORT: "0", LOG_LEVEL: "silent" };
    const { exit, err } = await routewright(folder, ["serve", "--allow-edited"], variables);
    expect(exit).toBe(2);
    expect(err).toMatch(line);
  });

  it("because variables are wrong names every one at once, without their values", async () => {
    const lines = await fails(project(), [], {
      DATABASE_URL: "mysql://user:hush@db/x",
      REDIS_URL: "http://:hush@cache",
      PORT: "80000",
      TRUST_PROXY: "everybody",
      STATEMENT_TIMEOUT_MS: "soon",
      LOG_LEVEL: "loud",
      METRICS_PUBLIC: "yes",
      DEFAULT_ENDPOINT_TIER: "tier9",
      DBT_MANIFEST_URL: "ftp://hush",
      DBT_RUN_RESULTS_URL: "ftp://me:hush@host/run_results.json",
      API_KEYS: '{"sk_live_hush": "tier9", "hush": "tier1"}',
    });
    for (const name of [
      "DATABASE_URL",
      "REDIS_URL",
      "PORT",
      "TRUST_PROXY",
      "STATEMENT_TIMEOUT_MS",
      "LOG_LEVEL",
      "METRICS_PUBLIC",
      "DEFAULT_ENDPOINT_TIER",
      "DBT_MANIFEST_URL",
      "DBT_RUN_RESULTS_URL",
    ])
      expect(lines).toMatch(new RegExp(`^error: ${name} must be .+\\.$`, "m"));
    expect(lines).toMatch(/^error: API_KEYS, entry 1: its tier must be/m);
    expect(lines).toMatch(/^error: API_KEYS, entry 2: a key begins with/m);
    expect(lines).not.toContain("hush");
  });

  it("warns of a variable that is nearly a setting, without its value", async () => {
    const variables = { STATEMENT_TIMEOUT: "hush", API_KEY_FILE: "hush", OTHER_TIMEOUT: "1" };
    const { stdout, stderr } = await run(ownFolder(), ["serve", "--generated", "none"], {
      ...BASE,
      ...variables,
    });
    expect(stdout).not.toContain("hush");
    expect(stdout).not.toContain("OTHER_TIMEOUT is");
    expect(stdout).toContain("STATEMENT_TIMEOUT is not a setting; did you mean STATEMENT_TIMEOUT_MS?");
    expect(stdout).toContain("API_KEY_FILE is not a setting; did you mean API_KEYS_FILE?");
    expect(stderr).toContain("none is not a generated folder");
  });

  it("because the key file cannot be read says so", async () => {
    expect(await fails(project(), [], { API_KEYS_FILE: "none.json" })).toBe(
      "error: API_KEYS_FILE: cannot read none.json (ENOENT).\n",
    );
  });

  it("because the key file is no JSON says so and shows nothing of it", async () => {
    const folder = project();
    writeFileSync(join(folder, "api_keys.json"), '{"sk_live_hush": ');
    const line = await fails(folder, [], {});
    expect(line).toMatch(/^error: \.\/api_keys\.json must hold a JSON object/);
    expect(line).not.toContain("hush");
  });
});

describe("routewright keys", () => {
  const folder = ownFolder();
  const keys = (...args: string[]) => routewright(folder, ["keys", ...args]);

  it("makes, lists and revokes a key", async () => {
    const made = await keys("create", "--user", "ann", "--tier", "tier1", "--org", "acme");
    expect(made.exit).toBe(0);
    expect(made.out.trim()).toMatch(/^sk_live_rw_[\w-]{49}$/);
    expect(made.err).toContain("The key is shown once: store it now.");
    const [head, line = ""] = (await keys("list")).out.split("\n");
    const [id = ""] = line.split("\t");
    expect(head).toBe("id\ttier\tuser\torg\tcreated\texpires\tallowed\tlast used");
    expect(line.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, "<time>")).toBe(`${id}\ttier1\tann\tacme\t<time>`);
    expect(await keys("revoke", id)).toMatchObject({ exit: 0, out: `Revoked ${id}.\n` });
  });

  it.each([
    [["create", "--user", "x"], "--tier"],
    [["create", "--tier", "tier1"], "--user"],
    [["create", "--user", "x", "--tier", "tier4"], "tier4"],
    [["revoke"], "id"],
    [["revoke", "ffffffffffff"], "No key in ./api_keys.json has the id ffffffffffff."],
    [["nonsense"], "nonsense"],
  ])("refuses what is wrong: %j", async (args, names) => {
    const { exit, out, err } = await keys(...args);
    expect([exit, out]).toEqual([2, ""]);
    expect(err).toMatch(/^error: /);
    expect(err).toContain(names);
  });
});
