import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { sendRequest, askRaw, post } from "../support/http-client.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, ownFolder } from "../support/service.js";
import { serve } from "../support/command.js";

const schema = await ownSchema(`
  CREATE TABLE @.fine AS SELECT 1 AS id;
  CREATE VIEW @.dividing AS SELECT i AS id, 1 / (i - i) AS v FROM generate_series(1, 2) i;`);
const SECRET_KEY = "sk_live_confidential_Zq7";
const WRONG_KEY = "sk_live_attempted_Xw3";
const BODY = "body-Confidential-Kp9";

const NAMES = ["fine", "dividing", "missing"];
const api = {
  methods: ["GET", "POST"],
  allow_unfiltered: true,
  parameters: [{ name: "id", column: "id", operator: "=", type: "string" }],
};
const folder = ownFolder();
generateInto(
  join(folder, "generated"),
  manifestOf(
    NAMES.map((name) => ({
      name,
      schema,
      tags: ["production", "s", `api:${name}`, "tier1"],
      columns: { id: "int", v: "int" },
      api,
    })),
  ),
);
writeFileSync(
  join(folder, "api_keys.json"),
  JSON.stringify({ [SECRET_KEY]: { user: "ann", tier: "tier3" } }),
);

function withPassword(password: string): string {
  const address = new URL(databaseUrl);
  if (address.password === "") address.password = password;
  address.searchParams.set("application_name", schema);
  return address.href;
}

async function everyKindOfRequest(url: string): Promise<void> {
  for (const key of [SECRET_KEY, WRONG_KEY]) {
    for (const name of [...NAMES, "none"]) {
      await sendRequest(url, `/v1/s/${name}?id=1`, { key });
      await post(url, `/v1/s/${name}`, { id: BODY }, { key });
      await post(url, `/v1/s/${name}`, `{"id": "${BODY}`, { key });
    }
    for (const target of ["/", "/health", "/docs", "/metrics", "/openapi.json"])
      await sendRequest(url, target, { key });
    await askRaw(url, `GET / HTTP/1.1\r\nX-API-Key: ${key}\r\nbroken ${key}\r\n\r\n`);
    await askRaw(url, `GET / HTTP/1.1\r\nX-API-Key: ${key}${"x".repeat(20_000)}\r\n\r\n`);
  }
}

it("no key, no body and no password is printed at the chattiest level, whatever fails", async () => {
  const password = "hush-Password-Vn5";
  const served = await serve(folder, [], { DATABASE_URL: withPassword(password), LOG_LEVEL: "trace" });
  await everyKindOfRequest(served.url);
  await query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [schema]);
  await expect.poll(() => served.printed().stdout).toContain("database connection lost");
  await everyKindOfRequest(served.url);
  const { code, stdout, stderr } = await served.stop();
  expect(code).toBe(0);
  const printed = stdout + stderr;
  expect(printed).toContain("division by zero");
  expect(printed).toContain("query failed");
  for (const secret of [
    SECRET_KEY.slice(8),
    WRONG_KEY.slice(8),
    BODY,
    new URL(withPassword(password)).password,
  ])
    expect(printed).not.toContain(secret);
});

it("no password is printed where the database cannot be reached or refuses it", async () => {
  const refusing = new URL(databaseUrl);
  refusing.username = "nobody_has_this_name";
  refusing.password = "hush-Password-Vn5";
  for (const address of [refusing.href, "postgres://nobody:hush-Password-Vn5@127.0.0.1:1/none"]) {
    const served = await serve(folder, [], { DATABASE_URL: address, LOG_LEVEL: "trace" });
    await everyKindOfRequest(served.url);
    const { stdout, stderr } = await served.stop();
    expect(stdout).toContain("query failed");
    expect(stdout + stderr).not.toMatch(/hush-Password|confidential_Zq7|attempted_Xw3/);
  }
});
