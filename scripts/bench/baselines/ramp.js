/**
 * The baseline of `POST /v1/intent` with an idempotency key: each request writes the same rows as the ramp in one
 * transaction, without authentication, checks, provider or row-level security.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import pg from "pg";

// Plans of the empty tables would stay in some runs: 150 requests a second instead of 1,060.
const options = "-c enable_seqscan=off";
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20, options });
/** Customers of the project and its provider connection: requests take turns. */
const { rows: accounts } =
  await pool.query(`SELECT c.project_id AS project, c.id AS customer, p.id AS connection
  FROM ramp.customers c JOIN ramp.provider_connections p USING (project_id)`);
const RESPONSE = randomBytes(1_000);

const event = (type, status) => `INSERT INTO ramp.events (project_id, id, type, sequence, body)
  VALUES (@project, gen_random_uuid(), '${type}', nextval('ramp.event_sequence'), jsonb_build_object('type', '${type}',
    'timestamp', now(), 'data', jsonb_build_object('projectId', @project::uuid, 'intentId', @intent::uuid,
    'customerId', @customer::uuid, 'type', 'ONRAMP', 'status', '${status}', 'failureReason', null)))`;
const transition = (status) =>
  `UPDATE ramp.intents SET status = '${status}', updated_at = now() WHERE project_id = @project AND id = @intent`;
const requirement = (status) =>
  `UPDATE ramp.requirements SET status = '${status}', updated_at = now() WHERE project_id = @project AND intent_id = @intent`;

const STATEMENTS = [
  `INSERT INTO ramp.idempotency_claims (project_id, key, fingerprint, resource_id, owner, owned_until, expires_at)
    VALUES (@project, @key, @fingerprint, @intent, gen_random_uuid(), now() + interval '90 s', now() + interval '1 day')`,
  `INSERT INTO ramp.intents (project_id, id, customer_id, connection_id, type, status, src_currency, src_details,
      dest_currency, dest_details, src_amount, rail, auto_execute, expires_at, next_poll_at)
    VALUES (@project, @intent, @customer, @connection, 'ONRAMP', 'PENDING', 'USD',
      '{"countryCode": "US", "rail": "ACH", "provider": "sandbox-south"}', 'USDC_POLYGON',
      '{"address": "0x52908400098527886E0F7030069857D2E4169EE7"}', 100.00, 'ACH', false, now() + interval '1 day', now() + interval '1 day')`,
  event("intent.status_changed", "PENDING"),
  `INSERT INTO ramp.requirements (project_id, intent_id, code, status, position, title)
    VALUES (@project, @intent, 'KYC_VERIFICATION', 'PENDING', 0, 'Identity check')`,
  event("compliance.updated", "PENDING"),
  requirement("IN_PROGRESS"),
  event("compliance.updated", "IN_PROGRESS"),
  requirement("COMPLETED"),
  event("compliance.updated", "COMPLETED"),
  transition("COMPLIANCE_APPROVED"),
  event("intent.status_changed", "COMPLIANCE_APPROVED"),
  transition("PENDING_PAYMENT"),
  event("intent.status_changed", "PENDING_PAYMENT"),
  `UPDATE ramp.idempotency_claims SET response_status = 201, response_body = @response WHERE project_id = @project AND key = @key`,
].map((template, i) => {
  const names = [...new Set(template.match(/(?<=@)\w+/g))];
  // Named: prepared once per connection.
  return {
    name: `s${i}`,
    names,
    text: template.replace(/@(\w+)/g, (_, name) => `$${names.indexOf(name) + 1}`),
  };
});

async function writeIntent(account) {
  const [intent, fingerprint] = [randomUUID(), randomBytes(32)];
  const values = { ...account, intent, key: intent, fingerprint, response: RESPONSE };
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    for (const { name, names, text } of STATEMENTS)
      await client.query({ name, text, values: names.map((each) => values[each]) });
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
