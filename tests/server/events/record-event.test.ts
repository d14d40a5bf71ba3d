import { expect, it } from "vitest";
import { PostgresClient } from "../../../runtime/postgres/connection/postgres-client.js";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase, queryAt } from "../../support/database.js";

const CREATED = {
  id: "key.created 0123456789ab",
  type: "key.created",
  organization: "acme",
  data: { key: "0123456789ab", tier: "tier1" },
};

async function openDatabase() {
  const url = await ownDatabase();
  const store = await KeyDatabase.open(url);
  atEnd(() => store.close());
  const client = new PostgresClient({ connectionString: url });
  await client.connect();
  atEnd(() => client.end());
  return { url, client };
}

const recorded = (url: string) =>
  queryAt(url, "SELECT id, type, organization, data, sequence FROM routewright_events.events");

const RECORD = "SELECT routewright_events.record($1::text, $2::text, $3::text, $4::jsonb)";

it("a database of keys records an event with the change that it reports, once, and none of a change that is undone", async () => {
  const { url, client } = await openDatabase();
  await client.query("BEGIN; SET LOCAL search_path = pg_catalog");
  await client.query(RECORD, Object.values(CREATED));
  await client.query("ROLLBACK");
  expect(await recorded(url)).toEqual([]);
  for (const change of ["BEGIN", "BEGIN"]) {
    await client.query(change);
    await client.query(RECORD, Object.values(CREATED));
    await client.query("COMMIT");
  }
  expect(await recorded(url)).toEqual([{ ...CREATED, sequence: null }]);
});

it("a statement of a key database records one beside its change", async () => {
  const { url } = await openDatabase();
  await queryAt(
    url,
    `WITH added AS (INSERT INTO routewright_keys.organizations (id) VALUES ('acme') RETURNING id)
     SELECT routewright_events.record('plan.changed ' || id, 'plan.changed', id, jsonb_build_object('plan', 'gold')) FROM added`,
  );
  expect(await recorded(url)).toEqual([
    {
      id: "plan.changed acme",
      type: "plan.changed",
      organization: "acme",
      data: { plan: "gold" },
      sequence: null,
    },
  ]);
});
