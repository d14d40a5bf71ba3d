import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { HASH_PREFIX, hashOf } from "../../../runtime/core/request/keyring.js";
import type { RunningService } from "../../../runtime/server/server.js";
import { routewright } from "../../commands/run.js";
import { ownDatabase } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, ownFolder, startFolder } from "../../support/service.js";

const KEYS = Array.from({ length: 10_000 }, (_, i) => `sk_live_${String(i).padStart(43, "k")}`);

/** Half of the keys as they are, half as hashes. */
function keyFile(): string {
  const file = join(ownFolder(), "api_keys.json");
  const entries = KEYS.map((key, i) => [
    i % 2 === 0 ? key : HASH_PREFIX + hashOf(key),
    { tier: "tier1", user: `user ${String(i)}`, org: `org ${String(i % 200)}` },
  ]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(entries)), { mode: 0o600 });
  return file;
}

it("an upgrade from a file of 10,000 keys to a database refuses no request", async () => {
  const folder = ownFolder();
  const model = { name: "a", tags: ["production", "s", "api:a", "tier1"], columns: { id: "int" } };
  generateInto(join(folder, "generated"), manifestOf([model]));
  const file = keyFile();
  const database = { KEYS_DATABASE_URL: await ownDatabase() };
  const start = (variables: Readonly<Record<string, string>>) =>
    startFolder(join(folder, "generated"), { API_KEYS: "", ...variables });

  // Two servers behind a proxy, which sends requests to those that take part.
  let servers: readonly RunningService[] = await Promise.all([
    start({ API_KEYS_FILE: file }),
    start({ API_KEYS_FILE: file }),
  ]);
  const statuses = new Map<number, number>();
  /** Requests without an answer, by server. */
  const open = new Map<string, number>();
  let isRunning = true;
  const load = async (first: number): Promise<void> => {
    for (let i = first; isRunning; i += 7) {
      const { url } = servers[i % servers.length] as RunningService;
      open.set(url, (open.get(url) ?? 0) + 1);
      const { status } = await sendRequest(url, "/v1/system/catalogue", { key: KEYS[i % KEYS.length] ?? "" });
      open.set(url, (open.get(url) ?? 0) - 1);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const clients = [0, 1, 2, 3].map((first) => load(first * 2500));
  /** One after the other: a new server takes part before the old one leaves. */
  const replaceEach = async (variables: Readonly<Record<string, string>>): Promise<void> => {
    for (const old of [...servers]) {
      const next = await start(variables);
      servers = [...servers.filter((server) => server !== old), next];
      await expect.poll(() => open.get(old.url) ?? 0).toBe(0);
      await old.stop();
    }
  };
  await replaceEach({ API_KEYS_FILE: file, ...database });
  const imported = await routewright(folder, ["keys", "import", file], database);
  expect(imported).toMatchObject({ exit: 0, out: expect.stringContaining("Imported 10000 keys") as string });
  // No key file is in the folder of the test.
  const none = join(ownFolder(), "none.json");
  writeFileSync(none, "{}");
  await replaceEach({ API_KEYS_FILE: none, ...database });
  isRunning = false;
  await Promise.all(clients);
  expect([...statuses.keys()]).toEqual([200]);
  expect(statuses.get(200)).toBeGreaterThan(100);
  const [server] = servers;
  for (const key of KEYS.filter((_, i) => i % 500 < 2))
    expect((await sendRequest(server?.url ?? "", "/v1/system/catalogue", { key })).status).toBe(200);
});
