import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { serve, type Served } from "../../support/command.js";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { ownInstallation } from "../../support/service.js";

const schema = await ownSchema("CREATE TABLE @.orders AS SELECT 1 AS id");
const manifest = manifestOf([{ name: "orders", schema, columns: { id: "integer" } }]);

function serveOrders(launcher: readonly string[] = []): Promise<Served> {
  const folder = ownInstallation(manifest);
  return serve(folder, ["--only", "data"], { DATABASE_URL: databaseUrl, USAGE_ENABLED: "false" }, launcher);
}

/** On a connection of its own. */
const statusOf = async (url: string): Promise<number> => (await sendRequest(url, "/v1/shop/orders")).status;

it("a server with few file descriptors serves one client after the other", async () => {
  const { url } = await serveOrders(["prlimit", "--nofile=128"]);
  for (let round = 0; round < 10; round++) expect(await statusOf(url)).toBe(200);
});

it.each([
  ["has no file descriptor left", async (url: string) => expect(await statusOf(url)).toBe(200)],
  // What it does after its start, such as comparing the catalogue with the database, finds none.
  ["loses its file descriptors as it starts", () => undefined],
])("a server that %s serves again once it has some", async (_when, before) => {
  const { url, child } = await serveOrders();
  await before(url);
  const pid = String(child.pid);
  execFileSync("prlimit", ["--pid", pid, "--nofile=3:"]);
  // Not accepted: no descriptor is left for it.
  const waiting = statusOf(url).catch(() => 0);
  expect(await Promise.race([waiting, sleep(500).then(() => "waits")])).not.toBe(200);
  execFileSync("prlimit", ["--pid", pid, "--nofile=4096:"]);
  await expect.poll(() => statusOf(url).catch(() => 0)).toBe(200);
});
