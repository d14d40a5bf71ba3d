import { Type } from "@sinclair/typebox";
import type {
  IdempotentOperation,
  IsReplay,
  PreparedOperation,
  StoreResponse,
} from "../../idempotency/idempotency.js";
import {
  type NewIntent,
  recordIntent,
  listIntents,
  readOwnIntent,
  requestCancel,
  readIntent,
} from "../../intents/intent-rows.js";
import { processLeased, type OnIdle } from "../../intents/process-intent.js";
import { type Intent, awaitsCompliance, isTerminal } from "../../intents/intent.js";
import { isUuid, newId, type ProjectId } from "../../database/id.js";
import type { ProjectTransaction } from "../../database/ramp-database.js";
import {
  type RampResponse,
  jsonResponse,
  isRampError,
  rampError,
  type RampError,
} from "../../ramp-errors.js";
import { checkRedirectOrigins, readSides } from "../intent-body.js";
import { continueIfFree, IntentAction } from "../intent-action.js";
import { routeIntent } from "../route-intent.js";
import { listAnswer, pageOf, UNKNOWN_START, intentEnvelope, transactionView } from "../intent-view.js";
import { type CustomerRequest, idempotentRoute, route } from "../route.js";
import {
  CreateIntentBody,
  PageQuery,
  EmptyBody,
  metadataError,
  ProjectIntentsQuery,
} from "../request-schemas.js";
import { IntentEnvelope, TransactionView, ProjectIntentView } from "../response-schemas.js";
import { failpoint } from "../../failpoints.js";
import { createPayment } from "../../intents/transitions.js";
import type { RampContext } from "../../context.js";
export const createIntent = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/intent",
  summary: "Create a payment intent",
  body: CreateIntentBody,
  answer: {
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
    "PROVIDER_NOT_AVAILABLE",
    "INVALID_QUOTE",
    "QUOTE_EXPIRED",
    "PROVIDER_UNAVAILABLE",
  ],
  work: (call) => new IntentCreation(call),
});

/** Records the intent, then onboards it, and executes it where that is wanted and nothing is outstanding. */
class IntentCreation implements IdempotentOperation {
  readonly #call: CustomerRequest<CreateIntentBody>;
  readonly #leaseOwner = newId();
  #begun: { readonly id: string; readonly intent: Promise<Intent> } | null = null;

  constructor(call: CustomerRequest<CreateIntentBody>) {
    this.#call = call;
  }

  async prepare(isReplay: IsReplay): Promise<PreparedOperation | RampError | "replay"> {
    const { ramp, caller, body } = this.#call;
    const refusal =
      metadataError(body.metadata) ?? (await checkRedirectOrigins(ramp, caller.projectId, body));
    if (refusal) return refusal;
    const sides = await readSides(ramp, caller, body);
    if (isRampError(sides)) return sides;
    const paymentRoute = await routeIntent(ramp, caller.projectId, { ...body, ...sides }, isReplay);
    if (paymentRoute === "replay" || isRampError(paymentRoute)) return paymentRoute;
    const intent: NewIntent = {
      id: newId(),
      customerId: caller.customerId,
      ...paymentRoute,
      autoExecute: body.autoExecute ?? false,
      onboardingRedirectUrl: body.onboardingRedirectUrl ?? null,
      checkoutRedirectUrl: body.checkoutRedirectUrl ?? null,
      metadata: body.metadata ?? null,
    };
    return { resourceId: intent.id, begin: (tx) => this.#begin(tx, intent) };
  }

  #begin(tx: ProjectTransaction, given: NewIntent): Promise<null> {
    const intent = recordIntent(tx, given, this.#leaseOwner, this.#call.ramp.polling);
    // Not awaited here, so that COMMIT is sent with it: if it fails, so does the transaction.
    intent.catch(() => undefined);
    this.#begun = { id: given.id, intent };
    return Promise.resolve(null);
  }

  async finish(id: string, store: StoreResponse): Promise<RampResponse> {
    const { ramp, caller } = this.#call;
    const settle: OnIdle<RampResponse> = (tx, intent) =>
      store(tx, jsonResponse(201, intentEnvelope(ramp, caller.projectId, intent)));
    const begun = this.#begun?.id === id ? await this.#begun.intent : null;
    if (begun) return processLeased(ramp, caller.projectId, begun, this.#leaseOwner, settle);
    return continueIfFree(ramp, caller.projectId, id, this.#leaseOwner, settle);
  }
}

export const getIntents = route("customer", {
  method: "GET",
  path: "/v1/intent",
  summary: "List the customer's intents, newest first",
  query: PageQuery,
  answer: { status: 200, schema: Type.Array(Type.Ref("IntentEnvelope")), description: "Intents." },
  errors: [],
  async handle({ ramp, caller, query, path }) {
    const page = pageOf(query);
    if (page.startingAfter !== null && !isUuid(page.startingAfter)) return UNKNOWN_START;
    const found = await ramp.database.inProject(caller.projectId, (tx) =>
      listIntents(tx, { customerId: caller.customerId }, page),
    );
    if (found === null) return UNKNOWN_START;
    const shown = found.slice(0, page.limit);
    const view = shown.map((intent) => intentEnvelope(ramp, caller.projectId, intent));
    return listAnswer(found, page, path, view);
  },
});

export const getIntent = route("customer", {
  method: "GET",
  path: "/v1/intent/{id}",
  summary: "Get an intent",
  answer: {
    status: 200,
    schema: IntentEnvelope,
    description: "The intent, and its transaction once there is one.",
  },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters }) {
    const id = parameters["id"] ?? "";
    if (!isUuid(id)) return rampError("NOT_FOUND");
    const intent = await ramp.database.inProject(caller.projectId, (tx) =>
      readOwnIntent(tx, caller.customerId, id),
    );
    return intent === null
      ? rampError("NOT_FOUND")
      : jsonResponse(200, intentEnvelope(ramp, caller.projectId, intent));
  },
});

export const executeTransaction = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/intent/{id}/transaction",
  summary: "Execute the intent's transaction",
  description: "Takes no body. An intent has one transaction, for life.",
  body: EmptyBody,
  answer: {
    status: 202,
    schema: TransactionView,
    description: "The transaction, with what the customer has to do.",
  },
  errors: ["NOT_FOUND", "COMPLIANCE_NOT_COMPLETE", "TRANSACTION_EXISTS", "INTENT_CLOSED"],
  work: (call) =>
    new IntentAction(call, {
      record(tx, intent) {
        if (intent.transaction !== null) return rampError("TRANSACTION_EXISTS");
        if (awaitsCompliance(intent.status)) return rampError("COMPLIANCE_NOT_COMPLETE");
        if (intent.status !== "PENDING_PAYMENT" || intent.expiresAt <= call.ramp.now())
          return rampError("INTENT_CLOSED");
        return createPayment(tx, intent);
      },
      recorded: () => failpoint("execution.opened"),
      answer({ transaction }) {
        if (transaction === null) throw new Error("The transaction was not created.");
        return jsonResponse(202, transactionView(transaction));
      },
    }),
});

export const getTransaction = route("customer", {
  method: "GET",
  path: "/v1/intent/{id}/transaction",
  summary: "Get the intent's transaction",
  answer: { status: 200, schema: TransactionView, description: "The transaction." },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters }) {
    const id = parameters["id"] ?? "";
    if (!isUuid(id)) return rampError("NOT_FOUND");
    const intent = await ramp.database.inProject(caller.projectId, (tx) =>
      readOwnIntent(tx, caller.customerId, id),
    );
    return intent?.transaction
      ? jsonResponse(200, transactionView(intent.transaction))
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
  answer: {
    status: 202,
    schema: IntentEnvelope,
    description: "The intent: CANCELLED, or as it is while the provider decides.",
  },
  errors: ["NOT_FOUND", "INTENT_CLOSED"],
  work: (call) =>
    new IntentAction(call, {
      record: (tx, intent) =>
        isTerminal(intent.status) ? rampError("INTENT_CLOSED") : requestCancel(tx, intent),
      answer: (intent) => jsonResponse(202, intentEnvelope(call.ramp, call.caller.projectId, intent)),
    }),
});

export const getProjectIntents = route("project", {
  method: "GET",
  path: "/v1/intents",
  summary: "List the project's intents, newest first",
  description:
    "With `updatedSince`, poll for changes: intents whose status, transaction or requirements changed since.",
  query: ProjectIntentsQuery,
  answer: { status: 200, schema: Type.Array(Type.Ref("ProjectIntent")), description: "Intents." },
  errors: [],
  async handle({ ramp, caller, query, path }) {
    const page = pageOf(query);
    if (page.startingAfter !== null && !isUuid(page.startingAfter)) return UNKNOWN_START;
    const { customerId, status, updatedSince } = query;
    const found = await ramp.database.inProject(caller.id, (tx) =>
      listIntents(tx, { customerId: customerId?.toLowerCase(), status, updatedSince }, page),
    );
    if (found === null) return UNKNOWN_START;
    const view = found.slice(0, page.limit).map((intent) => projectIntentView(ramp, caller.id, intent));
    return listAnswer(found, page, path, view, { customerId, status, updatedSince });
  },
});

export const getProjectIntent = route("project", {
  method: "GET",
  path: "/v1/intents/{id}",
  summary: "Get one of the project's intents",
  answer: { status: 200, schema: ProjectIntentView, description: "The intent." },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters }) {
    const id = parameters["id"] ?? "";
    const intent = isUuid(id) ? await ramp.database.inProject(caller.id, (tx) => readIntent(tx, id)) : null;
    return intent === null
      ? rampError("NOT_FOUND")
      : jsonResponse(200, projectIntentView(ramp, caller.id, intent));
  },
});

function projectIntentView(ramp: RampContext, projectId: ProjectId, intent: Intent): ProjectIntentView {
  return { ...intentEnvelope(ramp, projectId, intent), customerId: intent.customerId };
}
