import { listOf, named } from "@routewright/runtime/internal/core/model/schema.js";
import type { Project } from "../../sign-in/project-credentials.js";
import type { IsReplay, Preparation } from "../../core/idempotency.js";
import type { PageRequest } from "../../database/ramp-database.js";
import { OF_PROJECT, ofProject, type ProjectTransaction } from "../../database/transaction.js";
import { audited } from "../../core/audit.js";
import { tokenExpiry, tokenGeneration } from "../../sign-in/customer-token.js";
import { acceptsSubject, type TokenSubject } from "../../sign-in/subject-token.js";
import { authorize } from "../authenticate.js";
import { eraseCustomer } from "../erase-customer.js";
import { isRampError, jsonResponse, type RampAnswer, rampError } from "../../core/ramp-errors.js";
import { listResponse } from "../intent-view.js";
import { idempotentRoute, type ProjectRequest, route } from "../route.js";
import { JsonText } from "../../core/exact-json.js";
import { CreateCustomerBody, CustomersQuery, readMetadata } from "../request-schemas.js";
import { CustomerView } from "../response-schemas.js";
import { customerIdOf } from "../../database/id.js";
import { randomUUID } from "node:crypto";

export const deleteCustomer = route("project", {
  method: "DELETE",
  path: "/v1/customers/{id}",
  summary: "Erase a customer's personal data",
  description:
    "Intents keep amounts, states and receipts. A customer with open intents, or with a refund on its way, is not deleted.",
  response: { status: 204, schema: null, description: "Erased." },
  errors: ["NOT_FOUND", "CUSTOMER_HAS_OPEN_INTENTS"],
  async handle({ ramp, caller, parameters, path }) {
    const id = (parameters["id"] ?? "").toLowerCase();
    const entry = { actor: "project", action: "customer delete", projectId: caller.projectId };
    const refused = await audited(
      ramp.database,
      { ...entry, intentId: null, note: null, arguments: { path } },
      () =>
        ramp.database.asOperatorOf(
          caller.projectId,
          async (tx) => (await authorize(tx, caller)) ?? (await eraseCustomer(tx, id)),
        ),
      (result) => result?.error ?? "erased",
    );
    return refused ?? { status: 204, body: "" };
  },
});

export const getCustomer = route("project", {
  method: "GET",
  path: "/v1/customers/{id}",
  summary: "Get a customer",
  response: { status: 200, schema: CustomerView, description: "The customer, without a token." },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters: { id = "" } }) {
    const found = await ramp.database
      .of(caller.projectId)
      .row<CustomerRecord>(
        `SELECT ${COLUMNS} FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1 AND erased_at IS NULL`,
        [id.toLowerCase()],
      );
    return found === null ? rampError("NOT_FOUND") : jsonResponse(200, customerView(found, caller));
  },
});

export const createCustomer = idempotentRoute("project", {
  method: "POST",
  path: "/v1/customers",
  summary: "Create a customer, or get the one with this id, with a fresh access token",
  body: CreateCustomerBody,
  response: { status: 201, schema: CustomerView, description: "The customer and an access token." },
  errors: ["INVALID_SUBJECT_TOKEN", "SUBJECT_TOKEN_REJECTED", "IDENTITY_CONFLICT", "CUSTOMER_ID_CONFLICT"],
  work: (call) => ({ prepare: (isReplay) => prepareCustomer(call, isReplay) }),
});

/** The customer, its binding and the answer with the token are one transaction. */
async function prepareCustomer(
  { ramp, caller, body, text }: ProjectRequest<CreateCustomerBody>,
  isReplay: IsReplay,
): Promise<Preparation> {
  const metadata = readMetadata(text);
  if (isRampError(metadata)) return metadata;
  const { id: externalId, subject_token: token } = body;
  if (token !== undefined && (await isReplay())) return "replay";
  const subject = token === undefined ? null : await ramp.subjectTokens.verify(caller.projectId, token);
  if (isRampError(subject)) return subject;
  const expiresAt = tokenExpiry(subject, caller, ramp.now());
  const id = customerIdOf(caller.projectId, externalId);
  // Here, where no connection is held: the key may have to be read.
  const sign = await ramp.customerTokens.signer();
  const begin = async (tx: ProjectTransaction): Promise<RampAnswer> => {
    const customer = await createOrGet(tx, { id, externalId, metadata: metadata?.text ?? null });
    if (customer === null) return rampError("CUSTOMER_ID_CONFLICT");
    if (subject !== null && !(await acceptsSubject(tx, subject))) return rampError("SUBJECT_TOKEN_REJECTED");
    if (subject !== null && !(await bind(tx, id, subject))) return rampError("IDENTITY_CONFLICT");
    const generation = await tokenGeneration(tx, id);
    const accessToken = sign({ projectId: caller.projectId, customerId: id, generation }, expiresAt);
    return jsonResponse(201, { ...customerView(customer, caller), accessToken });
  };
  const lock = (tx: ProjectTransaction) =>
    tx.write(`SELECT FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1 FOR NO KEY UPDATE`, [id]);
  return { resourceId: id, lock, begin };
}

export const getCustomers = route("project", {
  method: "GET",
  path: "/v1/customers",
  summary: "List the project's customers, newest first",
  query: CustomersQuery,
  response: {
    status: 200,
    schema: listOf(named("Customer")),
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
  /** A JSON text. */
  readonly metadata: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const COLUMNS = `id, external_id AS "externalId", metadata::text AS metadata, created_at AS "createdAt", updated_at AS "updatedAt"`;

/**
 * Creates the customer or gets the existing one; given metadata replaces the stored one. Null: the id belongs to a customer with another
 * id of the caller's, or to a nameless one. An id that is a UUID can be the one that is computed of another id.
 */
async function createOrGet(
  tx: ProjectTransaction,
  { id, externalId, metadata }: Pick<CustomerRecord, "id" | "externalId" | "metadata">,
): Promise<CustomerRecord | null> {
  const { now } = tx;
  return tx.row<CustomerRecord>(
    `INSERT INTO ramp.customers AS c (id, reference, metadata, created_at, updated_at, external_id) VALUES ($1, $2, $3, $4, $4, $5)
     ON CONFLICT (project_id, id) DO UPDATE SET metadata = COALESCE(excluded.metadata, c.metadata),
       updated_at = CASE WHEN excluded.metadata IS DISTINCT FROM c.metadata AND excluded.metadata IS NOT NULL THEN $4 ELSE c.updated_at END
     WHERE c.erased_at IS NULL AND (excluded.external_id = c.external_id OR c.id = ALL (ARRAY[lower(excluded.external_id), lower(c.external_id)]))
     RETURNING ${COLUMNS}`,
    [id, randomUUID(), metadata, now, externalId],
  );
}

/** Binds a customer and an identity provider's user to each other; false when one of them is bound to another. */
async function bind(
  tx: ProjectTransaction,
  customerId: string,
  { issuer, subject, isWallet }: TokenSubject,
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
    `SELECT ${COLUMNS} FROM ramp.customers WHERE ${OF_PROJECT} AND erased_at IS NULL AND ($3::text IS NULL OR external_id = $3) AND ($1::text IS NULL OR (created_at, id) <
       (SELECT a.created_at, a.id FROM ramp.customers a WHERE ${ofProject("a")} AND a.id = $1))
     ORDER BY created_at DESC, id DESC LIMIT $2`,
    [after, limit + 1, externalId],
  );
}

function customerView({ metadata, ...customer }: CustomerRecord, project: Project): CustomerView {
  const { organizationId, projectId } = project;
  return { ...customer, organizationId, projectId, ...(metadata && { metadata: new JsonText(metadata) }) };
}
