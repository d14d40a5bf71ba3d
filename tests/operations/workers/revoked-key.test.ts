import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sendRequest } from "../../data-api/http-client.js";
import { serve } from "../../support/command.js";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, KEYS, ownFolder } from "../../support/service.js";

const schema = await ownSchema("CREATE TABLE @.wages AS SELECT 1 AS n");

it("a revoked key stays revoked in workers that start while the key file is invalid", async () => {
  const folder = ownFolder();
  const file = join(folder, "api_keys.json");
  generateInto(
    join(folder, "generated"),
    manifestOf([{ name: "wages", schema, tags: ["production", "staff", "api:wages", "tier3"] }]),
  );
  writeFileSync(file, JSON.stringify({ [KEYS.tier3]: "tier3", [KEYS.tier2]: "tier3" }));
  const served = await serve(folder, ["--only", "data", "--workers", "2"], { DATABASE_URL: databaseUrl });
  const status = async (key: string): Promise<number> =>
    (await sendRequest(served.url, "/v1/staff/wages", { key })).status;
  /** Process ids of workers, from the log. */
  const started = (): readonly number[] =>
    [...served.printed().stdout.matchAll(/^\{.*"msg":"worker serves".*$/gm)].map(
      ([line]) => (JSON.parse(line) as { pid: number }).pid,
    );
  expect(await status(KEYS.tier2)).toBe(200);
  writeFileSync(file, JSON.stringify({ [KEYS.tier3]: "tier3" }));
  // Both workers: each request has a connection of its own.
  const both = async (key: string) => [await status(key), await status(key), await status(key)];
  await expect.poll(() => both(KEYS.tier2), { interval: 500 }).toEqual([403, 403, 403]);
  writeFileSync(file, "{");
  await served.until(/the key file is invalid/);
  const before = started();
  for (const pid of before.slice(-2)) process.kill(pid, "SIGKILL");
  await expect.poll(() => started().length).toBe(before.length + 2);
  for (let i = 0; i < 4; i++)
    expect([await status(KEYS.tier2), await status(KEYS.tier3)]).toEqual([403, 200]);
});
