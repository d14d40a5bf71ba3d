/** The work of one project does not grow with the rows of others. */
import { expect, it } from "vitest";
import { newCustomer, onramp, queryAt, ownWorld, reached, untilTrue } from "../support/world.js";

const PROJECTS = 3_000;

/** Rows of other projects in all tables that an on-ramp reads. */
const OTHERS = [
  "INSERT INTO ramp.projects (id, organization_id, name, client_id) SELECT gen_random_uuid(), o.id, 'Other', gen_random_uuid()::text FROM ramp.organizations o, generate_series(1, $1)",
  `INSERT INTO ramp.customers (project_id, id, external_id, reference)
     SELECT id, gen_random_uuid()::text, 'other', gen_random_uuid() FROM ramp.projects WHERE name = 'Other' AND $1 > 0`,
  `INSERT INTO ramp.provider_connections (project_id, id, code, capabilities)
     SELECT id, gen_random_uuid(), 'other', '{"rails": [], "pairs": []}' FROM ramp.projects WHERE name = 'Other' AND $1 > 0`,
  `INSERT INTO ramp.webhook_endpoints (project_id, id, url, secret)
     SELECT id, gen_random_uuid(), 'https://other.example', '' FROM ramp.projects WHERE name = 'Other' AND $1 > 0`,
  `INSERT INTO ramp.events (project_id, id, type, body, sequence)
     SELECT id, gen_random_uuid(), 'other', '{}', nextval('ramp.event_sequence') FROM ramp.projects, generate_series(1, 10) WHERE name = 'Other' AND $1 > 0`,
  `INSERT INTO ramp.idempotency_claims (project_id, key, fingerprint, resource_id, owner, owned_until, expires_at)
     SELECT id, gen_random_uuid()::text, '', '', id, now(), now() + interval '1 day' FROM ramp.projects, generate_series(1, 10) WHERE name = 'Other' AND $1 > 0`,
  `INSERT INTO ramp.intents (project_id, id, customer_id, connection_id, type, status, src_currency, src_details, dest_currency, dest_details, src_amount, rail, auto_execute, expires_at)
     SELECT c.project_id, gen_random_uuid(), u.id, c.id, 'ONRAMP', 'PENDING', 'USD', '{}', 'USDC_POLYGON', '{}', 1, 'ACH', false, now()
     FROM ramp.provider_connections c JOIN ramp.customers u USING (project_id), generate_series(1, 10) WHERE c.code = 'other' AND $1 > 0`,
  `INSERT INTO ramp.requirements (project_id, intent_id, code, status, position, title)
     SELECT project_id, id, 'KYC', 'PENDING', 0, '' FROM ramp.intents WHERE rail = 'ACH' AND $1 > 0`,
  `INSERT INTO ramp.transactions (project_id, id, intent_id, status)
     SELECT project_id, gen_random_uuid(), id, 'PENDING' FROM ramp.intents WHERE $1 > 0`,
];

const TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'ramp'";
const BLOCKS = `SELECT (SELECT sum(idx_blks_read + idx_blks_hit) FROM pg_statio_user_indexes WHERE schemaname = 'ramp')
  + (SELECT sum(heap_blks_read + heap_blks_hit) FROM pg_statio_user_tables WHERE schemaname = 'ramp') AS blocks`;

/** Waits for the end of sessions that have closed, but those of the ramp: what they read is counted then. */
const ended = (url: string, ramps: string): Promise<void> =>
  untilTrue(async () => {
    const others = `SELECT count(*) = 0 AS none FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND backend_type = 'client backend' AND application_name <> $1`;
    return (await queryAt(url, others, [ramps]))[0]?.["none"] === true;
  });

/** Blocks that PostgreSQL reads for some on-ramps of one project, with all reads of an integrator, beside other projects. */
async function blocksRead(others: number): Promise<number> {
  const world = await ownWorld();
  await world.sandbox.set({ settleMs: 50 });
  const { databaseUrl: url } = world;
  const project = await world.project();
  // Vacuum reads blocks too.
  for (const { table_name: table } of await queryAt(url, TABLES))
    await queryAt(url, `ALTER TABLE ramp.${String(table)} SET (autovacuum_enabled = false)`);
  for (const statement of OTHERS) await queryAt(url, statement, [others]);
  for (const { table_name: table } of await queryAt(url, TABLES))
    await queryAt(url, `ANALYZE ramp.${String(table)}`);
  const blocks = async (): Promise<number> => Number((await queryAt(url, BLOCKS))[0]?.["blocks"]);
  await ended(url, "routewright-ramp");
  const before = await blocks();
  for (let n = 0; n < 3; n++) {
    const auth = await newCustomer(world, project);
    const options = { auth, key: `on-ramp ${String(n)}`, body: onramp({ autoExecute: true }) };
    const { json } = await world.call("POST", "/v1/intent", options);
    const path = `/v1/intent/${String(json.intent.id)}`;
    // Each look reads blocks too.
    await reached(world, path, { auth }, "COMPLETED", 500);
    expect((await world.call("POST", "/v1/intent", options)).status).toBe(201);
    expect((await world.call("GET", "/v1/intent", { auth })).json).toHaveLength(1);
    const basic = { auth: project.basic };
    for (const list of ["intents", "customers"])
      expect((await world.call("GET", `/v1/${list}?limit=2`, basic)).status).toBe(200);
  }
  // Connections report what they read when they close.
  await world.stop();
  await ended(url, "");
  return (await blocks()) - before;
}

it("reads about as much beside 3,000 projects as beside none", async () => {
  const [alone, beside] = [await blocksRead(0), await blocksRead(PROJECTS)];
  expect(alone).toBeGreaterThan(0);
  // Indexes of many rows are a level or two deeper.
  expect(beside / alone).toBeLessThan(5);
});
