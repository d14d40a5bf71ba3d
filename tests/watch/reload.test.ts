/** What a reload of the generated folder (SIGHUP) changes where a part of it fails, or a refresh is under way. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { withOwnDigest } from "../../runtime/core/model/digest.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { serve } from "../support/command.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, KEYS, ownInstallation } from "../support/service.js";
import { type Behaviour, manifestServer, serving } from "./manifest-server.js";

const schema = await ownSchema("CREATE TABLE @.one AS SELECT 1::bigint AS n");
const model = (description: string) => ({
  ...{ name: "one", schema, description, columns: { n: "bigint" } },
  tags: ["production", "flows", "api:first"],
});
const ONE = manifestOf([model("")]);
const TWO = manifestOf([model("Described.")]);
const THREE = manifestOf([model("Described again.")]);

async function following(first: Behaviour) {
  const folder = ownInstallation(ONE);
  const manifests = await manifestServer(first);
  const command = await serve(folder, [], {
    ...{ DATABASE_URL: databaseUrl, DBT_MANIFEST_URL: manifests.url },
    API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
  });
  const { url } = command;
  const refresh = async () => {
    const headers = { "X-API-Key": KEYS.tier3 };
    const reply = await fetch(`${url}/v1/system/manifest/refresh`, { method: "POST", headers });
    return (await reply.json()) as { status: string; detail?: string };
  };
  const status = async (): Promise<number> => (await fetch(`${url}/v1/flows/first`)).status;
  const generate = (...of: Parameters<typeof generateInto> extends [string, ...infer R] ? R : never) =>
    generateInto(join(folder, "generated"), ...of);
  return { folder: join(folder, "generated"), url, command, manifests, refresh, status, generate };
}

it("says that the manifest was not refreshed where the folder is another and the manifest is away", async () => {
  const { command, manifests, refresh, status, generate } = await following(serving(TWO, '"2"'));
  expect((await refresh()).status).toBe("reloaded");
  manifests.behave((_, response) => response.writeHead(500).end());
  generate(ONE, { defaultTier: "tier1" });
  process.kill(command.child.pid!, "SIGHUP");
  await command.until(/"msg":"reloaded, but the manifest was not refreshed/);
  expect(await status()).toBe(403);
});

it("is not undone by a refresh that began with the folder before, which was laxer", async () => {
  const { command, manifests, refresh, status, generate } = await following(serving(TWO, '"2"'));
  expect((await refresh()).status).toBe("reloaded");
  expect(await status()).toBe(200);
  // The next manifest comes only once the folder is reloaded, the one after that never.
  let arrive: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    manifests.behave((request, response) => {
      arrive = () => serving(THREE, '"3"')(request, response);
      resolve();
    });
  });
  const late = refresh();
  await asked;
  generate(ONE, { defaultTier: "tier1" });
  process.kill(command.child.pid!, "SIGHUP");
  await expect.poll(status).toBe(403);
  const again = new Promise<void>((resolve) => manifests.behave(() => resolve()));
  arrive();
  expect(await late).toMatchObject({ status: "error", detail: expect.stringContaining("has changed since") });
  await again;
  expect(await status()).toBe(403);
});

it("changes nothing where the folder's release cannot be served: its changelog neither", async () => {
  const { folder, url, command } = await following(serving(ONE, '"1"'));
  const changelog = async () => (await fetch(`${url}/v1/system/changelog`)).text();
  const before = await changelog();
  const file = join(folder, "catalogue.json");
  const catalogue = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, withOwnDigest(`${JSON.stringify({ ...catalogue, adapter: "clickhouse" }, null, 2)}\n`));
  writeFileSync(
    join(folder, "changelog.json"),
    JSON.stringify({ entries: [{ date: "2026-01-01", changes: [] }] }),
  );
  process.kill(command.child.pid!, "SIGHUP");
  await command.until(/"msg":"not reloaded/);
  expect(await changelog()).toBe(before);
});
