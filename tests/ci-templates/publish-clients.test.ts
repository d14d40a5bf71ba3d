/** The recipe that publishes clients, with npm and twine against a registry of the test's own. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { root as ROOT } from "../support/commands.js";
import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { listen } from "../support/port.js";
import { generateInto, KEYS, ownFolder, serveManifest } from "../support/service.js";
import { command, writePackage } from "./repository.js";
import { runSteps } from "./run.js";
import { TEMPLATES } from "./templates.js";

const run = promisify(execFile);

const schema = await ownSchema(
  "CREATE TABLE @.orders AS SELECT g AS id, 'x' AS note FROM generate_series(1, 5) g",
);

const shop = (columns: Readonly<Record<string, string>>, description = "", ...more: readonly string[]) =>
  manifestOf(
    ["orders", ...more].map((name) => ({
      name,
      schema,
      columns,
      description,
      api: { allow_unfiltered: true },
    })),
  );
const COLUMNS = { id: "integer", note: "text" };

/** Takes what npm and twine send, as `<name> <version>`. */
async function startRegistry(): Promise<{ readonly url: string; readonly published: string[] }> {
  const published: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("latin1");
      const file = /filename="([^"]+)"/.exec(body)?.[1];
      if (request.method === "PUT") {
        const { name, versions } = JSON.parse(body) as { name: string; versions: object };
        published.push(`${name} ${Object.keys(versions).join()}`);
      } else if (request.method === "POST" && file !== undefined) published.push(file);
      response
        .writeHead(request.method === "GET" ? 404 : 200, { "Content-Type": "application/json" })
        .end("{}");
    });
  });
  return { url: `http://${await listen(server)}`, published };
}

/** A repository with the generated folder on its main branch, and a remote. */
function repository() {
  const root = ownFolder();
  const author = join(root, "author");
  command(root, "git", "init", "-q", "--bare", "-b", "main", join(root, "remote.git"));
  command(root, "git", "clone", "-q", join(root, "remote.git"), author);
  writePackage(root, author);
  mkdirSync(join(author, "ci"));
  cpSync(`${TEMPLATES}publish-clients.sh`, join(author, "ci/publish-clients.sh"));
  symlinkSync(join(ROOT, "node_modules"), join(author, "node_modules"));
  const commit = (manifest: unknown): void => {
    generateInto(join(author, "generated"), manifest);
    command(author, "git", "add", "-A");
    command(author, "git", "commit", "-q", "-m", "Regenerate");
  };
  const tags = (): string => command(join(root, "remote.git"), "git", "tag").trim().replaceAll("\n", " ");
  return { author, commit, tags };
}

describe.skipIf(!needs("git", "openapi-python-client", "twine"))("publish-clients.sh", () => {
  it(
    "publishes a package on npm and one on PyPI at each change, with its version",
    { timeout: 900_000 },
    async () => {
      const registry = await startRegistry();
      const { author, commit, tags } = repository();
      // As the platform's action writes it.
      const token = `${registry.url.replace("http:", "")}/:_authToken=secret\n`;
      writeFileSync(join(author, "../.npmrc"), token);
      const publish = async (more: Readonly<Record<string, string>> = {}) => {
        const variables = {
          ...{ NPM_NAME: "@shop/api", PYPI_NAME: "shop-api", npm_config_offline: "false", ...more },
          ...{ npm_config_registry: registry.url, TWINE_REPOSITORY_URL: `${registry.url}/legacy/` },
          ...{ TWINE_USERNAME: "__token__", TWINE_PASSWORD: "secret" },
          PYTHONPATH: join(ROOT, ".data/readers/python"),
        };
        const { status, output } = await runSteps(
          author,
          [{ script: "sh ci/publish-clients.sh", variables }],
          {},
        );
        expect(status, output).toBe(0);
        return /^(?:Version .*|The contract .*)$/m.exec(output)?.[0];
      };

      commit(shop(COLUMNS));
      expect(await publish()).toBe("Version 1.0.0, after none.");
      expect(registry.published.splice(0).sort()).toEqual([
        "@shop/api 1.0.0",
        "shop_api-1.0.0-py3-none-any.whl",
        "shop_api-1.0.0.tar.gz",
      ]);
      expect(tags()).toBe("clients-v1.0.0");
      expect(await publish()).toBe("The contract is that of clients-v1.0.0: nothing to publish.");

      commit(shop(COLUMNS, "Orders of the shop.", "more"));
      expect(await publish({ DRY_RUN: "1" })).toBe("Version 1.1.0, after clients-v1.0.0.");
      expect([registry.published, tags()]).toEqual([[], "clients-v1.0.0"]);

      commit(shop({ id: "integer" }));
      expect(await publish()).toBe("Version 2.0.0, after clients-v1.0.0.");
      expect(registry.published).toHaveLength(3);
      expect(tags()).toBe("clients-v1.0.0 clients-v2.0.0");
      expect(readdirSync(join(author, "packages")).sort()).toContain("shop-api-2.0.0.tgz");

      const url = await serveManifest(shop(COLUMNS));
      expect(await readByNpm(join(author, "packages/shop-api-1.0.0.tgz"), url)).toEqual([1, 2, 3, 4, 5]);
      expect(await readByPip(join(author, "packages/shop_api-1.0.0-py3-none-any.whl"), url)).toBe(
        "[1, 2, 3, 4, 5]",
      );
    },
  );
});

/** The rows that the package of npm reads, in a consumer's project. */
async function readByNpm(tarball: string, url: string): Promise<unknown> {
  const folder = ownFolder();
  const installed = join(folder, "node_modules/@shop/api");
  mkdirSync(installed, { recursive: true });
  await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed]);
  symlinkSync(join(ROOT, "node_modules/openapi-fetch"), join(folder, "node_modules/openapi-fetch"));
  expect(readFileSync(join(installed, "api.d.ts"), "utf8")).toContain('"/v1/shop/orders"');
  writeFileSync(
    join(folder, "orders.mjs"),
    `import { createApi } from "@shop/api";
     const api = createApi({ baseUrl: ${JSON.stringify(url)}, headers: { "X-API-Key": "${KEYS.tier3}" } });
     const { data } = await api.GET("/v1/shop/orders");
     console.log(JSON.stringify(data.map(({ id }) => id)));`,
  );
  const { stdout } = await run(process.execPath, ["orders.mjs"], { cwd: folder });
  return JSON.parse(stdout) as unknown;
}

/** The same by the package of PyPI. */
async function readByPip(wheel: string, url: string): Promise<string> {
  const folder = ownFolder();
  const program = `from shop_api import AuthenticatedClient
from shop_api.api.shop import get_shop_orders
client = AuthenticatedClient(${JSON.stringify(url)}, "${KEYS.tier3}", prefix="", auth_header_name="X-API-Key")
print([order.id for order in get_shop_orders.sync(client=client)])`;
  await run("python3", ["-m", "zipfile", "-e", wheel, folder]);
  const { stdout } = await run("python3", ["-c", program], { env: { ...process.env, PYTHONPATH: folder } });
  return stdout.trim();
}
