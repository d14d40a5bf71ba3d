/**
 * The baseline of `POST /v1/intent` with an idempotency key: each request writes the same rows as the ramp in one
 * transaction, without authentication, checks, provider or row-level security.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import pg from "pg";

/** Projects, each with a provider connection and a customer: requests take turns. */
const accounts = JSON.parse(readFileSync(process.env.BENCH_ACCOUNTS, "utf8"));
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const RESPONSE = randomBytes(1_000);
const DAY_MS = 24 * 60 * 60_000;

const event = (type, status) => ({
  text: "INSERT INTO ramp.events (project_id, id, type, sequence, body) VALUES ($1, $2, $3, nextval('ramp.event_sequence'), $4)",
  values: ({ projectId, customerId }, intentId) => {
    const data = { projectId, intentId, customerId, type: "ONRAMP", status, failureReason: null };
    return [
      projectId,
      randomUUID(),
      type,
      JSON.stringify({ type, timestamp: new Date().toISOString(), data }),
    ];
  },
});

const transition = (status) => ({
  text: "UPDATE ramp.intents SET status = $3, updated_at = now() WHERE project_id = $1 AND id = $2",
  values: ({ projectId }, id) => [projectId, id, status],
});

const requirement = (status) => ({
  text: "UPDATE ramp.requirements SET status = $3, updated_at = now() WHERE project_id = $1 AND intent_id = $2",
  values: ({ projectId }, id) => [projectId, id, status],
});

const STATEMENTS = [
  {
    text: `INSERT INTO ramp.idempotency_claims (project_id, key, fingerprint, resource_id, owner, owned_until, expires_at)
      VALUES ($1, $2, $3, $4, $5, now() + interval '90 s', now() + interval '1 day')`,
    values: ({ projectId }, id) => [projectId, id, randomBytes(32), id, randomUUID()],
  },
  {
    text: `INSERT INTO ramp.intents (project_id, id, customer_id, connection_id, type, status, src_currency, src_details,
        dest_currency, dest_details, src_amount, rail, auto_execute, expires_at, next_poll_at)
      VALUES ($1, $2, $3, $4, 'ONRAMP', 'PENDING', 'USD', $5, 'USDC_POLYGON', $6, 100.00, 'ACH', false, $7, $7)`,
    values: ({ projectId, customerId, connectionId }, id) => [
      projectId,
      id,
      customerId,
      connectionId,
      JSON.stringify({ countryCode: "US", rail: "ACH", provider: "sandbox-south" }),
      JSON.stringify({ address: "0x52908400098527886E0F7030069857D2E4169EE7" }),
      new Date(Date.now() + DAY_MS),
    ],
  },
  event("intent.status_changed", "PENDING"),
  {
    text: `INSERT INTO ramp.requirements (project_id, intent_id, code, status, position, title)
      VALUES ($1, $2, 'KYC_VERIFICATION', 'PENDING', 0, 'Identity check')`,
    values: ({ projectId }, id) => [projectId, id],
  },
  event("compliance.updated", "PENDING"),
  requirement("IN_PROGRESS"),
  event("compliance.updated", "IN_PROGRESS"),
  requirement("COMPLETED"),
  event("compliance.updated", "COMPLETED"),
  transition("COMPLIANCE_APPROVED"),
  event("intent.status_changed", "COMPLIANCE_APPROVED"),
  transition("PENDING_PAYMENT"),
  event("intent.status_changed", "PENDING_PAYMENT"),
  {
    text: "UPDATE ramp.idempotency_claims SET response_status = 201, response_body = $3 WHERE project_id = $1 AND key = $2",
    values: ({ projectId }, id) => [projectId, id, RESPONSE],
  },
].map((statement, i) => ({ ...statement, name: `s${i}` }));

async function writeIntent(account) {
  const id = randomUUID();
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    // Named: prepared once per connection.
    for (const { name, text, values } of STATEMENTS)
      await client.query({ name, text, values: values(account, id) });
    await client.query("COMMIT");
    client.release();
  } catch (error) {
    // Closes the connection, which rolls back: in the pool it would fail the next request.
    client.release(error);
    throw error;
  }
}

let requests = 0;
createServer((request, response) => {
  if (request.method !== "POST") return response.writeHead(404, { "Content-Length": 0 }).end();
  request.resume().on("end", () => {
    writeIntent(accounts[requests++ % accounts.length]).then(
      () => response.writeHead(201, { "Content-Length": RESPONSE.length }).end(RESPONSE),
      (error) => {
        console.error(error);
        response.writeHead(500, { "Content-Length": 0 }).end();
      },
    );
  });
}).listen(Number(process.env.PORT), "127.0.0.1");
