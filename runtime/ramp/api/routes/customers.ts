import type { Project } from "../../sign-in/project-credentials.js";
import { Type } from "@sinclair/typebox";
import type { IdempotentOperation, IsReplay, PreparedOperation } from "../../core/idempotency.js";
import {
  OF_PROJECT,
  ofProject,
  type PageRequest,
  type ProjectTransaction,
} from "../../database/ramp-database.js";
import { eraseCustomer } from "../../accounts/erase-customer.js";
import { audited } from "../../core/audit.js";
import { tokenExpiry } from "../../sign-in/customer-token.js";
import { tokenGeneration } from "../../sign-in/revocations.js";
import type { Subject } from "../../sign-in/subject-token.js";
import {
  type RampResponse,
  jsonResponse,
  isRampError,
  rampError,
  type RampError,
} from "../../core/ramp-errors.js";
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
    const entry = { actor: "project", action: "customer delete", projectId: caller.id };
    const outcome = await audited(
      ramp.database,
      { ...entry, intentId: null, note: null, arguments: { path } },
      () => ramp.database.asOperatorOf(caller.id, (tx) => eraseCustomer(tx, id)),
      (result) => result,
    );
    if (outcome === "unknown") return rampError("NOT_FOUND");
    return outcome === "open" ? rampError("CUSTOMER_HAS_OPEN_INTENTS") : { status: 204, body: "" };
  },
});

export const createCustomer = idempotentRoute("project", {
  method: "POST",
  path: "/v1/customers",
  summary: "Create a customer, or get the one with this id, with a fresh access token",
  body: CreateCustomerBody,
  response: { status: 201, schema: CustomerView, description: "The customer and an access token." },
  errors: ["INVALID_SUBJECT_TOKEN", "SUBJECT_TOKEN_REJECTED", "IDENTITY_CONFLICT"],
  work: (call) => new CustomerCreation(call),
});

/** The customer, its binding and the answer with the token are one transaction: there is nothing to finish later. */
class CustomerCreation implements IdempotentOperation {
  readonly #call: ProjectRequest<CreateCustomerBody>;

  constructor(call: ProjectRequest<CreateCustomerBody>) {
    this.#call = call;
  }

  async prepare(isReplay: IsReplay): Promise<PreparedOperation | RampError | "replay"> {
    const { ramp, caller, body } = this.#call;
    const tooLarge = metadataError(body.metadata);
    if (tooLarge) return tooLarge;
    const token = body.subject_token;
    if (token !== undefined && (await isReplay())) return "replay";
    const subject = token === undefined ? null : await ramp.subjectTokens.verify(caller.id, token);
    if (isRampError(subject)) return subject;
    const expiresAt = tokenExpiry(subject, caller, ramp.now());
    const customerId = customerIdOf(caller.id, body.id);
    // Here, where no connection is held: the key may have to be read.
    const sign = await ramp.customerTokens.signer();
    const tokenOf = (generation: number): string =>
      sign({ projectId: caller.id, customerId }, generation, expiresAt);
    return { resourceId: customerId, begin: (tx) => this.#begin(tx, customerId, subject, tokenOf) };
  }

  async #begin(
    tx: ProjectTransaction,
    id: string,
    subject: Subject | null,
    tokenOf: (generation: number) => string,
  ): Promise<RampResponse | RampError> {
    const { body, caller } = this.#call;
    const customer = await createOrGet(tx, { id, externalId: body.id, metadata: body.metadata ?? null });
    if (subject !== null && !(await bind(tx, id, subject))) return rampError("IDENTITY_CONFLICT");
    const accessToken = tokenOf(await tokenGeneration(tx, id));
    return jsonResponse(201, { ...customerView(customer, caller), accessToken });
  }

  finish(): Promise<RampResponse> {
    return Promise.reject(new Error("A customer's claim holds its answer from the start."));
  }
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
      call.caller.id,
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

async function exists(tx: ProjectTransaction, id: string): Promise<boolean> {
  return (await tx.row(`SELECT FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1`, [id])) !== null;
}

/** Customers, newest first; one more than `limit` when there are more. Null: `startingAfter` names none. */
async function listCustomers(
  tx: ProjectTransaction,
  { limit, startingAfter }: PageRequest,
  externalId: string | null,
): Promise<readonly CustomerRecord[] | null> {
  if (startingAfter !== null && !(await exists(tx, startingAfter.toLowerCase()))) return null;
  return tx.rows<CustomerRecord>(
    `SELECT ${COLUMNS} FROM ramp.customers WHERE ${OF_PROJECT} AND ($3::text IS NULL OR external_id = $3) AND ($1::text IS NULL OR (created_at, id) <
       (SELECT a.created_at, a.id FROM ramp.customers a WHERE ${ofProject("a")} AND a.id = $1))
     ORDER BY created_at DESC, id DESC LIMIT $2`,
    [startingAfter?.toLowerCase() ?? null, limit + 1, externalId],
  );
}

function customerView(customer: CustomerRecord, project: Project): CustomerView {
  const { id, externalId, metadata, createdAt, updatedAt } = customer;
  return {
    id,
    externalId,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    organizationId: project.organizationId,
    projectId: project.id,
    ...(metadata ? { metadata: { ...metadata } } : {}),
  };
}
