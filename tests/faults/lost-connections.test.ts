import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { openPostgres } from "../../runtime/postgres/postgres-warehouse.js";
import { run } from "../support/command.js";
import { databaseUrl } from "../support/database.js";
import { proxyThatCloses } from "../support/database-proxy.js";
import { manifestOf } from "../support/manifest.js";
import { queryContext } from "../support/query-context.js";
import { ownFolder } from "../support/service.js";

describe("a connection that the database closes", () => {
  it("while it is set up fails its queries, and the next ones are answered", async () => {
    const { url } = await proxyThatCloses(databaseUrl, "SET timezone");
    const warehouse = openPostgres({ url, statementTimeoutMs: 0, onIdleError: () => undefined });
    atEnd(() => warehouse.close());
    const selection = { conditions: [], sort: [], page: { limit: 1, offset: 0, lookAhead: false } };
    const relation = ["pg_catalog", "pg_am"] as const;
    const ask = () => warehouse.rows({ relation, selection, format: "json", timeoutMs: 0 }, queryContext());
    await expect(ask()).rejects.toThrow("Connection terminated unexpectedly");
    expect(await ask()).toMatchObject({ returned: 1 });
  });

  it("during a query of `verify` or `usage`, or a migration of the ramp, is an error in one sentence", async () => {
    const folder = ownFolder();
    const manifest = manifestOf([{ name: "orders", tags: ["production", "tier0", "shop", "api:orders"] }]);
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
    const commands = [
      { text: "pg_catalog", args: ["verify", "manifest.json"] },
      { text: "routewright.usage", args: ["usage"] },
      { text: "pg_advisory_lock", args: ["ramp", "migrate"] },
    ];
    for (const { text, args } of commands) {
      const { url } = await proxyThatCloses(databaseUrl, text);
      const { code, stderr } = await run(folder, args, {
        DATABASE_URL: url,
        RAMP_SECRETS_KEY: "ab".repeat(32),
      });
      expect({ args, stderr }).toEqual({
        args,
        stderr: expect.stringMatching(/^[^\n]*Connection terminated[^\n]*\n$/),
      });
      expect(code).toBe(2);
    }
  });
});
