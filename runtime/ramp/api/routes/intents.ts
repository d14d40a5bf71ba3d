import { listOf, named, type ValueOf } from "@routewright/runtime/internal/core/model/schema.js";
import { listIntents, readIntent, requestCancel } from "../../intents/intent-rows.js";
import { type Intent, awaitsCompliance, isTerminal } from "../../intents/intent.js";
import { isUuid } from "../../database/id.js";
import { errorAt, jsonResponse, rampError } from "../../core/ramp-errors.js";
import { intentAction, intentCreation } from "../intent-operations.js";
import { listResponse, intentEnvelope, projectIntentView, transactionView } from "../intent-view.js";
import { type CustomerRequest, idempotentRoute, type ProjectRequest, route } from "../route.js";
import { acceptPrice } from "../../intents/new-price.js";
import {
  AcceptPriceBody,
  CreateIntentBody,
  PageQuery,
  EmptyBody,
  ProjectIntentsQuery,
} from "../request-schemas.js";
import { IntentEnvelope, TransactionView, ProjectIntentView } from "../response-schemas.js";
import { failpoint } from "../../core/failpoints.js";
import { intentClosed } from "../../intents/intent-closed.js";
import { makePayment } from "../../intents/payment.js";
import type { Customer } from "../../sign-in/customer-token.js";
import type { Project } from "../../sign-in/project-credentials.js";

export const createIntent = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/intent",
  summary: "Create a payment intent",
  body: CreateIntentBody,
  response: {
    status: 201,
    schema: IntentEnvelope,
    description: "The intent; with its transaction when that was executed at once.",
  },
  errors: [
    "UNKNOWN_CURRENCY",
    "UNKNOWN_COUNTRY",
    "INVALID_AMOUNT",
    "INVALID_ACCOUNT_DETAILS",
    "UNSUPPORTED_PATH",
    "AMOUNT_TOO_SMALL",
    "AMOUNT_TOO_LARGE",
    "PROVIDER_NOT_AVAILABLE",
    "PROVIDER_UNAVAILABLE",
    "NOT_FOUND",
    "QUOTE_MISMATCH",
    "QUOTE_EXPIRED",
    "QUOTE_USED",
  ],
  work: intentCreation,
});

export const getIntents = route("customer", {
  method: "GET",
  path: "/v1/intent",
  summary: "List the customer's intents, newest first",
  query: PageQuery,
  response: { status: 200, schema: listOf(named("IntentEnvelope")), description: "Intents." },
  errors: [],
  handle: (call) =>
    listResponse(
      call,
      (tx, page) => listIntents(tx, { customerId: call.caller.customerId }, page),
      (intent) => intentEnvelope(call.ramp, intent),
    ),
});

export const getIntent = route("customer", {
  method: "GET",
  path: "/v1/intent/{id}",
  summary: "Get an intent",
  response: {
    status: 200,
    schema: IntentEnvelope,
    description: "The intent, and its transaction once there is one.",
  },
  errors: ["NOT_FOUND"],
  async handle(call) {
    const intent = await findIntent(call);
    return intent === null ? rampError("NOT_FOUND") : jsonResponse(200, intentEnvelope(call.ramp, intent));
  },
});

/** The caller's intent that the path names; null if there is none. */
async function findIntent(call: CustomerRequest | ProjectRequest): Promise<Intent | null> {
  const { ramp, caller, parameters } = call;
  const { id = "" } = parameters;
  const { projectId, customerId }: Pick<Project, "projectId"> & Partial<Customer> = caller;
  return isUuid(id) ? ramp.database.inProject(projectId, (tx) => readIntent(tx, id, customerId)) : null;
}

export const executeTransaction = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/intent/{id}/transaction",
  summary: "Execute the intent's transaction",
  description:
    "Takes no body. An intent has one transaction, for life. Where the provider no longer holds its price and the one of now is worse, that is `newPrice` (`PRICE_CHANGED`).",
  body: EmptyBody,
  response: {
    status: 202,
    schema: TransactionView,
    description: "The transaction, with what the customer has to do.",
  },
  errors: [
    "NOT_FOUND",
    "COMPLIANCE_NOT_COMPLETE",
    "TRANSACTION_EXISTS",
    "INTENT_CLOSED",
    "PRICE_CHANGED",
    "PROVIDER_UNAVAILABLE",
  ],
  work: (call) =>
    intentAction(call, {
      isPayment: true,
      record(tx, intent, terms) {
        if (intent.transaction !== null) return rampError("TRANSACTION_EXISTS");
        if (awaitsCompliance(intent.status)) return rampError("COMPLIANCE_NOT_COMPLETE");
        if (intent.status !== "PENDING_PAYMENT" || intent.expiresAt <= intent.readAt)
          return intentClosed(intent);
        const made = makePayment(tx, intent, terms);
        if (made === null) return rampError("PROVIDER_UNAVAILABLE");
        return made.transaction === null ? rampError("PRICE_CHANGED") : made;
      },
      recorded: () => failpoint("execution.opened"),
      answer(intent) {
        if (intent.transaction === null) throw new Error("The transaction was not created.");
        return jsonResponse(202, transactionView(call.ramp, intent, intent.transaction));
      },
    }),
});

export const getTransaction = route("customer", {
  method: "GET",
  path: "/v1/intent/{id}/transaction",
  summary: "Get the intent's transaction",
  response: { status: 200, schema: TransactionView, description: "The transaction." },
  errors: ["NOT_FOUND"],
  async handle(call) {
    const intent = await findIntent(call);
    return intent?.transaction
      ? jsonResponse(200, transactionView(call.ramp, intent, intent.transaction))
      : rampError("NOT_FOUND");
  },
});

export const cancelIntent = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/intent/{id}/cancel",
  summary: "Cancel an intent",
  description:
    "Takes no body. Once the order is at the provider, the provider decides: a payment that it has received is carried out, as the status then shows.",
  body: EmptyBody,
  response: {
    status: 202,
    schema: IntentEnvelope,
    description: "The intent: CANCELLED, or as it is while the provider decides.",
  },
  errors: ["NOT_FOUND", "INTENT_CLOSED"],
  work: (call) =>
    intentAction(call, {
      record: (tx, intent) =>
        isTerminal(intent.status) || intent.status === "AMOUNT_MISMATCH"
          ? intentClosed(intent)
          : requestCancel(tx, intent),
      answer: (intent) => jsonResponse(202, intentEnvelope(call.ramp, intent)),
    }),
});

export const acceptNewPrice = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/intent/{id}/quote",
  summary: "Accept the new price of an intent",
  description:
    "Where the provider no longer holds the intent's price: `newPrice` of the intent, before its `expiresAt`.",
  body: AcceptPriceBody,
  response: { status: 202, schema: IntentEnvelope, description: "The intent at the new price." },
  errors: ["NOT_FOUND", "QUOTE_EXPIRED", "INTENT_CLOSED"],
  work: (call: CustomerRequest<ValueOf<typeof AcceptPriceBody>>) =>
    intentAction(call, {
      record: (tx, intent) => acceptPrice(tx, intent, call.body.quoteId),
      answer: (intent) => jsonResponse(202, intentEnvelope(call.ramp, intent)),
    }),
});

export const getProjectIntents = route("project", {
  method: "GET",
  path: "/v1/intents",
  summary: "List the project's intents, newest first",
  description:
    "By the time of their creation: `createdSince`, `createdUntil`, `order`. With `updatedSince`, poll for changes: intents whose status, transaction or requirements changed at or after a time, in the order of their last changes. Keep the highest `updatedAt` that you have seen: the next poll from it misses none. Follow the `Link` to more: a page of a list ends at 1 MiB too; `starting_after` is for lists without `updatedSince`.",
  query: ProjectIntentsQuery,
  response: { status: 200, schema: listOf(named("ProjectIntent")), description: "Intents." },
  errors: [],
  async handle(call) {
    const { customerId, status, createdSince, createdUntil, updatedSince, order } = call.query;
    const { starting_after: start } = call.query;
    // An item that changes meanwhile moves to the end: no page begins after it.
    if (updatedSince !== undefined && start !== undefined)
      return errorAt("INVALID_REQUEST", "/starting_after", "is not for changes: follow the Link");
    if (updatedSince !== undefined && order !== undefined)
      return errorAt("INVALID_REQUEST", "/order", "is not for changes, which are oldest first");
    const times = { createdSince, createdUntil, updatedSince };
    const filter = {
      customerId: customerId?.toLowerCase(),
      status,
      order,
      ...times,
      needsAttention: call.query.attention === "true",
    };
    return listResponse(
      call,
      (tx, page) => listIntents(tx, filter, page),
      (intent) => projectIntentView(call.ramp, intent),
      updatedSince === undefined ? undefined : ({ nextChange }) => ({ updatedSince: nextChange }),
    );
  },
});

export const getProjectIntent = route("project", {
  method: "GET",
  path: "/v1/intents/{id}",
  summary: "Get one of the project's intents",
  response: { status: 200, schema: ProjectIntentView, description: "The intent." },
  errors: ["NOT_FOUND"],
  async handle(call) {
    const intent = await findIntent(call);
    return intent === null ? rampError("NOT_FOUND") : jsonResponse(200, projectIntentView(call.ramp, intent));
  },
});
