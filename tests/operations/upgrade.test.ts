import { expect, it } from "vitest";
import { readUsage, UsageTable } from "../../runtime/operations/usage-table.js";
import { inDatabase, ownDatabase } from "./own-database.js";

/** What Routewright 0.1.0 created, as it was: a later version has to take it as it is, or bring it forward. */
const VERSION_0_1_0 = `
  CREATE SCHEMA routewright;
  CREATE TABLE routewright.usage (
    day date NOT NULL, key text NOT NULL, route text NOT NULL, user_name text NOT NULL, org text NOT NULL,
    tier text NOT NULL, requests bigint NOT NULL, refused bigint NOT NULL, errors bigint NOT NULL,
    rows bigint NOT NULL, bytes bigint NOT NULL, last_seen timestamptz NOT NULL, PRIMARY KEY (day, key, route));
  CREATE TABLE routewright.usage_writer (
    id uuid PRIMARY KEY, batch bigint NOT NULL, written_at timestamptz NOT NULL DEFAULT now());
  INSERT INTO routewright.usage
    VALUES ('2026-01-31', 'aaaa00000000', '/v1/a', 'ann', 'Acme', 'tier1', 5, 0, 0, 10, 100, '2026-01-31T10:00Z');`;

it("usage written by version 0.1.0 is kept and added to", async () => {
  const url = await ownDatabase();
  await inDatabase(url, VERSION_0_1_0);
  const table = new UsageTable(url);
  const counts = { requests: 2, refused: 1, errors: 0, rows: 3, bytes: 4 };
  const owner = { user: "ann", org: "Acme", tier: "tier1" };
  const lastSeen = Date.parse("2026-01-31T11:00:00Z");
  const row = { day: "2026-01-31", key: "aaaa00000000", route: "/v1/a", ...owner, ...counts, lastSeen };
  await table.add({ number: 1, rows: [row] });
  await table.close(true);
  expect(await readUsage(url, { by: "key", since: null, key: null })).toMatchObject({
    ok: true,
    lines: [{ key: "aaaa00000000", requests: 7, rows: 13, lastSeen: "2026-01-31T11:00:00Z" }],
  });
});
