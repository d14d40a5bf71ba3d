import { expect, it } from "vitest";
import { openPostgres } from "../../runtime/postgres/engine.js";
import { atEnd } from "../support/at-end.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { proxyThatFails } from "../support/database-proxy.js";

const FILTER = { name: "id", column: "id", operator: "=", type: "string" } as const;

it("a filter is explained again where the session was lost, and where none could be opened before", async () => {
  const schema = await ownSchema(
    "CREATE TABLE @.orders AS SELECT i AS id FROM generate_series(1, 5000) i; CREATE INDEX ON @.orders (id); ANALYZE @.orders",
  );
  const proxy = await proxyThatFails(databaseUrl);
  const warehouse = openPostgres({ url: proxy.url, statementTimeoutMs: 0, warn: () => undefined });
  atEnd(() => warehouse.close());
  const usesIndex = () => warehouse.usesIndex([schema, "orders"], FILTER);
  expect(await usesIndex()).toBe(true);
  for (let n = 0; n < 2; n++) {
    proxy.fail();
    await expect(usesIndex()).rejects.toThrow();
    proxy.isDown = false;
    expect(await usesIndex()).toBe(true);
  }
});
