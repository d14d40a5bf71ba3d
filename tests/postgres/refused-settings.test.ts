import { describe, expect, it } from "vitest";
import { openPostgres } from "../../runtime/postgres/engine.js";
import { withServingSession } from "../../runtime/postgres/single-session.js";
import { atEnd } from "../support/at-end.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { proxyOf } from "../support/database-proxy.js";
import { asText, queryContext } from "../support/query-context.js";

const schema = await ownSchema("CREATE TABLE @.one AS SELECT 1 AS i");

/** A server that does not know a setting. */
async function openWithout(setting: string) {
  const { url } = await proxyOf(databaseUrl, (client, open) => {
    const database = open();
    database.pipe(client);
    client.on("close", () => database.destroy());
    client.on("data", (bytes: Buffer) => {
      const text = bytes.toString("latin1").replaceAll(`SET ${setting}`, `SET ${setting.replace(/./g, "x")}`);
      database.write(Buffer.from(text, "latin1"));
    });
  });
  const warnings: string[] = [];
  const warehouse = openPostgres({ url, statementTimeoutMs: 5000, warn: (_, text) => warnings.push(text) });
  atEnd(() => warehouse.close());
  const ask = async () =>
    asText(
      await warehouse.rows(
        {
          relation: [schema, "one"],
          selection: { conditions: [], sort: [], page: null },
          format: "json",
          timeoutMs: 0,
        },
        queryContext(),
      ),
    );
  return { url, warehouse, warnings, ask };
}

describe("a server that refuses a setting of sessions", () => {
  it.each(["jit", "lock_timeout", "max_parallel_workers_per_gather", "client_connection_check_interval"])(
    "works without it, and says so once: %s",
    async (setting) => {
      const { warehouse, warnings, ask } = await openWithout(setting);
      const answers = await Promise.all(Array.from({ length: 10 }, ask));
      expect(answers).toMatchObject(answers.map(() => ({ text: '{"i":1}' })));
      expect(await warehouse.isReachable()).toBe(true);
      expect(new Set(warnings)).toEqual(new Set([expect.stringContaining(`refuses ${setting} `)]));
    },
  );

  it.each(["default_transaction_read_only", "statement_timeout"])(
    "is not used without %s, and is not healthy",
    async (setting) => {
      const { url, warehouse, ask } = await openWithout(setting);
      await expect(ask()).rejects.toMatchObject({
        cause: { message: expect.stringContaining("unrecognized configuration parameter") },
      });
      expect(await warehouse.isReachable()).toBe(false);
      const asVerify = withServingSession(url, 5000, (query) => query("SELECT 1"));
      await expect(asVerify).rejects.toThrow("unrecognized configuration parameter");
    },
  );
});
