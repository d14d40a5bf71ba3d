/** The commands of every page, extracted and run as they are written. */
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../support/needs.js";
import { routewright } from "../commands/run.js";
import { ownDatabase } from "../ramp/support/world.js";
import { atEnd } from "../support/at-end.js";
import { ownFolder } from "../support/service.js";
import {
  commandsOf,
  FILES,
  INSTALL,
  repository,
  root,
  shell,
  SHOP_PAGES,
  startUntil,
  textOf,
} from "../support/commands.js";
import { databaseUrl } from "../support/database.js";

/** tests/end-to-end/clients.test.ts runs it. */
const CLIENTS = "runtime/docs/clients.md";

/** Every heading that has commands under it, of the pages that no other test runs. */
const WITH_COMMANDS = FILES.filter((file) => ![...SHOP_PAGES, CLIENTS].includes(file)).flatMap((file) =>
  textOf(file)
    .split(/^(?=#+ )/m)
    .filter((part) => /^```sh$/m.test(part))
    .map((part) => `${file} ${part.split("\n")[0] ?? ""}`),
);

/** Commands that cannot run here. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "docker compose --file": "no container engine",
  "DATABASE_URL=clickhouse://": "names servers of its own; tests/clickhouse serves from a real one",
  "curl -X PATCH -H": "names a server of its own; tests/server/accounts/operators.test.ts sends it",
  "npm install openapi-fetch": "installs from a registry; tests/end-to-end uses both",
  "npx openapi-typescript": "names a server of its own; tests/end-to-end runs it",
  "pip install": "installs from a registry",
  "openapi-python-client": "names a server of its own; tests/end-to-end runs it",
  "kubectl create": "no cluster",
  "kubectl apply": "no cluster",
  "PGOPTIONS='-c ramp.operator=on' pg_dump": "tests/ramp/database/backup.test.ts runs it",
  "psql --single-transaction": "tests/ramp/database/backup.test.ts runs it",
  "dbt build --profiles-dir .": "builds 90 nodes; the manifest that it gives is committed",
  "dbt compile --full-refresh": "like the build before it",
  "npx tsx ../../scripts/starter/manifest.ts": "reads what that build has written",
};

const canRun = (command: string): boolean => !Object.keys(NOT_RUN).some((start) => command.startsWith(start));

/** Takes a port until the tests end, unless something else has it. */
async function occupy(port: number): Promise<void> {
  const server = createServer();
  await once(server.listen(port, "127.0.0.1"), "listening").catch(() => undefined);
  atEnd(() => new Promise<void>((resolve) => void server.close(() => resolve())));
}

const SCENARIOS: Readonly<Record<string, (commands: readonly string[]) => Promise<void>>> = {
  "README.md ## Try it": async ([start = "", curl = "", ...others]) => {
    expect(others).toEqual([]);
    // Its own ports are taken: it takes free ones.
    for (const port of [8000, 8001, 8002]) await occupy(port);
    // A newcomer's folder of temporary files has no module that tsx compiled before.
    const env = { TMPDIR: ownFolder() };
    const [, address = ""] = await startUntil(start, root, env, /The data API is at (\S+)[\s\S]*Ctrl-C/);
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
        await expect.poll(status, { timeout: 90_000 }).toBe(200);
      } else {
        const stdout = await shell(command, folder, env);
        if (command.includes("keys create")) expect(stdout).toContain("sk_live_");
      }
    }
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

  "runtime/docs/keys.md ## Keys in a database": async ([install, setting = "", ...commands]) => {
    expect(install).toBe("npm install node-pg-migrate");
    expect(setting).toContain("export KEYS_DATABASE_URL=");
    const folder = repository();
    writeFileSync(join(folder, "api_keys.json"), '{"sk_live_of_the_file": {"user": "ann", "tier": "tier1"}}');
    const env = { KEYS_DATABASE_URL: await ownDatabase() };
    let printed = "";
    for (const command of commands) printed = await shell(command, folder, env);
    expect(printed).toContain("ann");
  },

  "runtime/docs/keys.md ## Metering": async ([csv = "", events = ""]) => {
    const folder = repository();
    const env = { KEYS_DATABASE_URL: await ownDatabase() };
    expect(await shell(csv, folder, env)).toContain("id,hour,closed,organization,key");
    await shell(events, folder, env);
    expect(readFileSync(join(folder, "events.json"), "utf8")).toBe("[\n\n]\n");
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
    const settings = readFileSync(join(folder, "deploy/.env"), "utf8");
    expect(settings).toMatch(/^CURSOR_KEY=[0-9a-f]{64}$/m);
    const compose = textOf("templates/docker/compose.yml");
    expect(readFileSync(join(folder, "deploy/compose.yml"), "utf8")).toBe(compose);
    // Compose ends where a variable that it needs is missing.
    for (const [, name = ""] of compose.matchAll(/\$\{(\w+):\?/g)) expect(settings).toContain(`${name}=`);
    expect(readFileSync(join(folder, "deploy/keys/api_keys.json"), "utf8")).toContain('"tier": "tier3"');
  },

  "runtime/ramp/docs/deploy.md ## Compose": async (commands) => {
    const folder = repository();
    for (const command of commands.filter(canRun)) await shell(command, folder);
    const settings = readFileSync(join(folder, "deploy/ramp/.env"), "utf8");
    const compose = readFileSync(join(folder, "deploy/ramp/compose.yml"), "utf8");
    for (const [, name = ""] of compose.matchAll(/\$\{(\w+):\?/g)) expect(settings).toContain(`${name}=`);
  },
};

describe.skipIf(!needs("curl"))("the commands of", () => {
  // Some install the packages first.
  it.each(WITH_COMMANDS)("%s", { timeout: 600_000 }, async (place) => {
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
    const known = help.get(key) ?? (await routewright(root, [...words, "--help"])).out;
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
