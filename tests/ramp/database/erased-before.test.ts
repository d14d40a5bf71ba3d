/** A database of 0.1.0 with customers that were erased under it, and what its next release makes of them. */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { customerIdOf } from "../../../runtime/ramp/database/id.js";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { startRamp } from "../../../runtime/ramp/start-ramp.js";
import { atEnd } from "../../support/at-end.js";
import { SERVER } from "../support/server.js";
import { call, ownDatabase, queryAt, SECRETS_KEY } from "../support/world.js";

const url = await ownDatabase();
const rows = (text: string, values: readonly unknown[] = []) => queryAt(url, text, values);
/** Of two projects: the ids of customers are the projects' own. */
const [shop, other] = [randomUUID(), randomUUID()];
const SECRET = "rws_secret";
const basic = `Basic ${Buffer.from(`ramp_shop:${SECRET}`).toString("base64")}`;
const MAY = "2026-05-01T00:00:00Z";
const JUNE = "2026-06-01T00:00:00Z";

/** The tables of 0.1.0, with two projects. */
async function release(): Promise<void> {
  const file = new URL("../../../runtime/ramp/database/migrations/0001_schema.sql", import.meta.url);
  await queryAt(url, "CREATE SCHEMA ramp");
  await queryAt(url, `SET search_path = ramp, public; ${readFileSync(file, "utf8")}`);
  await rows(
    "CREATE TABLE ramp.migrations (id serial PRIMARY KEY, name varchar(255) NOT NULL, run_on timestamp NOT NULL)",
  );
  await rows("INSERT INTO ramp.migrations (name, run_on) VALUES ('0001_schema', now())");
  await rows(
    `INSERT INTO ramp.currencies (id, ticker, name, code, decimals, type) SELECT gen_random_uuid(), code, code, code, 2, 'FIAT'
     FROM unnest(ARRAY['USD', 'EUR']) code ON CONFLICT DO NOTHING`,
  );
  const organization = randomUUID();
  await rows("INSERT INTO ramp.organizations (id, name) VALUES ($1, 'Acme')", [organization]);
  for (const [id, client] of [
    [shop, "ramp_shop"],
    [other, "ramp_other"],
  ]) {
    await rows(
      "INSERT INTO ramp.projects (id, organization_id, name, client_id) VALUES ($1, $2, 'Shop', $3)",
      [id, organization, client],
    );
    await rows(
      "INSERT INTO ramp.provider_connections (project_id, id, code, capabilities) VALUES ($1, $1, 'south', $2)",
      [id, '{"name": "South", "pairs": []}'],
    );
  }
  const hash = createHash("sha256").update(SECRET).digest();
  await rows("INSERT INTO ramp.client_secrets (id, project_id, hash) VALUES ($1, $1, $2)", [shop, hash]);
}

interface Stored {
  readonly project?: string;
  readonly externalId: string;
  /** When it was erased, or its tokens were revoked. */
  readonly revokedAt?: string;
  readonly updatedAt?: string;
  /** An intent, with its data or without. */
  readonly intents?: readonly ("named" | "erased")[];
}

/** Writes a customer as 0.1.0 left it, and returns the ids of its intents. */
async function store(id: string, customer: Stored): Promise<readonly string[]> {
  const { project = shop, externalId, revokedAt, updatedAt = MAY, intents = [] } = customer;
  await rows(
    "INSERT INTO ramp.customers (project_id, id, external_id, reference, updated_at) VALUES ($1, $2, $3, gen_random_uuid(), $4)",
    [project, id, externalId, updatedAt],
  );
  if (revokedAt !== undefined)
    await rows(
      "INSERT INTO ramp.token_revocations (project_id, customer_id, revoked_at) VALUES ($1, $2, $3)",
      [project, id, revokedAt],
    );
  const ids = intents.map(() => randomUUID());
  for (const [at, kind] of intents.entries())
    await rows(
      `INSERT INTO ramp.intents (project_id, id, customer_id, connection_id, type, status, src_currency, src_details, dest_currency, dest_details,
         src_amount, rail, auto_execute, expires_at, onboarding_order, metadata)
       VALUES ($1, $2, $3, $1, 'ONRAMP', 'PENDING', 'USD', $4, 'EUR', '{}', 100.00, 'ACH', false, now(), $5, $6)`,
      [
        project,
        ids[at],
        id,
        kind === "named" ? '{"accountHolderName": "Ada"}' : "{}",
        kind === "named" ? "{}" : null,
        kind === "named" ? '{"name": "Ada"}' : null,
      ],
    );
  for (const [at, kind] of intents.entries()) if (kind === "erased") await leavePieces(project, ids[at]);
  await rows("UPDATE ramp.intents SET status = 'CANCELLED' WHERE customer_id = $1 AND status = 'PENDING'", [
    id,
  ]);
  return ids;
}

/** What people and providers wrote, which an erasure of 0.1.0 left. */
async function leavePieces(project: string, intent: string | undefined): Promise<void> {
  const values = [project, intent];
  await rows(
    "UPDATE ramp.intents SET status = 'COMPLIANCE_IN_PROGRESS' WHERE project_id = $1 AND id = $2",
    values,
  );
  await rows(
    `UPDATE ramp.intents SET status = 'COMPLIANCE_FAILED', failure_reason = 'Grace is unknown' WHERE project_id = $1 AND id = $2`,
    values,
  );
  await rows(
    `INSERT INTO ramp.requirements (project_id, intent_id, code, status, position, title, form)
     VALUES ($1, $2, 'KYC', 'PENDING', 0, 'Passport of Grace', '{"of": "Grace"}')`,
    values,
  );
  await rows(
    `INSERT INTO ramp.transactions (project_id, id, intent_id, status, failure_reason, refusal_reason, refunds)
     VALUES ($1, gen_random_uuid(), $2, 'PENDING', 'Grace', 'Grace', '[{"id": "r", "amount": "1.00", "reason": "Grace asked"}]')`,
    values,
  );
  await rows(
    "INSERT INTO ramp.refund_requests (project_id, id, intent_id, amount, reason, state) VALUES ($1, gen_random_uuid(), $2, 1, 'Grace asked', 'ACCEPTED')",
    values,
  );
}

const idOf = (externalId: string, project = shop): string => customerIdOf(project, externalId);
const own = randomUUID();

it("customers that were erased under 0.1.0 are gone, and their intents stand for nobody; others stay as they are", async () => {
  await release();
  const gone = await store(idOf("gone"), {
    externalId: idOf("gone"),
    revokedAt: MAY,
    intents: ["erased", "erased"],
  });
  await store(idOf("empty"), { externalId: idOf("empty"), revokedAt: MAY });
  const returned = await store(idOf("returned"), {
    externalId: idOf("returned"),
    revokedAt: MAY,
    intents: ["erased", "named"],
  });
  const ada = await store(idOf("ada"), { externalId: "ada", revokedAt: JUNE, intents: ["named"] });
  // Its own id is a UUID, and its tokens were revoked: not erased.
  await store(own, { externalId: own, revokedAt: JUNE });
  const theirs = await store(idOf("gone", other), {
    project: other,
    externalId: idOf("gone", other),
    revokedAt: MAY,
    intents: ["erased"],
  });
  await migrate(url);

  const ramp = await startRamp({ ...SERVER, databaseUrl: url, secretsKey: SECRETS_KEY });
  atEnd(() => ramp.stop());
  const read = async (path: string) => (await call(ramp.url, "GET", path, { auth: basic })).json;
  const listed = (await read("/v1/customers")) as { id: string; externalId: string }[];
  expect(listed.map(({ id }) => id).sort()).toEqual([idOf("returned"), idOf("ada"), own].sort());
  const customerOf = async (id = ""): Promise<string> => String((await read(`/v1/intents/${id}`)).customerId);
  // One name for all that was erased together.
  const nameless = await customerOf(gone[0]);
  expect([await customerOf(gone[1]), nameless.length]).toEqual([nameless, 36]);
  expect([idOf("gone"), await customerOf(returned[0])]).not.toContain(nameless);
  expect(await customerOf(returned[0])).not.toBe(idOf("returned"));
  expect([await customerOf(returned[1]), await customerOf(ada[0])]).toEqual([idOf("returned"), idOf("ada")]);
  const [their] = await rows("SELECT customer_id FROM ramp.intents WHERE id = $1", [theirs[0]]);
  expect([nameless, idOf("gone", other)]).not.toContain(their?.["customer_id"]);

  for (const table of ["intents", "requirements", "transactions", "refund_requests"])
    expect([table, await rows(`SELECT FROM ramp.${table} r WHERE r::text LIKE '%Grace%'`)]).toEqual([
      table,
      [],
    ]);
  const kept = await call(ramp.url, "GET", `/v1/intents/${gone[0] ?? ""}`, { auth: basic });
  expect(kept.json.transaction.context.refunds).toEqual([{ id: "r", amount: "1.00", reason: "" }]);

  const back = async (id: string) => {
    const { json } = await call(ramp.url, "POST", "/v1/customers", { auth: basic, body: { id } });
    const auth = `Bearer ${String(json.accessToken)}`;
    const { json: found } = await call(ramp.url, "GET", "/v1/intent", { auth });
    return [json.id, json.externalId, (found as { intent: { id: string } }[]).map(({ intent }) => intent.id)];
  };
  expect(await back("gone")).toEqual([idOf("gone"), "gone", []]);
  expect(await back("empty")).toEqual([idOf("empty"), "empty", []]);
  expect(await back("ada")).toEqual([idOf("ada"), "ada", ada]);
  expect(await back(own)).toEqual([own, own, []]);
  // The database does not know any more which id of the project's it had: the project erases it once more.
  const post = () => call(ramp.url, "POST", "/v1/customers", { auth: basic, body: { id: "returned" } });
  expect((await post()).json.error).toBe("CUSTOMER_ID_CONFLICT");
  await call(ramp.url, "DELETE", `/v1/customers/${idOf("returned")}`, { auth: basic });
  expect((await post()).json).toMatchObject({ id: idOf("returned"), externalId: "returned" });
});
