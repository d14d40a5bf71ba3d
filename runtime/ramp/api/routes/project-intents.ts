import { listOf, named, type ValueOf } from "@routewright/runtime/internal/core/model/schema.js";
import { recordAudited } from "../../core/audit.js";
import type { IdempotentOperation } from "../../core/idempotency.js";
import {
  isRampError,
  jsonResponse,
  type RampAnswer,
  type RampError,
  rampError,
} from "../../core/ramp-errors.js";
import { isUuid } from "../../database/id.js";
import type { PageRequest } from "../../database/ramp-database.js";
import type { ProjectTransaction } from "../../database/transaction.js";
import { decideCancel, decideEnd, decideRefund, decideRefundCancel } from "../../intents/decisions.js";
import type { Intent } from "../../intents/intent.js";
import { acceptPrice } from "../../intents/new-price.js";
import { lockIntent, readIntent } from "../../intents/intent-rows.js";
import { pollNow } from "../../intents/lease.js";
import type { IntentRefund } from "../../intents/refund.js";
import { listResponse, projectIntentView, refundView } from "../intent-view.js";
import { AcceptPriceBody, EmptyBody, PageQuery, RefundBody, ResolveBody } from "../request-schemas.js";
import { ProjectIntentView, RefundView } from "../response-schemas.js";
import { idempotentRoute, type ProjectRequest, route } from "../route.js";

/** What a project decides about an intent: recorded and audited in one transaction, then carried out at the provider. */

interface IntentDecision {
  readonly action: string;
  readonly note: string | null;
  /** What was decided, for the audit log. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly decide: (tx: ProjectTransaction, intent: Intent) => Promise<Decided | RampError>;
}

interface Decided {
  readonly intent: Intent;
  readonly answer: unknown;
}

function decision(
  { caller: { projectId }, parameters: { id = "" } }: ProjectRequest<unknown>,
  { action, note, arguments: given, decide }: IntentDecision,
): IdempotentOperation {
  const begin = async (tx: ProjectTransaction): Promise<RampAnswer> => {
    if ((await readIntent(tx, id)) === null) return rampError("NOT_FOUND");
    const intent = await lockIntent(tx, id);
    const decided = await decide(tx, intent);
    if (isRampError(decided)) return decided;
    // A repeated decision is known: who carries it out keeps the lease, and can record the answer.
    if (decided.intent === intent) return jsonResponse(202, decided.answer);
    const entry = { actor: "project", action, projectId, intentId: id, note, arguments: given };
    recordAudited(tx, entry, decided.intent.status);
    pollNow(tx, id);
    return jsonResponse(202, decided.answer);
  };
  return {
    prepare: () =>
      Promise.resolve(isUuid(id) ? { resourceId: id, isOperators: true, begin } : rampError("NOT_FOUND")),
  };
}

const asDecided = (call: ProjectRequest<unknown>, intent: Intent | RampError): Decided | RampError =>
  isRampError(intent) ? intent : { intent, answer: projectIntentView(call.ramp, intent) };

export const cancelProjectIntent = idempotentRoute("project", {
  method: "POST",
  path: "/v1/intents/{id}/cancel",
  summary: "Cancel one of the project's intents",
  description:
    "Takes no body. As the customer would: once the order is at the provider, the provider decides, as the status then shows.",
  body: EmptyBody,
  response: { status: 202, schema: ProjectIntentView, description: "The intent as it is until then." },
  errors: ["NOT_FOUND", "INTENT_CLOSED"],
  work: (call) =>
    decision(call, {
      action: "intent cancel",
      note: null,
      arguments: {},
      decide: (tx, intent) => Promise.resolve(asDecided(call, decideCancel(tx, intent))),
    }),
});

export const acceptProjectPrice = idempotentRoute("project", {
  method: "POST",
  path: "/v1/intents/{id}/quote",
  summary: "Accept the new price of one of the project's intents",
  description:
    "Where the provider no longer holds the intent's price: `newPrice` of the intent, before its `expiresAt`.",
  body: AcceptPriceBody,
  response: { status: 202, schema: ProjectIntentView, description: "The intent at the new price." },
  errors: ["NOT_FOUND", "QUOTE_EXPIRED", "INTENT_CLOSED"],
  work: (call: ProjectRequest<ValueOf<typeof AcceptPriceBody>>) => {
    const { quoteId } = call.body;
    return decision(call, {
      action: "intent quote",
      note: null,
      arguments: { quoteId },
      decide: (tx, intent) => Promise.resolve(asDecided(call, acceptPrice(tx, intent, quoteId))),
    });
  },
});

export const refundProjectIntent = idempotentRoute("project", {
  method: "POST",
  path: "/v1/intents/{id}/refund",
  summary: "Refund a payment, or a part of it",
  description:
    "Where the provider offers it. Recorded before it is sent, at most what is left; a repeated reason is the same refund. The event `refund.updated` tells of each state; one that the provider refuses needs attention.",
  body: RefundBody,
  response: { status: 202, schema: RefundView, description: "The refund." },
  errors: ["NOT_FOUND", "INVALID_AMOUNT", "NOT_REFUNDABLE", "REFUND_CONFLICT"],
  work: (call: ProjectRequest<ValueOf<typeof RefundBody>>) => {
    const { amount = null, reason } = call.body;
    return decision(call, {
      action: "intent refund",
      note: reason,
      arguments: amount === null ? {} : { amount },
      async decide(tx, intent) {
        const decided = await decideRefund(tx, intent, { amount, reason });
        if (isRampError(decided)) return decided;
        return { intent: decided.intent, answer: refundView(decided.intent, decided.refund) };
      },
    });
  },
});

export const getRefunds = route("project", {
  method: "GET",
  path: "/v1/intents/{id}/refunds",
  summary: "List the refunds of a payment, newest first",
  description:
    "Those that you asked for, and those that the provider made alone, such as a return by the bank.",
  query: PageQuery,
  response: { status: 200, schema: listOf(named("Refund")), description: "The refunds." },
  errors: ["NOT_FOUND"],
  async handle(call) {
    const { id = "" } = call.parameters;
    const read = (tx: ProjectTransaction) => (isUuid(id) ? readIntent(tx, id) : Promise.resolve(null));
    const intent = await call.ramp.database.inProject(call.caller.projectId, read);
    if (intent === null) return rampError("NOT_FOUND");
    const newestFirst = [...intent.refunds].reverse();
    return listResponse(
      call,
      (_tx, page) => Promise.resolve(pageOf(newestFirst, page)),
      (refund) => refundView(intent, refund),
    );
  },
});

/** One more than `limit` when there are more. Null: `startingAfter` names none. */
function pageOf(
  refunds: readonly IntentRefund[],
  { limit, startingAfter }: PageRequest,
): readonly IntentRefund[] | null {
  const at = startingAfter === null ? -1 : refunds.findIndex(({ id }) => id === startingAfter.toLowerCase());
  return startingAfter !== null && at === -1 ? null : refunds.slice(at + 1, at + 2 + limit);
}

export const cancelRefund = idempotentRoute("project", {
  method: "POST",
  path: "/v1/intents/{id}/refunds/{refundId}/cancel",
  summary: "Cancel a refund",
  description:
    "Takes no body. At once while it is not sent; then where the provider offers it, and the provider decides, as the status then shows.",
  body: EmptyBody,
  response: { status: 202, schema: RefundView, description: "The refund as it is until then." },
  errors: ["NOT_FOUND", "REFUND_NOT_CANCELLABLE"],
  work: (call: ProjectRequest<unknown>) => {
    const { refundId = "" } = call.parameters;
    return decision(call, {
      action: "refund cancel",
      note: null,
      arguments: { refundId },
      async decide(tx, intent) {
        const decided = await decideRefundCancel(tx, intent, refundId);
        if (isRampError(decided)) return decided;
        return { intent: decided.intent, answer: refundView(decided.intent, decided.refund) };
      },
    });
  },
});

export const resolveProjectIntent = idempotentRoute("project", {
  method: "POST",
  path: "/v1/intents/{id}/resolve",
  summary: "Record how an intent ended that needs attention",
  description: "Whatever else the provider reports later needs attention again.",
  body: ResolveBody,
  response: { status: 202, schema: ProjectIntentView, description: "The intent." },
  errors: ["NOT_FOUND", "NOT_RESOLVABLE"],
  work: (call: ProjectRequest<ValueOf<typeof ResolveBody>>) =>
    decision(call, {
      action: "intent resolve",
      note: call.body.note,
      arguments: { as: call.body.as },
      decide: (tx, intent) => Promise.resolve(asDecided(call, decideEnd(tx, intent, call.body))),
    }),
});
