/** What one table, one project and one provider hold back: nothing but their own. */
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { DEFAULT_CALL_POLICY } from "../../../runtime/ramp/providers/call-policy.js";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { deleteExpired, startRamp } from "../../../runtime/ramp/start-ramp.js";
import { atEnd } from "../../support/at-end.js";
import { migratedDatabase } from "../support/migrated.js";
import { listening, SERVER } from "../support/server.js";
import {
  newCustomer,
  onramp,
  ownWorld,
  queryAt,
  SECRETS_KEY,
  untilTrue,
  type World,
} from "../support/world.js";

/** Another server of the world's database, which keeps house when it starts. */
function keepHouse({ databaseUrl }: World) {
  const providerCalls = { ...DEFAULT_CALL_POLICY, timeoutMs: 10_000 };
  return startRamp({ databaseUrl, secretsKey: SECRETS_KEY, ...SERVER, providerCalls });
}

/** The capabilities of the project's providers are due. */
const age = (world: World, projects: readonly string[]) =>
  world.rows(
    "UPDATE ramp.provider_connections SET capabilities_at = now() - interval '1 hour' WHERE project_id = ANY ($1)",
    [projects],
  );

const REFRESHED = `SELECT bool_and(capabilities_at > now() - interval '5 min') FROM ramp.provider_connections WHERE project_id = ANY ($1)`;

it("deletes from the other tables where one refuses", async () => {
  const world = await ownWorld();
  const auth = await newCustomer(world, await world.project());
  const { status, text } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
  expect(status, text).toBe(201);
  await world.rows("UPDATE ramp.provider_answers SET last_at = now() - interval '10 years'");
  await world.rows(`CREATE FUNCTION ramp.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
    CREATE TRIGGER refuse BEFORE DELETE ON ramp.webhook_deliveries FOR EACH STATEMENT EXECUTE FUNCTION ramp.refuse()`);
  const { stop } = await keepHouse(world);
  atEnd(stop);
  await untilTrue(() => world.holds("SELECT count(*) = 0 FROM ramp.provider_answers"));
});

it("reads no table whole to find what has expired", async () => {
  const url = await migratedDatabase();
  // In no order, as where rows take the places of deleted ones.
  const recent = "now() - random() * interval '80 days' FROM generate_series(1, 20000) n";
  await queryAt(
    url,
    `SET session_replication_role = replica;
     INSERT INTO ramp.webhook_deliveries (project_id, event_id, endpoint_id, status, updated_at)
       SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'DELIVERED', ${recent};
     INSERT INTO ramp.events (project_id, id, type, sequence, body, created_at)
       SELECT gen_random_uuid(), gen_random_uuid(), 'webhook.test', n, '{}', ${recent};
     ANALYZE ramp.webhook_deliveries, ramp.events`,
  );
  const database = await openDatabase({ url, onIdleError: () => undefined, maxConnections: 1 });
  await deleteExpired({ database, log: SERVER.log }, 90);
  await database.operator.rows("SELECT pg_stat_force_next_flush()");
  await database.close();
  const counted = `SELECT relname AS name, seq_tup_read::int AS read, (SELECT sum(idx_scan) FROM pg_stat_user_indexes i WHERE i.relid = t.relid) > 0 AS found
    FROM pg_stat_user_tables t WHERE relname IN ('webhook_deliveries', 'events') AND schemaname = 'ramp' ORDER BY 1`;
  expect(await queryAt(url, counted)).toEqual([
    { name: "events", read: 0, found: true },
    { name: "webhook_deliveries", read: 0, found: true },
  ]);
});

it("refreshes capabilities of the other projects where a secret cannot be read", async () => {
  const world = await ownWorld();
  const projects: string[] = [];
  for (let n = 0; n < 5; n++) projects.push((await world.project()).id);
  const [broken, ...others] = projects.toSorted();
  await world.rows("UPDATE ramp.provider_credentials SET secret = 'no secret' WHERE project_id = $1", [
    broken,
  ]);
  await age(world, projects);
  const { stop } = await keepHouse(world);
  atEnd(stop);
  await untilTrue(() => world.holds(REFRESHED, [others]));
  expect(await world.holds(REFRESHED, [[broken]])).toBe(false);
});

it("refreshes capabilities of the other projects while providers do not answer, several at a time, and stops", async () => {
  let [open, asked] = [0, 0];
  const frozen = createServer(({ socket }) => {
    [open, asked] = [open + 1, asked + 1];
    socket.on("close", () => open--);
  });
  const url = await listening(frozen);
  atEnd(() => frozen.close().closeAllConnections());
  const world = await ownWorld();
  const projects: string[] = [];
  for (let n = 0; n < 13; n++) projects.push((await world.project()).id);
  const [last, ...slow] = projects.toSorted().toReversed();
  await world.rows("UPDATE ramp.provider_credentials SET url = $2 WHERE project_id = ANY ($1)", [slow, url]);
  await age(world, projects);
  // It would refresh them too, a minute after its start.
  await world.stop();
  const { stop } = await keepHouse(world);
  // Of ten projects two each at once, and then of the next ones, until it is stopped.
  await untilTrue(() => open === 20);
  await untilTrue(() => world.holds(REFRESHED, [[last]]));
  await stop();
  // The other end sees a moment later that a connection was closed.
  await untilTrue(() => open === 0);
  const then = asked;
  await new Promise((passed) => setTimeout(passed, 1_000));
  expect([open, asked]).toEqual([0, then]);
  expect(await world.holds(REFRESHED, [slow])).toBe(false);
});
