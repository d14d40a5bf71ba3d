/** Concurrent transactions wait for each other's locks, but never in a circle. */
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { customerIdOf, newId } from "../../../runtime/ramp/database/id.js";
import { addSecret } from "../../../runtime/ramp/operator/projects.js";
import { rotateVault, Vault } from "../../../runtime/ramp/core/vault.js";
import { eventually, newCustomer, onramp, ownWorld, reached, SECRETS_KEY } from "../support/world.js";

const world = await ownWorld();

/** A session of the database's owner that keeps its transaction open. */
async function ownSession(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: world.databaseUrl });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("SET ramp.operator = 'on'");
  return client;
}

/** Waits until each of these is done or waits for a lock. */
async function untilBlocked(work: readonly Promise<unknown>[]): Promise<void> {
  let done = 0;
  for (const one of work)
    void one.then(
      () => done++,
      () => done++,
    );
  await eventually(
    () =>
      world.rows(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      ),
    (waiting) => waiting.length + done >= work.length,
  );
}

it("an erasure and a server that records something about an ended intent of the customer end both", async () => {
  const project = await world.project();
  const auth = await newCustomer(world, project, "ada");
  const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
  const id = String(json.intent.id);
  await world.call("POST", `/v1/intent/${id}/cancel`, { auth });
  await reached(world, `/v1/intent/${id}`, { auth }, "CANCELLED");
  const session = await ownSession();
  // PostgreSQL checks the foreign key again where a transaction changes a row twice.
  const record = () =>
    session.query("UPDATE ramp.intents SET failed_attempts = failed_attempts + 1 WHERE id = $1", [id]);
  await session.query("BEGIN");
  await record();
  const customer = customerIdOf(project.id, "ada");
  const erasure = world.call("DELETE", `/v1/customers/${customer}`, { auth: project.basic });
  await untilBlocked([erasure]);
  await record();
  await session.query("COMMIT");
  expect((await erasure).status).toBe(204);
});

it.each([
  ["an intent of the customer", "/v1/intent", onramp(), 401],
  ["the customer itself", "/v1/customers", { id: "ada" }, 201],
])("an erasure and the reuse of an expired key of %s end both", async (_name, path, body, status) => {
  const project = await world.project();
  const auth = await newCustomer(world, project, "ada");
  const reuse = (more: object) =>
    world.call("POST", path, {
      auth: path === "/v1/intent" ? auth : project.basic,
      headers: { "idempotency-key": "expired" },
      body: { ...body, ...more },
    });
  expect((await reuse({})).status).toBe(201);
  const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
  for (const { id } of await world.rows("SELECT id FROM ramp.intents WHERE project_id = $1", [project.id]))
    await world.call("POST", `/v1/intent/${String(id)}/cancel`, { auth });
  await reached(world, `/v1/intent/${String(json.intent.id)}`, { auth }, "CANCELLED");
  await world.rows("UPDATE ramp.idempotency_claims SET expires_at = now() WHERE project_id = $1", [
    project.id,
  ]);
  const session = await ownSession();
  await session.query("BEGIN");
  await session.query("SELECT FROM ramp.intents WHERE project_id = $1 FOR UPDATE", [project.id]);
  const customer = customerIdOf(project.id, "ada");
  const erasure = world.call("DELETE", `/v1/customers/${customer}`, { auth: project.basic });
  await untilBlocked([erasure]);
  const reused = reuse({ metadata: { again: true } });
  await untilBlocked([erasure, reused]);
  await session.query("COMMIT");
  expect([(await erasure).status, (await reused).status]).toEqual([204, status]);
});

// After it the server's own key is another.
it("a rotation of the master key and new events of a project with two webhooks end both", async () => {
  const project = await world.project();
  for (const path of ["one", "two"]) await world.webhook(project, `http://127.0.0.1:9/${path}`);
  const endpoints = await world.rows(
    "SELECT id FROM ramp.webhook_endpoints WHERE project_id = $1 ORDER BY ctid DESC",
    [project.id],
  );
  const session = await ownSession();
  const event = newId();
  const deliver = (endpoint: unknown): Promise<unknown> =>
    session.query(
      "INSERT INTO ramp.webhook_deliveries (project_id, id, event_id, endpoint_id, attempt_at) VALUES ($1, $2, $3, $4, now())",
      [project.id, newId(), event, endpoint],
    );

  await session.query("BEGIN");
  await session.query(
    "INSERT INTO ramp.events (project_id, id, type, sequence, body) VALUES ($1, $2, 'test', nextval('ramp.event_sequence'), '{}')",
    [project.id, event],
  );
  await deliver(endpoints[0]?.["id"]);
  const rotation = rotateVault(world.database, new Vault(Buffer.alloc(32, 9), [SECRETS_KEY]));
  await untilBlocked([rotation]);
  await deliver(endpoints[1]?.["id"]);
  await session.query("COMMIT");
  expect((await rotation).resealed).toBeGreaterThanOrEqual(2);
});

it("of two secrets that are added at once to a project with one, one is refused", async () => {
  const project = await world.project({ providers: [] });
  const session = await ownSession();
  await session.query("BEGIN");
  await session.query("SELECT FROM ramp.projects WHERE id = $1 FOR KEY SHARE", [project.id]);
  const added = [1, 2].map(() => addSecret(world.database, project.id));
  await untilBlocked(added);
  await session.query("COMMIT");
  const [refused, ...more] = (await Promise.all(added)).filter(({ ok }) => !ok);
  expect(refused).toMatchObject({ problems: [expect.stringContaining("at most two valid client secrets")] });
  expect(more).toEqual([]);
});

it("a transaction that waits for no statement ends, so that a frozen server keeps no lock and posts nothing to a closed day", async () => {
  const [row] = await world.database.asOperator((tx) => tx.rows("SHOW idle_in_transaction_session_timeout"));
  expect(row).toEqual({ idle_in_transaction_session_timeout: "30s" });
});
