import { randomBytes, randomUUID } from "node:crypto";
import pg from "pg";
import type { BareJob, JobResult, Owner } from "./job.js";
import { keepUp } from "./pace.js";

/** As many as the ramp holds. */
const POOL_SIZE = 20;

type Values = readonly unknown[];

interface Statement {
  readonly text: string;
  readonly values: (owner: Owner, id: string) => Values;
}

const event = (type: string, status: string): Statement => ({
  text: "INSERT INTO ramp.events (project_id, id, type, body) VALUES ($1, $2, $3, $4)",
  values: ({ projectId, customerId }, intentId) => {
    const data = { projectId, intentId, customerId, type: "ONRAMP", status, failureReason: null };
    const body = JSON.stringify({ type, timestamp: new Date().toISOString(), data });
    return [projectId, randomUUID(), type, body];
  },
});

const move = (status: string): Statement => ({
  text: "UPDATE ramp.intents SET status = $3, updated_at = now() WHERE project_id = $1 AND id = $2",
  values: ({ projectId }, id) => [projectId, id, status],
});

const ANSWER = randomBytes(1_000);
const DAY_MS = 24 * 60 * 60_000;

/** What one create leaves in the database, one statement for each row and move of it. */
const STATEMENTS: readonly Statement[] = [
  {
    text: `INSERT INTO ramp.idempotency_claims (project_id, key, fingerprint, resource_id, owner, owned_until, expires_at)
      VALUES ($1, $2, $3, $4, $5, now() + interval '90 s', now() + interval '1 day')`,
    values: ({ projectId }, id) => [projectId, id, randomBytes(32), id, randomUUID()],
  },
  {
    text: `INSERT INTO ramp.intents (project_id, id, customer_id, connection_id, type, status, src_currency, src_details,
        dest_currency, dest_details, src_amount, rail, auto_execute, expires_at, attend_at)
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
      VALUES ($1, $2, 'KYC_VERIFICATION', 'COMPLETED', 0, 'Identity check')`,
    values: ({ projectId }, id) => [projectId, id],
  },
  event("compliance.updated", "COMPLETED"),
  move("COMPLIANCE_APPROVED"),
  event("intent.status_changed", "COMPLIANCE_APPROVED"),
  move("PENDING_PAYMENT"),
  event("intent.status_changed", "PENDING_PAYMENT"),
  {
    text: `UPDATE ramp.idempotency_claims SET response_status = 201, response_body = $3 WHERE project_id = $1 AND key = $2`,
    values: ({ projectId }, id) => [projectId, id, ANSWER],
  },
];

const NAMED = STATEMENTS.map((statement, i) => ({ ...statement, name: `s${String(i)}` }));

/** Writes the rows of creates with `pg` and nothing else: no HTTP, no checks, no provider, no row-level security. */
export async function writeBare(job: BareJob): Promise<JobResult> {
  const pool = new pg.Pool({ connectionString: job.databaseUrl, max: POOL_SIZE });
  try {
    let intents = 0;
    return await keepUp(job, () => writeOne(pool, job.owners[intents++ % job.owners.length]));
  } finally {
    await pool.end();
  }
}

async function writeOne(pool: pg.Pool, owner: Owner | undefined): Promise<void> {
  if (!owner) throw new Error("There is nobody to write for.");
  const id = randomUUID();
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    for (const { name, text, values } of NAMED)
      await client.query({ name, text, values: [...values(owner, id)] });
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}
