import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { ownDatabase } from "../support/database.js";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";
import { CLI, GENERATE, GOOD, project, routewright } from "./run.js";

const ROOT = join(import.meta.dirname, "../..");

/** A pseudo-terminal around a command: Python has one in its standard library. */
const PTY = `import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    os.write(1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;

/** Runs `routewright` at a terminal and returns all that it shows, escape sequences too. */
async function atTerminal(
  cwd: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  program: readonly string[] = [CLI],
): Promise<{ readonly exit: number; readonly shown: string }> {
  const { PATH = "" } = process.env;
  const env = { PATH, TERM: "xterm", ...variables };
  const child = spawn("python3", ["-c", PTY, process.execPath, ...program, ...args], { cwd, env });
  let shown = "";
  child.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  const [exit] = (await once(child, "close")) as [number];
  return { exit, shown: shown.replaceAll("\r\n", "\n") };
}

describe.skipIf(!needs("python3"))("a text report at a terminal", () => {
  const folder = project(GOOD);

  it("has colours", async () => {
    const { shown } = await atTerminal(folder, ["lint", "--manifest", "manifest.json"]);
    expect(shown).toMatch(/^\u001b\[33mwarning +\u001b\[39m/);
  });

  it.each([
    ["NO_COLOR", { NO_COLOR: "1" }],
    ["TERM=dumb", { TERM: "dumb" }],
  ])("has no colours with %s", async (_, variables) => {
    const { shown } = await atTerminal(folder, ["lint", "--manifest", "manifest.json"], variables);
    expect(shown).toContain("missing-tier-tag");
    expect(shown).not.toContain("\u001b");
  });

  it("has no colours in a file", async () => {
    expect((await routewright(folder, ["lint", "--manifest", "manifest.json"])).out).not.toContain("\u001b");
  });
});

describe.skipIf(!needs("python3"))("long work", () => {
  const many = project(
    ...Array.from({ length: 1500 }, (_, i) => ({
      ...GOOD,
      name: `m${String(i)}`,
      tags: ["production", "shop", `api:m${String(i)}`],
    })),
  );

  it("shows a bar with a name at a terminal, which is gone at the end", async () => {
    const { exit, shown } = await atTerminal(many, [...GENERATE, "--out", "a", "--json"]);
    expect(exit).toBe(0);
    expect(shown).toMatch(/Rendering endpoints [#-]+ \d+ of 1500/);
    // The line is cleared before anything else is written.
    const [, after = ""] = /of 1500([^{]*)\{[^{]*$/.exec(shown.slice(0, shown.indexOf('"endpoints"'))) ?? [];
    expect(after).toMatch(/\u001b\[\d?K$/);
  });

  it("shows the time that work takes which cannot say how far it is", async () => {
    const url = await ownDatabase();
    const own = ownFolder();
    const variables = { DATABASE_URL: url, RAMP_SECRETS_KEY: Buffer.alloc(32, 7).toString("base64") };
    const balances = () => atTerminal(own, ["ramp", "balances", "--json"], variables);
    expect((await balances()).shown).toContain("[]");
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query("BEGIN; LOCK TABLE ramp.postings");
    const running = balances();
    const isWaiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'ramp.postings'::regclass";
    while ((await client.query(isWaiting)).rowCount === 0) await setTimeout(50);
    await setTimeout(3000);
    await client.query("ROLLBACK");
    const { exit, shown } = await running;
    await client.end();
    expect([exit, shown]).toEqual([
      0,
      expect.stringMatching(/Adding postings up: \d+s[^]*\u001b\[\d?K[^]*\[\]\n$/),
    ]);
  });

  it("counts the tests of endpoints", async () => {
    const own = project({ ...GOOD, schema: "api" });
    const url = await ownDatabase();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(
      `CREATE SCHEMA api; CREATE VIEW api.${GOOD.name} AS SELECT 1::numeric AS value FROM pg_sleep(2)`,
    );
    await client.end();
    expect((await routewright(own, GENERATE)).exit).toBe(0);
    expect((await routewright(own, ["test", "--init"])).exit).toBe(0);
    const { shown } = await atTerminal(own, ["test"], { DATABASE_URL: url });
    expect(shown).toMatch(/Running tests [#-]+ 0 of 1/);
  });

  it("shows no bar with --quiet", async () => {
    const { exit, shown } = await atTerminal(many, [...GENERATE, "--out", "quiet", "--quiet"]);
    expect([exit, shown.includes("Rendering")]).toEqual([0, false]);
  });

  it("shows nothing in a pipe", async () => {
    const { err } = await routewright(many, [...GENERATE, "--out", "b"]);
    expect(err).toBe("");
  });
});

describe.skipIf(!needs("python3"))("the log", () => {
  const LOG = `import { createLogger, flushLog } from "@routewright/runtime/server";
    createLogger("info").warn({ check: "missing-relation", rows: 3 }, "verify"); await flushLog();`;

  it("has lines for people at a terminal", async () => {
    const { shown } = await atTerminal(ROOT, ["--input-type=module", "-e", LOG], { NO_COLOR: "1" }, []);
    expect(shown).toMatch(/^\[\d\d:\d\d:\d\d\] WARN: verify \{"check":"missing-relation","rows":3\}\n$/);
  });

  it("is a JSON object per line anywhere else", () => {
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", LOG], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect(JSON.parse(stdout)).toMatchObject({ level: 40, check: "missing-relation", msg: "verify" });
  });
});

it("--quiet prints nothing where all is well, and findings and errors in full", async () => {
  const folder = project(GOOD);
  expect(await routewright(folder, [...GENERATE, "--quiet"])).toEqual({ exit: 0, out: "", err: "" });
  expect(await routewright(folder, ["--quiet", ...GENERATE, "--out", "other", "--check"])).toMatchObject({
    exit: 1,
    out: expect.stringContaining("missing"),
  });
  const create = ["keys", "create", "--user", "ann", "--tier", "tier1"];
  expect(await routewright(folder, [...create, "--quiet"])).toMatchObject({
    exit: 0,
    err: "",
    out: expect.stringMatching(/^sk_live_\S+\n$/),
  });
  const { out, err } = await routewright(folder, [...create, "--json"]);
  expect({ key: JSON.parse(out) as unknown, err }).toEqual({
    key: { key: expect.stringMatching(/^sk_live_/) },
    err: "",
  });
});

it("--version prints the version", async () => {
  expect((await routewright(ownFolder(), ["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});
