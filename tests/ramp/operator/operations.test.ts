import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { deleteExpired } from "../../../runtime/ramp/start-ramp.js";
import { CACHES, cacheBytes } from "../../../runtime/core/http/bounded-cache.js";
import { check, providerViolations } from "../../../runtime/ramp/core/json-schema.js";
import { diagnose, showIntent } from "../../../runtime/ramp/operator/diagnostics.js";
import { connectProvider } from "../../../runtime/ramp/operator/integrations.js";
import { deleteWebhook } from "../../../runtime/ramp/webhooks/endpoints.js";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import { startProcess } from "../support/processes.js";
import { SERVER } from "../support/server.js";
import { made, newCustomer, onramp, queryAt, ownWorld, untilTrue } from "../support/world.js";

const world = await ownWorld();

it("/health of a read-only database is not ok", async () => {
  const name = new URL(world.databaseUrl).pathname.slice(1);
  const setReadOnly = async (value: string): Promise<void> => {
    await world.rows(
      `BEGIN READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = ${value}; COMMIT`,
    );
    await world.rows(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
  };
  await setReadOnly("on");
  const health = async (): Promise<string> => {
    const { status, text } = await world.call("GET", "/health");
    return `${String(status)} ${text}`;
  };
  const readOnly = '503 {"status":"unavailable","database_connected":true,"database_writable":false}';
  await untilTrue(async () => (await health()) === readOnly);
  await setReadOnly("off");
  await untilTrue(async () => (await health()).startsWith("200 "));
});

describe("routewright ramp doctor", () => {
  const failing = async (vault = world.vault): Promise<string[]> =>
    (await diagnose(world.database, vault)).filter(({ ok }) => !ok).map(({ check: name }) => name);

  it("finds nothing where all is well", async () => {
    await world.project();
    const findings = await diagnose(world.database, world.vault);
    expect(findings.filter(({ ok }) => !ok)).toEqual([]);
    expect(findings.map(({ check: name }) => name)).toEqual(
      expect.arrayContaining(["master-key", "provider", "queue", "webhooks", "intents"]),
    );
  });

  it("names a master key that does not open what is stored", async () => {
    expect(await failing(new Vault(Buffer.alloc(32, 1)))).toEqual(["master-key"]);
  });

  it("names a provider that does not answer", async () => {
    const project = await world.project({ providers: [] });
    const sandbox = await startProcess("./sandbox-process.ts");
    atEnd(() => sandbox.kill());
    const [north] = SANDBOX_PROVIDERS;
    const { code = "", path = "", keyId = "", secret = "" } = north ?? {};
    const connection = { provider: code, url: sandbox.said + path, keyId, secret };
    made(await connectProvider(world.database, world.vault, project.id, connection));
    expect(await failing()).toEqual([]);
    await sandbox.kill();
    const findings = await diagnose(world.database, world.vault);
    expect(findings.filter(({ ok }) => !ok)).toEqual([
      {
        check: "provider",
        ok: false,
        detail: `${code} of project ${project.id} gives no valid answer: ECONNREFUSED. Check address and credentials.`,
      },
    ]);
    await world.rows("UPDATE ramp.provider_connections SET enabled = false WHERE project_id = $1", [
      project.id,
    ]);
  });

  it("names intents that are not processed and intents that need attention", async () => {
    const stopped = await ownWorld();
    const project = await stopped.project();
    const auth = await newCustomer(stopped, project);
    await stopped.call("POST", "/v1/intent", { auth, body: onramp() });
    await stopped.stop();
    const url = stopped.databaseUrl;
    await queryAt(url, "UPDATE ramp.intents SET next_poll_at = now() - interval '5 minutes'");
    await queryAt(
      url,
      `UPDATE ramp.intents SET attention = '{"PROVIDER_FAILS": "unclear"}', attention_since = now()`,
    );
    const database = await openDatabase({ url, onIdleError: () => undefined });
    const findings = await diagnose(database, stopped.vault);
    await database.close();
    expect(findings.filter(({ ok }) => !ok).map(({ check: name }) => name)).toEqual(["queue", "intents"]);
  });
});

it("routewright ramp intent shows one with what happened to it", async () => {
  const project = await world.project();
  const auth = await newCustomer(world, project);
  const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
  const id = String(json.intent.id);
  const { history, ...summary } = made(await showIntent(world.database, world.vault, id));
  expect(summary).toMatchObject({
    intentId: id,
    status: "PENDING_PAYMENT",
    srcCurrency: "USD",
    provider: "sandbox-south",
  });
  const events = history as { event: string; data: { status: string } }[];
  const moves = events.filter(({ event }) => event === "intent.status_changed");
  expect(moves.map(({ data }) => data.status)).toEqual(["PENDING", "COMPLIANCE_APPROVED", "PENDING_PAYMENT"]);
  expect(await showIntent(world.database, world.vault, "x")).toMatchObject({ ok: false });
});

describe("housekeeping", () => {
  it("deletes what has expired, however much, in batches, and nothing else", async () => {
    const insert = `INSERT INTO ramp.wallet_nonces (nonce, expires_at)
      SELECT $1 || n, now() + $2::interval FROM generate_series(1, 250) n`;
    await world.rows(insert, ["old-", "-1 minute"]);
    await world.rows(insert, ["new-", "1 hour"]);
    await deleteExpired({ database: world.database, log: SERVER.log }, 90, 100);
    const left = await world.rows(
      "SELECT split_part(nonce, '-', 1) AS age, count(*)::int AS count FROM ramp.wallet_nonces GROUP BY 1",
    );
    expect(left).toEqual([{ age: "new", count: 250 }]);
  });

  it("deletes events, deliveries and answers after the retention, but nothing that is still to be delivered", async () => {
    const own = await world.project();
    await world.webhook(own, "http://127.0.0.1:1/");
    const auth = await newCustomer(world, own);
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
    const rows = async (sql: string): Promise<readonly unknown[]> =>
      (await world.rows(sql, [json.intent.id])).map((row) => Object.values(row)[0]);
    const events = () => rows("SELECT id FROM ramp.events WHERE intent_id = $1 ORDER BY created_at, id");
    const answers = () => rows("SELECT operation FROM ramp.provider_answers WHERE intent_id = $1");
    const [first, ...others] = await events();
    expect(others.length).toBeGreaterThan(0);
    expect(await answers()).not.toEqual([]);
    // Each was tried; the next try is seconds away.
    const tried =
      "SELECT min(attempts) > 0 FROM ramp.webhook_deliveries d JOIN ramp.events e ON e.id = d.event_id WHERE intent_id = $1";
    await untilTrue(async () => (await rows(tried))[0] === true);
    const old = "now() - interval '40 days'";
    await rows(`UPDATE ramp.events SET created_at = ${old} WHERE intent_id = $1`);
    await rows(`UPDATE ramp.provider_answers SET last_at = ${old} WHERE intent_id = $1`);
    await world.rows(
      `UPDATE ramp.webhook_deliveries SET status = 'DELIVERED', attempt_at = NULL, updated_at = ${old} WHERE event_id = $1`,
      [first],
    );
    await deleteExpired({ database: world.database, log: SERVER.log }, 41);
    expect(await events()).toHaveLength(1 + others.length);
    await deleteExpired({ database: world.database, log: SERVER.log }, 39);
    expect(new Set(await events())).toEqual(new Set(others));
    expect(await answers()).toEqual([]);
  });

  it("deletes what was to be delivered to an endpoint that was deleted meanwhile", async () => {
    const own = await world.project();
    const { webhookId } = await world.webhook(own, "http://127.0.0.1:1/");
    const auth = await newCustomer(world, own);
    const create = () => world.call("POST", "/v1/intent", { auth, body: onramp() });
    expect((await create()).status).toBe(201);
    // An event that has found the endpoint waits for its time while the endpoint is deleted.
    const holder = new Client({ connectionString: world.databaseUrl });
    await holder.connect();
    atEnd(() => holder.end());
    await holder.query(`BEGIN; SELECT FROM ramp.change_times WHERE project_id = '${own.id}' FOR UPDATE`);
    const created = create();
    const isWaiting =
      "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'WITH given AS%' AND wait_event_type = 'Lock'";
    await untilTrue(() => world.holds(isWaiting));
    made(await deleteWebhook(world.database, own.id, webhookId));
    await holder.query("COMMIT");
    await created;
    const pending = () =>
      world.rows("SELECT FROM ramp.webhook_deliveries WHERE project_id = $1 AND status = 'PENDING'", [
        own.id,
      ]);
    expect(await pending()).not.toEqual([]);
    await world.rows(
      "UPDATE ramp.webhook_endpoints SET deleted_at = now() - interval '2 hours' WHERE id = $1",
      [webhookId],
    );
    await deleteExpired({ database: world.database, log: SERVER.log }, 90);
    expect(await pending()).toEqual([]);
  });
});

it("an action that was carried out is never recorded as failed", async () => {
  const own = await world.project();
  await newCustomer(world, own, "erased");
  await world.rows(`CREATE FUNCTION ramp.refuse_outcome() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
    CREATE TRIGGER refuse_outcome BEFORE UPDATE ON ramp.audit_log FOR EACH ROW WHEN (NEW.outcome <> 'failed') EXECUTE FUNCTION ramp.refuse_outcome()`);
  const { status } = await world.call("DELETE", "/v1/customers/erased", { auth: own.basic });
  await world.rows("DROP TRIGGER refuse_outcome ON ramp.audit_log");
  expect(status).toBe(500);
  expect((await world.call("DELETE", "/v1/customers/erased", { auth: own.basic })).status).toBe(404);
  const logged = await world.rows("SELECT outcome FROM ramp.audit_log WHERE project_id = $1 ORDER BY at", [
    own.id,
  ]);
  expect(logged[0]).toEqual({ outcome: null });
});

it("compiled schemas are bounded however many forms providers send, and equal ones are compiled once", () => {
  const form = (n: number) => ({
    type: "object",
    required: [`field${String(n)}`],
    title: "x".repeat(10_000),
  });
  const bytes = (): number => new Map(cacheBytes("ramp")).get("provider_schemas") ?? 0;
  providerViolations(form(1), {});
  const before = bytes();
  for (let i = 0; i < 5; i++) providerViolations(form(1), {});
  expect(bytes()).toBe(before);
  for (let n = 0; n < 200; n++) expect(providerViolations(form(n), {})).toHaveLength(1);
  expect(bytes()).toBeGreaterThan(before);
  expect(bytes()).toBeLessThanOrEqual(CACHES.provider_schemas.maxBytes);
  expect(check({ type: "string" } as never, "text")).toBe(true);
});
