import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { openPostgres } from "../../runtime/postgres/engine.js";
import { DatabaseUnreachable } from "../../runtime/core/warehouse/query-errors.js";
import { run } from "../support/command.js";
import { databaseUrl } from "../support/database.js";
import { proxyThatCloses } from "../support/database-proxy.js";
import { manifestOf } from "../support/manifest.js";
import { queryContext } from "../support/query-context.js";
import { ownFolder } from "../support/service.js";

describe("a connection that the database closes", () => {
  it("while it is set up fails its queries, and the next ones are answered", async () => {
    const { url } = await proxyThatCloses(databaseUrl, "SET default_transaction_read_only");
    const warehouse = openPostgres({ url, statementTimeoutMs: 0, warn: () => undefined });
    atEnd(() => warehouse.close());
    const selection = { conditions: [], sort: [], page: { limit: 1, offset: 0, lookAhead: false } };
    const relation = ["pg_catalog", "pg_am"] as const;
    const ask = () => warehouse.rows({ relation, selection, format: "json", timeoutMs: 0 }, queryContext());
    await expect(ask()).rejects.toMatchObject({
      constructor: DatabaseUnreachable,
      cause: { message: "Connection terminated unexpectedly" },
    });
    expect(await ask()).toMatchObject({ returned: 1 });
  });

  it("during a query of `verify` or `usage`, or a migration of the ramp, is an error in one sentence", async () => {
    for (const { text, args } of COMMANDS) {
      const { url } = await proxyThatCloses(databaseUrl, text);
      expect(await errorOf(args, url)).toMatch(/^[^\n]*Connection terminated[^\n]*\n$/);
    }
  });
});

it("a host with several addresses that refuse is an error that names each", async () => {
  const names = join(ownFolder(), "names.mjs");
  writeFileSync(
    names,
    `import dns from "node:dns";
     const addresses = [{ address: "127.0.0.1", family: 4 }, { address: "127.0.0.2", family: 4 }];
     dns.lookup = (host, options, done) => done(null, addresses);`,
  );
  for (const { args } of COMMANDS)
    expect(
      await errorOf(args, "postgres://a:secret@two.test:1/x", { NODE_OPTIONS: `--import ${names}` }),
    ).toMatch(/^[^\n]*connect ECONNREFUSED 127.0.0.1:1; connect ECONNREFUSED 127.0.0.2:1[^\n]*\n$/);
});

/** Commands that use a database, and a text that each sends to it. */
const COMMANDS = [
  { text: "pg_catalog", args: ["verify", "manifest.json"] },
  { text: "routewright.usage", args: ["usage"] },
  { text: "pg_advisory_lock", args: ["ramp", "migrate"] },
];

/** What a command prints when it fails, with exit code 2. */
async function errorOf(args: readonly string[], url: string, variables = {}): Promise<string> {
  const folder = ownFolder();
  const manifest = manifestOf([{ name: "orders", tags: ["production", "tier0", "shop", "api:orders"] }]);
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  const environment = { DATABASE_URL: url, RAMP_SECRETS_KEY: "ab".repeat(32), ...variables };
  const { code, stderr } = await run(folder, args, environment);
  expect({ args, code }).toEqual({ args, code: 2 });
  return stderr;
}
