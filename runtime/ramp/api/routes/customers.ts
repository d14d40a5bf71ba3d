import { Type } from "@sinclair/typebox";
import { bind, createOrGet, listCustomers } from "../../customer/customer.js";
import type { Start, Work } from "../../idempotency/run.js";
import type { ProjectTransaction } from "../../store/database.js";
import { PLAIN_LIFETIME_SECONDS } from "../../token/customer-token.js";
import type { Subject } from "../../token/subject-token.js";
import { type Answer, json } from "../answer.js";
import { isRefusal, refuse, type Refusal } from "../errors.js";
import { listAnswer, pageOf, UNKNOWN_START } from "../page.js";
import { onceRoute, type ProjectCall, route } from "../route.js";
import { CreateCustomerBody, CustomerView, PageQuery } from "../schemas.js";
import { customerView } from "../views.js";

export const createCustomer = onceRoute("project", {
  method: "POST",
  path: "/v1/customers",
  summary: "Create a customer, or get the one with this id, with a fresh access token",
  body: CreateCustomerBody,
  answer: { status: 201, schema: CustomerView, description: "The customer and an access token." },
  refusals: ["INVALID_SUBJECT_TOKEN", "SUBJECT_TOKEN_REJECTED", "IDENTITY_CONFLICT"],
  work: (call) => new CustomerCreation(call),
});

/** The customer, its binding and the answer with the token are one transaction: there is nothing to finish later. */
class CustomerCreation implements Work {
  readonly #call: ProjectCall<CreateCustomerBody>;

  constructor(call: ProjectCall<CreateCustomerBody>) {
    this.#call = call;
  }

  async prepare(): Promise<Start | Refusal> {
    const { ramp, caller, body } = this.#call;
    const token = body.subject_token;
    const subject = token === undefined ? null : await ramp.subjectTokens.verify(caller.id, token);
    if (isRefusal(subject)) return subject;
    // Signed here, where no connection is held: the key may have to be read.
    const expiresAt = expiryOf(subject, caller.tokenTtlSeconds, ramp.now());
    const accessToken = await ramp.customerTokens.sign(
      { projectId: caller.id, customerId: body.id },
      expiresAt,
    );
    return { resourceId: body.id, begin: (tx) => this.#begin(tx, subject, accessToken) };
  }

  async #begin(
    tx: ProjectTransaction,
    subject: Subject | null,
    accessToken: string,
  ): Promise<Answer | Refusal> {
    const { body, caller } = this.#call;
    const customer = await createOrGet(tx, body.id, body.metadata ?? null);
    if (subject !== null && !(await bind(tx, body.id, subject))) return refuse("IDENTITY_CONFLICT");
    return json(201, { ...customerView(customer, caller), accessToken });
  }

  finish(): Promise<Answer> {
    return Promise.reject(new Error("A customer's claim holds its answer from the start."));
  }
}

/** Seconds since 1970 (ramp-api.md §5, rule 2). */
function expiryOf(subject: Subject | null, ttlSeconds: number, now: Date): number {
  if (subject !== null) return subject.expiresAt + ttlSeconds;
  return Math.floor(now.getTime() / 1000) + PLAIN_LIFETIME_SECONDS;
}

export const getCustomers = route("project", {
  method: "GET",
  path: "/v1/customers",
  summary: "List the project's customers, newest first",
  query: PageQuery,
  answer: {
    status: 200,
    schema: Type.Array(Type.Ref("Customer")),
    description: "Customers, without tokens.",
  },
  refusals: [],
  async handle({ ramp, caller, query, path }) {
    const page = pageOf(query);
    const found = await ramp.database.inProject(caller.id, (tx) => listCustomers(tx, page));
    if (found === null) return UNKNOWN_START;
    const view = found.slice(0, page.limit).map((customer) => customerView(customer, caller));
    return listAnswer(found, page, path, view);
  },
});
