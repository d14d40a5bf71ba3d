import type { Project } from "../../sign-in/project-credentials.js";
import { Type } from "@sinclair/typebox";
import type { IsReplay, Preparation } from "../../core/idempotency.js";
import {
  OF_PROJECT,
  ofProject,
  type PageRequest,
  type ProjectTransaction,
} from "../../database/ramp-database.js";
import { audited } from "../../core/audit.js";
import { REVOKE_TOKENS, tokenExpiry, tokenGeneration } from "../../sign-in/customer-token.js";
import type { Subject } from "../../sign-in/subject-token.js";
import { isRampError, jsonResponse, type RampAnswer, rampError } from "../../core/ramp-errors.js";
import { listResponse } from "../intent-view.js";
import { idempotentRoute, type ProjectRequest, route } from "../route.js";
import { CreateCustomerBody, CustomersQuery, metadataError } from "../request-schemas.js";
import { CustomerView } from "../response-schemas.js";
import { customerIdOf } from "../../database/id.js";
import { randomUUID } from "node:crypto";

export const deleteCustomer = route("project", {
  method: "DELETE",
  path: "/v1/customers/{id}",
  summary: "Erase a customer's personal data",
  description: "Intents keep amounts, states and receipts. A customer with open intents is not deleted.",
  response: { status: 204, schema: null, description: "Erased." },
  errors: ["NOT_FOUND", "CUSTOMER_HAS_OPEN_INTENTS"],
  async handle({ ramp, caller, parameters, path }) {
    const id = (parameters["id"] ?? "").toLowerCase();
    const entry = { actor: "project", action: "customer delete", projectId: caller.projectId };
    const outcome = await audited(
      ramp.database,
      { ...entry, intentId: null, note: null, arguments: { path } },
      () => ramp.database.asOperatorOf(caller.projectId, (tx) => eraseCustomer(tx, id)),
      (result) => result,
    );
    if (outcome === "unknown") return rampError("NOT_FOUND");
    return outcome === "open" ? rampError("CUSTOMER_HAS_OPEN_INTENTS") : { status: 204, body: "" };
  },
});

/** What holds personal data of the customer `$1`; amounts, states and receipts stay. */
const OF_CUSTOMER = `intent_id IN (SELECT id FROM ramp.intents WHERE ${OF_PROJECT} AND customer_id = $1)`;
const ERASE = [
  // First, and without the lease: a look-up under way records nothing after it.
  `UPDATE ramp.intents SET src_details = '{}', dest_details = '{}', metadata = NULL, onboarding_order = NULL,
     onboarding_redirect_url = NULL, checkout_redirect_url = NULL, lease_owner = NULL, lease_expires_at = NULL,
     next_poll_at = CASE WHEN next_poll_at IS NOT NULL THEN now() END WHERE ${OF_PROJECT} AND customer_id = $1`,
  `DELETE FROM ramp.webhook_deliveries WHERE ${OF_PROJECT} AND event_id IN
     (SELECT id FROM ramp.events WHERE ${OF_PROJECT} AND ${OF_CUSTOMER})`,
  `DELETE FROM ramp.events WHERE ${OF_PROJECT} AND ${OF_CUSTOMER}`,
  `DELETE FROM ramp.provider_answers WHERE ${OF_PROJECT} AND ${OF_CUSTOMER}`,
  `UPDATE ramp.transactions SET instructions = '[]', order_body = NULL WHERE ${OF_PROJECT} AND ${OF_CUSTOMER}`,
  `DELETE FROM ramp.idempotency_claims WHERE ${OF_PROJECT} AND (resource_id = $1 OR resource_id IN
     (SELECT id::text FROM ramp.intents WHERE ${OF_PROJECT} AND customer_id = $1))`,
  `DELETE FROM ramp.external_accounts WHERE ${OF_PROJECT} AND customer_id = $1`,
  `DELETE FROM ramp.customer_identities WHERE ${OF_PROJECT} AND customer_id = $1`,
  REVOKE_TOKENS,
  `UPDATE ramp.customers SET external_id = id, metadata = NULL, updated_at = now() WHERE ${OF_PROJECT} AND id = $1`,
] as const;

/** Erases a customer's personal data, unless it has open intents. */
async function eraseCustomer(tx: ProjectTransaction, id: string): Promise<"erased" | "unknown" | "open"> {
  // Locked, so that no intent is created meanwhile.
  const customer = await tx.row(`SELECT id FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1 FOR UPDATE`, [
    id,
  ]);
  if (customer === null) return "unknown";
  const open = await tx.row(
    `SELECT id FROM ramp.intents WHERE ${OF_PROJECT} AND customer_id = $1 AND NOT is_ended LIMIT 1`,
    [id],
  );
  if (open !== null) return "open";
  for (const statement of ERASE) tx.write(statement, [id]);
  return "erased";
}

export const createCustomer = idempotentRoute("project", {
  method: "POST",
  path: "/v1/customers",
  summary: "Create a customer, or get the one with this id, with a fresh access token",
  body: CreateCustomerBody,
  response: { status: 201, schema: CustomerView, description: "The customer and an access token." },
  errors: ["INVALID_SUBJECT_TOKEN", "SUBJECT_TOKEN_REJECTED", "IDENTITY_CONFLICT"],
  work: (call) => ({ prepare: (isReplay) => prepareCustomer(call, isReplay) }),
});

/** The customer, its binding and the answer with the token are one transaction. */
async function prepareCustomer(
  { ramp, caller, body }: ProjectRequest<CreateCustomerBody>,
  isReplay: IsReplay,
): Promise<Preparation> {
  const tooLarge = metadataError(body.metadata);
  if (tooLarge) return tooLarge;
  const { id: externalId, subject_token: token, metadata = null } = body;
  if (token !== undefined && (await isReplay())) return "replay";
  const subject = token === undefined ? null : await ramp.subjectTokens.verify(caller.projectId, token);
  if (isRampError(subject)) return subject;
  const expiresAt = tokenExpiry(subject, caller, ramp.now());
  const id = customerIdOf(caller.projectId, externalId);
  // Here, where no connection is held: the key may have to be read.
  const sign = await ramp.customerTokens.signer();
  const begin = async (tx: ProjectTransaction): Promise<RampAnswer> => {
    const customer = await createOrGet(tx, { id, externalId, metadata });
    if (subject !== null && !(await bind(tx, id, subject))) return rampError("IDENTITY_CONFLICT");
    const generation = await tokenGeneration(tx, id);
    const accessToken = sign({ projectId: caller.projectId, customerId: id }, generation, expiresAt);
    return jsonResponse(201, { ...customerView(customer, caller), accessToken });
  };
  return { resourceId: id, begin };
}

export const getCustomers = route("project", {
  method: "GET",
  path: "/v1/customers",
  summary: "List the project's customers, newest first",
  query: CustomersQuery,
  response: {
    status: 200,
    schema: Type.Array(Type.Ref("Customer")),
    description: "Customers, without tokens.",
  },
  errors: [],
  handle: (call) =>
    listResponse(
      call,
      (tx, page) => listCustomers(tx, page, call.query.externalId ?? null),
      (customer) => customerView(customer, call.caller),
    ),
});

interface CustomerRecord {
  readonly id: string;
  /** The caller's own id. */
  readonly externalId: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const COLUMNS = `id, external_id AS "externalId", metadata, created_at AS "createdAt", updated_at AS "updatedAt"`;

/** Creates the customer or gets the existing one; given metadata replaces the stored one. */
async function createOrGet(
  tx: ProjectTransaction,
  { id, externalId, metadata }: Pick<CustomerRecord, "id" | "externalId" | "metadata">,
): Promise<CustomerRecord> {
  const { now } = tx;
  const customer = await tx.row<CustomerRecord>(
    `INSERT INTO ramp.customers AS c (id, reference, metadata, created_at, updated_at, external_id) VALUES ($1, $2, $3, $4, $4, $5)
     ON CONFLICT (project_id, id) DO UPDATE SET metadata = COALESCE(excluded.metadata, c.metadata),
       updated_at = CASE WHEN excluded.metadata IS DISTINCT FROM c.metadata AND excluded.metadata IS NOT NULL THEN $4 ELSE c.updated_at END
     RETURNING ${COLUMNS}`,
    [id, randomUUID(), metadata === null ? null : JSON.stringify(metadata), now, externalId],
  );
  if (customer === null) throw new Error("The customer was not stored.");
  return customer;
}

/** Binds a customer and an identity provider's user to each other; false when one of them is bound to another. */
async function bind(
  tx: ProjectTransaction,
  customerId: string,
  { issuer, subject, isWallet }: Subject,
): Promise<boolean> {
  tx.write(
    "INSERT INTO ramp.customer_identities (customer_id, issuer, subject, is_wallet) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    [customerId, issuer, subject, isWallet],
  );
  const bound = await tx.row(
    `SELECT FROM ramp.customer_identities WHERE ${OF_PROJECT} AND customer_id = $1 AND issuer = $2 AND subject = $3`,
    [customerId, issuer, subject],
  );
  return bound !== null;
}

/** Customers, newest first; one more than `limit` when there are more. Null: `startingAfter` names none. */
async function listCustomers(
  tx: ProjectTransaction,
  { limit, startingAfter }: PageRequest,
  externalId: string | null,
): Promise<readonly CustomerRecord[] | null> {
  const after = startingAfter?.toLowerCase() ?? null;
  const isKnown =
    after === null || (await tx.row(`SELECT FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1`, [after]));
  if (!isKnown) return null;
  return tx.rows<CustomerRecord>(
    `SELECT ${COLUMNS} FROM ramp.customers WHERE ${OF_PROJECT} AND ($3::text IS NULL OR external_id = $3) AND ($1::text IS NULL OR (created_at, id) <
       (SELECT a.created_at, a.id FROM ramp.customers a WHERE ${ofProject("a")} AND a.id = $1))
     ORDER BY created_at DESC, id DESC LIMIT $2`,
    [after, limit + 1, externalId],
  );
}

function customerView({ metadata, ...customer }: CustomerRecord, project: Project): CustomerView {
  const { organizationId, projectId } = project;
  return { ...customer, organizationId, projectId, ...(metadata && { metadata: { ...metadata } }) };
}
