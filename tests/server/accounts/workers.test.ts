import { expect, it } from "vitest";
import { run, serve } from "../../support/command.js";
import { databaseUrl, ownDatabase } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { ownInstallation } from "../../support/service.js";

/** Two seconds of a server; the machine of the tests has other things to do too. */
const SOON = { timeout: 90_000, interval: 100 };

it("two workers know of a key of the database that a command creates, rotates and revokes", async () => {
  const model = { name: "a", tags: ["production", "s", "api:a"], columns: { id: "int" } };
  const folder = ownInstallation(manifestOf([model]));
  const variables = {
    DATABASE_URL: databaseUrl,
    KEYS_DATABASE_URL: await ownDatabase(),
    USAGE_ENABLED: "false",
  };
  const { url } = await serve(folder, ["--only", "data", "--workers", "2"], variables);
  const keys = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(folder, ["keys", ...args], variables);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  /** Of ten connections: both workers get some. */
  const statuses = async (key: string): Promise<readonly number[]> => {
    const ten = await Promise.all(Array.from({ length: 10 }, () => sendRequest(url, "/", { key })));
    return [...new Set(ten.map(({ status }) => status))];
  };
  const first = await keys("create", "--user", "ann", "--tier", "tier1");
  await expect.poll(() => statuses(first), SOON).toEqual([200]);
  const [id = ""] = /^[0-9a-f]{12}/m.exec(await keys("list")) ?? [];
  const second = await keys("rotate", id, "--keep", "1");
  await expect.poll(() => statuses(second), SOON).toEqual([200]);
  expect(await statuses(first)).toEqual([200]);
  await keys("revoke", id);
  await expect.poll(() => statuses(first), SOON).toEqual([403]);
  expect(await statuses(second)).toEqual([200]);
});
