/** The commands of every page, extracted and run as they are written. */
import { exec, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { ownDatabase } from "../ramp/support/world.js";
import { databaseUrl } from "../support/database.js";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";

const root = join(import.meta.dirname, "../..");
const FILES = execFileSync("git", ["ls-files", "*.md", ":!tests"], { cwd: root, encoding: "utf8" })
  .trim()
  .split("\n");
const textOf = (file: string): string => readFileSync(join(root, file), "utf8");

/** Commands of the shell blocks under a heading, as they are written; one with a here-document spans lines. */
function commandsOf(file: string, heading: string): string[] {
  const section =
    textOf(file)
      .split(/^(?=#+ )/m)
      .find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const blocks = [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block.trimEnd());
  return blocks.flatMap((block) =>
    [...block.matchAll(/^.*<<EOT\n[\s\S]*?^EOT$|^.+$/gm)].map(([command]) => command),
  );
}

/** Every heading of every page that has commands under it. */
const WITH_COMMANDS = FILES.flatMap((file) =>
  textOf(file)
    .split(/^(?=#+ )/m)
    .filter((part) => /^```sh$/m.test(part))
    .map((part) => `${file} ${part.split("\n")[0] ?? ""}`),
);

/** Commands that cannot run here. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "docker compose --file": "no container engine",
  "DATABASE_URL=clickhouse://": "names servers of its own; tests/clickhouse serves from a real one",
  "npm install openapi-fetch": "installs from a registry; tests/clients uses both",
  "npx openapi-typescript": "names a server of its own; tests/clients runs it",
  "pip install": "installs from a registry",
  "openapi-python-client": "names a server of its own; tests/clients runs it",
  "kubectl create": "no cluster",
  "kubectl apply": "no cluster",
  "dbt build --profiles-dir .": "builds 90 nodes; the manifest that it gives is committed",
  "DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres npx tsx scripts/starter/manifest.ts":
    "installs dbt from a registry",
};

const canRun = (command: string): boolean => !Object.keys(NOT_RUN).some((start) => command.startsWith(start));

type Variables = Readonly<Record<string, string | undefined>>;

/** Starts a command that does not end and resolves once its output matches. It ends with the test. */
function startUntil(
  command: string,
  cwd: string,
  variables: Variables,
  pattern: RegExp,
): Promise<RegExpExecArray> {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], ...variables };
  const child = spawn(command, { cwd, env, shell: true, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close");
  atEnd(async () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, "SIGTERM");
    await closed;
  });
  let output = "";
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        const match = pattern.exec(output);
        if (match) resolve(match);
      });
    void closed.then(() => reject(new Error(`${command} ended: ${output}`)));
  });
}

/** Takes a port until the tests end, unless something else has it. */
async function occupy(port: number): Promise<void> {
  const server = createServer();
  await once(server.listen(port, "127.0.0.1"), "listening").catch(() => undefined);
  atEnd(() => new Promise<void>((resolve) => void server.close(() => resolve())));
}

/** Runs a command to its end and returns its standard output; rejects where it fails. */
async function shell(command: string, cwd: string, variables: Variables = {}): Promise<string> {
  // npm writes its logs there.
  const env = { PATH: process.env["PATH"], HOME: cwd === root ? ownFolder() : cwd, ...variables };
  return (await promisify(exec)(command, { cwd, env, shell: "/bin/bash" })).stdout;
}

/** A repository with a dbt project and the packages of the clone; tests/packaging installs the packed ones. */
function repository(): string {
  const folder = ownFolder();
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "shop", private: true, type: "module" }),
  );
  writeFileSync(join(folder, "dbt_project.yml"), "name: shop\n");
  mkdirSync(join(folder, "target"));
  copyFileSync(join(root, "templates/starter/manifest.json"), join(folder, "target/manifest.json"));
  return folder;
}

const INSTALL = "npm install routewright @routewright/runtime";

const SCENARIOS: Readonly<Record<string, (commands: readonly string[]) => Promise<void>>> = {
  "README.md ## Try it": async ([start = "", curl = "", ...others]) => {
    expect(others).toEqual([]);
    // Its own ports are taken: it takes free ones.
    for (const port of [8000, 8001, 8002]) await occupy(port);
    const [, address = ""] = await startUntil(start, root, {}, /The data API is at (\S+)[\s\S]*Ctrl-C/);
    expect(curl).toContain("http://127.0.0.1:8000/");
    const stdout = await shell(curl.replace("http://127.0.0.1:8000", address), root);
    expect(stdout).toMatch(/^HTTP\/1\.1 200 OK/);
    const body = /```\nHTTP[\s\S]*?\n(\[.*\])\n```/.exec(textOf("README.md"))?.[1];
    expect(stdout).toContain(`\r\n\r\n${body ?? "no response in README.md"}`);
  },

  "README.md ## Use it in your repository": async ([install, ...commands]) => {
    expect(install).toBe(INSTALL);
    const folder = repository();
    const env = { HOME: folder, DATABASE_URL: databaseUrl, USAGE_ENABLED: "false" };
    for (const command of commands) {
      if (command.includes("routewright serve")) {
        const [, url = ""] = await startUntil(command, folder, { ...env, PORT: "0" }, /"url":"(http:[^"]+)"/);
        const response = await fetch(`${url}/v1/bridges/volume/last_7d`);
        expect([response.status, await response.json()]).toEqual([200, [expect.any(Object)]]);
        // A key that is made now needs no restart, as the command says.
        const made = await shell("npx routewright keys create --user bob --tier tier3 2>&1", folder, env);
        expect(made).toContain("A running server reads the file within 5 seconds.");
        const headers = { "X-API-Key": /sk_live_\S+/.exec(made)?.[0] ?? "" };
        const status = async () => (await fetch(response.url, { headers })).status;
        await expect.poll(status, { timeout: 20_000 }).toBe(200);
      } else {
        const stdout = await shell(command, folder, env);
        if (command.includes("keys create")) expect(stdout).toContain("sk_live_");
      }
    }
  },

  "README.md ## From an empty directory": async (commands) => {
    if (!needs("dbt")) return;
    const ten = commands.slice(0, -1);
    expect(ten.length).toBe(10);
    const own = new URL(await ownDatabase());
    const documented = { host: "127.0.0.1", port: 5432, user: "me", password: "secret", dbname: "shop" };
    const folder = ownFolder();
    let [serve, printed] = ["", ""];
    let script = "set -e\n";
    for (const command of ten) {
      if (command.includes("serve")) serve = command;
      else if (command === INSTALL) script += `ln -s ${join(root, "node_modules")} node_modules\n`;
      else
        script += `${command
          .replace("postgres://me:secret@127.0.0.1:5432/shop", own.href)
          .replace(`host: ${documented.host}`, `host: ${own.hostname}`)
          .replace("port: 5432", `port: ${own.port}`)
          .replace("user: me", `user: ${own.username}`)
          .replace("password: secret", `password: "${own.password}"`)
          .replace("dbname: shop", `dbname: ${own.pathname.slice(1)}`)}\n`;
    }
    printed = await shell(script, folder, { DBT_SEND_ANONYMOUS_USAGE_STATS: "false" });
    const key = /^sk_live_\S+$/m.exec(printed)?.[0] ?? "no key";
    const env = { DATABASE_URL: own.href, PORT: "0", USAGE_ENABLED: "false" };
    const [, url = ""] = await startUntil(serve, join(folder, "shop"), env, /"url":"(http:[^"]+)"/);
    const curl = (commands.at(-1) ?? "").replace("http://127.0.0.1:8000", url);
    expect(await shell(curl, folder)).toContain('"detail"');
    const rows = /```\n(\[\{"day".*\])\n```/.exec(textOf("README.md"))?.[1];
    expect(await shell(curl.replace("sk_live_…", key), folder)).toBe(rows);
  },

  "generator/README.md # routewright": async ([install, ...commands]) => {
    expect(install).toBe(INSTALL);
    const folder = repository();
    for (const command of commands) await shell(command, folder);
  },

  "generator/docs/how-to/ci.md # Check changes in CI": async (commands) => {
    const folder = repository();
    const git = "git -c user.name=Test -c user.email=test@example.org";
    await shell("npx routewright init --yes && npx routewright generate", folder);
    await shell(
      `git init -q -b main && git add -A -- generated && ${git} commit -q -m Generated && git update-ref refs/remotes/origin/main HEAD`,
      folder,
    );
    for (const command of commands) await shell(command, folder);
  },

  "runtime/ramp/README.md # The ramp": async (commands) => {
    const folder = repository();
    const env = { DATABASE_URL: await ownDatabase(), RAMP_SECRETS_KEY: "ab".repeat(32) };
    let [organization, project] = ["", ""];
    for (const command of commands) {
      const filled = command.replace("<organization id>", organization).replace("<project id>", project);
      if (command.includes("sandbox"))
        await startUntil(filled.replace("8002", "0"), folder, env, /To connect a project:[\s\S]*--provider/);
      else {
        const printed = await shell(filled, folder, env);
        organization = /organizationId: (\S+)/.exec(printed)?.[1] ?? organization;
        project = /projectId: (\S+)/.exec(printed)?.[1] ?? project;
      }
    }
  },

  "templates/docker/README.md ## Compose": async (commands) => {
    const folder = repository();
    for (const command of commands.filter(canRun)) await shell(command, folder);
    expect(readFileSync(join(folder, "deploy/.env"), "utf8")).toMatch(/^RAMP_SECRETS_KEY=[0-9a-f]{64}$/m);
    expect(readFileSync(join(folder, "deploy/compose.yml"), "utf8")).toBe(
      textOf("templates/docker/compose.yml"),
    );
    expect(readFileSync(join(folder, "deploy/keys/api_keys.json"), "utf8")).toContain('"tier": "tier3"');
  },
};

describe("the commands of", () => {
  it.each(WITH_COMMANDS)("%s", async (place) => {
    const at = place.indexOf(" ");
    const [file, heading] = [place.slice(0, at), place.slice(at + 1)];
    const commands = commandsOf(file, heading);
    expect(commands.length).toBeGreaterThan(0);
    const scenario = SCENARIOS[place];
    // A new block of commands needs a scenario here, or a reason in NOT_RUN for each of its commands.
    if (scenario === undefined) expect(commands.filter(canRun)).toEqual([]);
    else await scenario(commands);
  });
});

it("the example of runtime/docs/embed.md serves a handler in an Express app, with the keys of a file", async () => {
  const folder = repository();
  await shell("npx routewright generate --manifest target/manifest.json", folder);
  const key = (await shell("npx routewright keys create --user ann --tier tier3", folder)).trim();
  const example = /```ts\n([\s\S]*?)```/.exec(textOf("runtime/docs/embed.md"))?.[1] ?? "";
  const printed = 'server.on("listening", () => console.log(JSON.stringify(server.address())));';
  writeFileSync(
    join(folder, "app.ts"),
    `${example.replace("listen(8000)", 'listen(0, "127.0.0.1")')}${printed}`,
  );
  const env = { DATABASE_URL: databaseUrl };
  const [, port = ""] = await startUntil("npx tsx app.ts", folder, env, /"port":(\d+)/);
  const url = `http://127.0.0.1:${port}/v1/bridges/volume/last_7d`;
  const statusOf = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(url, { headers })).status;
  expect(await statusOf({ "X-API-Key": key })).toBe(200);
  expect(await statusOf({ "X-API-Key": "sk_live_unknown" })).toBe(403);
});

describe("commands in the text", () => {
  const help = new Map<string, string>();

  /** The help of a command; undefined where there is none. */
  async function helpOf(words: readonly string[]): Promise<string> {
    const key = words.join(" ");
    const known = help.get(key) ?? (await shell(`node generator/bin/routewright.js ${key} --help`, root));
    help.set(key, known);
    return known;
  }

  // A changelog names what is gone.
  it.each(FILES.filter((file) => !file.endsWith("changelog.md")))(
    "%s: each is one that there is, with options that it has",
    async (file) => {
      const inline = textOf(file).replace(/^```[\s\S]*?^```/gm, "");
      const mentions = [...inline.matchAll(/`(?:npx )?routewright ([a-z][^`]*)`/g)].map(
        ([, text = ""]) => text,
      );
      for (const mention of mentions) {
        const words = mention.replaceAll("\\|", "|").split(/\s+/);
        const path: string[] = [];
        // As long as a word is a command below the ones before it.
        for (const word of words) {
          if (!/^[a-z]/.test(word)) break;
          if (path.length > 0 && !(await helpOf(path)).includes(`\n  ${word} `)) break;
          path.push(word);
        }
        expect(await helpOf(path), mention).toContain(`Usage: routewright ${path.join(" ")} `);
        for (const option of words
          .filter((word) => word.startsWith("--"))
          .map((word) => word.replace(/[^a-z-].*$/, "")))
          expect(await helpOf(path), mention).toContain(option);
      }
    },
  );
});
